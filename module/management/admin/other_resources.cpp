#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/all_usage.hpp"
#include "module/management/audit.hpp"
#include "module/management/ban.hpp"
#include "module/management/history_reader.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/known_id.hpp"
#include "module/management/operation_error.hpp"
#include "module/plan/published_plans.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

std::optional<std::chrono::sys_days> day_of(const Query& query, std::string_view name) {
    const auto text = query.find(name);
    return text ? parse_day(*text) : std::nullopt;
}

/// Throws Reason::kUnknownId unless the id of the request has a key or is counted.
Task<void> require_known(const ResourceRequest& request) {
    CountingTables tables{.known = request.tables};
    co_await require_known_id(request.database, request.keys, request.id, std::move(tables));
}

std::optional<std::chrono::sys_seconds> time_of(const Query& query, std::string_view name) {
    const auto text = query.find(name);
    return text ? parse_rfc3339(*text) : std::nullopt;
}

DayRange days_of(const Query& query) {
    const DayRange days{.from = day_of(query, "from"), .to = day_of(query, "to")};
    if (days.from && days.to && *days.to < *days.from) {
        refuse("from: the day is after that of to");
    }
    return days;
}

Task<AdminResponse> show_ban(ResourceRequest request) {
    co_await require_known(request);
    const auto ban = co_await read_ban(request.database, request.keys, request.id);
    co_return json_response(200, [&](JsonWriter& json) { write_ban(json, ban); });
}

Task<AdminResponse> show_usage(ResourceRequest request) {
    CountingTables tables{.known = request.tables};
    const auto usage =
        co_await read_usage(request.database, request.keys, request.id, std::move(tables));
    co_return json_response(200, [&](JsonWriter& json) { write_usage(json, usage); });
}

Task<AdminResponse> end_usage(ResourceRequest request) {
    co_await require_known(request);
    request.preconditions.require_without_version();
    CountingTables tables{.known = request.tables};
    UsageOwner owner{.id = request.id};
    const auto durability = co_await reset_usage_of(
        request.caller(), std::move(owner), std::move(tables), request.request.leases_are_recalled);
    co_return with_durability({.status = 204}, durability);
}

Task<AdminResponse> show_history(ResourceRequest request) {
    const auto days = days_of(request.query);
    CountingTables tables{.known = request.tables};
    auto history =
        co_await read_history(request.database, request.keys, request.id, std::move(tables));
    if (history.empty()) {
        co_await require_known(request);
    }
    std::erase_if(history, [&](const DayUsage& day) { return !days.contains(day.day); });
    co_return json_response(200,
                            [&](JsonWriter& json) { write_history(json, request.id, history); });
}

/// Whether the lists of all ids have those without a key.
bool has_subjects(const ResourceRequest& request) {
    return CountedIds::has_subjects(request.database, request.keys,
                                    CountedIds::Subjects::kOmittedInCluster);
}

Task<AdminResponse> list_usage(ResourceRequest request) {
    AllUsageQuery query{.after = request.query.find("after"),
                        .limit = static_cast<std::size_t>(request.query.number("limit")),
                        .days = days_of(request.query)};
    if (const auto by = request.query.find("by")) {
        query.by = parse_billed_by(*by);
    }
    CountingTables tables{.known = request.tables};
    auto page = co_await read_all_usage(request.database, request.keys, std::move(query),
                                        std::move(tables));
    const auto write = [](JsonWriter& json, const UsagePage::OfId& usage) {
        if (usage.periods.empty()) {
            write_history(json, usage.id, usage.days);
            return;
        }
        json.member("id", usage.id);
        json.array("periods", [&] {
            for (const auto& period : usage.periods) {
                json.object([&] { write_period(json, period); });
            }
        });
    };
    auto response = co_await page_response(request, "ids", std::move(page.ids), page.next, write,
                                           has_subjects(request));
    co_return response;
}

Task<AdminResponse> list_bans(ResourceRequest request) {
    auto after = request.query.find("after");
    const auto limit = static_cast<std::size_t>(request.query.number("limit"));
    const auto struck = request.query.find("include") ? Struck::kIncluded : Struck::kOmitted;
    auto page = co_await read_bans(request.database, request.keys, std::move(after), limit,
                                   CountedIds::Subjects::kOmittedInCluster, struck);
    auto response = co_await page_response(request, "bans", std::move(page.bans), page.next,
                                           write_ban, has_subjects(request));
    co_return response;
}

Task<AdminResponse> end_ban(ResourceRequest request) {
    co_await require_known(request);
    request.preconditions.require_without_version();
    const auto durability = co_await lift_ban_of(request.caller(), request.id);
    co_return with_durability({.status = 204}, durability);
}

Task<AdminResponse> list_audit(ResourceRequest request) {
    const auto& query = request.query;
    AuditQuery wanted{.after = query.find("after").value_or(""),
                      .limit = static_cast<std::size_t>(query.number("limit")),
                      .is_descending = query.find("order") == "desc",
                      .from = time_of(query, "from"),
                      .to = time_of(query, "to"),
                      .id = query.find("id").value_or(""),
                      .actor = query.find("actor").value_or("")};
    if (!wanted.id.empty()) {
        require_valid_id(wanted.id);
    }
    auto page = co_await read_audit(request.database, request.keys, std::move(wanted));
    const auto entries =
        co_await written_objects(request.database, std::move(page.entries), write_entry);
    auto response = json_response(200, [&](JsonWriter& json) {
        json.array("entries", [&] { json.json(entries); });
        // A client that follows the audit asks for the entries after `next`, even if there are none
        // yet.
        json.member("next", page.last);
        json.member("has_more", page.has_more);
    });
    if (page.has_more) {
        add_next(response, request, page.last);
    }
    co_return response;
}

Task<AdminResponse> list_plans(ResourceRequest request) {
    co_return json_response(200, [&](JsonWriter& json) {
        json.array("tables", [&] {
            for (const PlanTable* table : request.tables) {
                json.object([&] {
                    json.member("name", table->name);
                    write_plans(json, *table);
                });
            }
        });
    });
}

/// Two commands, whatever there is.
Task<AdminResponse> show_totals(ResourceRequest request) {
    std::vector<redis::Command> commands;
    commands.push_back({"ZCARD", request.keys.ids()});
    commands.push_back({"ZCARD", request.keys.groups()});
    const auto counts = co_await run_all(request.database, std::move(commands));
    co_return json_response(200, [&](JsonWriter& json) {
        json.member("keys", counts[0].integer);
        json.member("groups", counts[1].integer);
    });
}

Task<AdminResponse> show_openapi(ResourceRequest request) {
    co_return AdminResponse{.status = 200, .body = openapi_document(request.request.base)};
}

using Form = QueryParameter::Form;

constexpr std::array kHistoryParameters{
    QueryParameter{"from", Form::kDay},
    QueryParameter{"to", Form::kDay},
};
constexpr std::array kUsageParameters{
    kPageLimit,
    QueryParameter{"after"},
    QueryParameter{"from", Form::kDay},
    QueryParameter{"to", Form::kDay},
    QueryParameter{"by", Form::kChoice, kBilledBy},
};
constexpr std::array<std::string_view, 1> kIncludedInBans{"strikes"};
constexpr std::array kBanParameters{
    kPageLimit,
    QueryParameter{"after"},
    QueryParameter{"include", Form::kChoice, kIncludedInBans},
};
constexpr std::array<std::string_view, 2> kOrders{"asc", "desc"};
constexpr std::array kAuditParameters{
    kPageLimit,
    QueryParameter{"after"},
    QueryParameter{"order", Form::kChoice, kOrders},
    QueryParameter{"from", Form::kTime},
    QueryParameter{"to", Form::kTime},
    QueryParameter{"actor"},
    QueryParameter{"id"},
};
constexpr std::array kOtherEndpoints{
    Endpoint{.method = "GET",
             .path = "keys/{id}/usage",
             .operation = "showUsage",
             .handle = show_usage,
             .own_lane = Lane::kReads},
    Endpoint{.method = "DELETE",
             .path = "keys/{id}/usage",
             .operation = "resetUsage",
             .handle = end_usage,
             .resets = UsageOf::kId},
    Endpoint{"GET", "keys/{id}/history", "showHistory", show_history, kHistoryParameters},
    Endpoint{.method = "GET",
             .path = "keys/{id}/ban",
             .operation = "showBan",
             .handle = show_ban,
             .own_lane = Lane::kReads},
    Endpoint{"DELETE", "keys/{id}/ban", "liftBan", end_ban},
    Endpoint{.method = "POST",
             .path = "keys:batch",
             .operation = "changeKeys",
             .handle = execute_batch,
             .longest_body = kLongestBatch,
             .own_lane = Lane::kBatches},
    Endpoint{"GET", "usage", "listUsage", list_usage, kUsageParameters},
    Endpoint{"GET", "bans", "listBans", list_bans, kBanParameters},
    Endpoint{"GET", "audit", "listAudit", list_audit, kAuditParameters},
    Endpoint{.method = "GET",
             .path = "totals",
             .operation = "showTotals",
             .handle = show_totals,
             .own_lane = Lane::kReads},
    Endpoint{.method = "GET",
             .path = "plans",
             .operation = "listPlans",
             .handle = list_plans,
             .own_lane = Lane::kReads},
    Endpoint{.method = "GET",
             .path = "openapi.json",
             .operation = "showDocument",
             .handle = show_openapi,
             .own_lane = Lane::kReads},
};

}  // namespace

std::span<const Endpoint> other_endpoints() {
    return kOtherEndpoints;
}

}  // namespace tollgate::management
