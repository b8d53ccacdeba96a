#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/audit.hpp"
#include "module/management/ban.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/usage_history.hpp"
#include "module/text/percent_encoding.hpp"

namespace tollgate::management {

namespace {

/// A day of the query. Empty if there is no such parameter. Throws OperationError.
std::optional<std::chrono::sys_days> take_day(QueryParameters& parameters, std::string_view name) {
    const auto text = parameters.take(name);
    const auto day = text ? parse_day(*text) : std::nullopt;
    if (text && !day) {
        throw OperationError(Reason::kInvalid,
                             std::string(name) + ": use a day such as 2027-01-31");
    }
    return day;
}

}  // namespace

Task<AdminResponse> show_ban(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    co_await reader.require_id(request.id);
    const auto ban = co_await read_ban(request.database, request.keys, request.id);
    JsonWriter json;
    json.object([&] { write_ban(json, ban); });
    co_return AdminResponse{.status = 200, .body = std::move(json).take()};
}

Task<AdminResponse> show_usage(ResourceRequest request) {
    CountingTables tables{.known = request.tables};
    const auto usage =
        co_await read_usage(request.database, request.keys, request.id, std::move(tables));
    JsonWriter json;
    json.object([&] { write_usage(json, usage); });
    co_return AdminResponse{.status = 200, .body = std::move(json).take()};
}

Task<AdminResponse> show_history(ResourceRequest request) {
    QueryParameters parameters(request.request.query);
    const auto from = take_day(parameters, "from");
    const auto to = take_day(parameters, "to");
    if (from && to && *to < *from) {
        throw OperationError(Reason::kInvalid, "from: the day is after that of to");
    }
    parameters.require_empty();
    CountingTables tables{.known = request.tables};
    auto history =
        co_await read_history(request.database, request.keys, request.id, std::move(tables));
    if (history.empty()) {
        KeyReader reader(request.database, request.keys);
        co_await reader.require_id(request.id);
    }
    std::erase_if(history, [&](const DayUsage& day) {
        return (from && day.day < *from) || (to && day.day > *to);
    });
    JsonWriter json;
    json.object([&] { write_history(json, request.id, history); });
    co_return AdminResponse{.status = 200, .body = std::move(json).take()};
}

Task<AdminResponse> end_ban(ResourceRequest request) {
    KeyReader reader(request.database, request.keys);
    co_await reader.require_id(request.id);
    request.preconditions.require_without_version();
    const auto durability = co_await lift_ban_of(request.caller(), request.id);
    co_return with_durability({.status = 204}, durability);
}

Task<AdminResponse> list_audit(ResourceRequest request) {
    constexpr std::int64_t kMostEntries = 100;
    constexpr std::int64_t kDefaultEntries = 50;
    QueryParameters parameters(request.request.query);
    const auto limit = static_cast<std::size_t>(
        parameters.take_number("limit", 1, kMostEntries).value_or(kDefaultEntries));
    auto after = parameters.take("after").value_or("");
    const auto id = parameters.take("id").value_or("");
    parameters.require_empty();
    if (!id.empty()) {
        require_valid_id(id);
    }
    const auto page =
        co_await read_audit(request.database, request.keys, std::move(after), limit, id);
    JsonWriter json;
    json.object([&] {
        json.array("entries", [&] {
            for (const auto& entry : page.entries) {
                json.object([&] { write_entry(json, entry); });
            }
        });
        // A client that follows the audit asks for the entries after `next`, even if there are none
        // yet.
        json.member("next", page.last);
        json.member("has_more", page.has_more);
    });
    AdminResponse response{.status = 200, .body = std::move(json).take()};
    if (page.has_more) {
        response.fields.emplace_back("Link", "<audit?after=" + percent_encode(page.last) +
                                                 "&limit=" + std::to_string(limit) +
                                                 (id.empty() ? "" : "&id=" + percent_encode(id)) +
                                                 ">; rel=\"next\"");
    }
    co_return response;
}

Task<AdminResponse> show_openapi(ResourceRequest request) {
    co_return AdminResponse{.status = 200, .body = openapi_document(request.request.base)};
}

}  // namespace tollgate::management
