#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/admin/json_body.hpp"
#include "module/management/admin/key_body.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/group_usage.hpp"
#include "module/management/groups.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/operations.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::management {

namespace {

Task<AdminResponse> list_groups(ResourceRequest request) {
    auto after = request.query.find("after").value_or("");
    if (!after.empty() && !is_valid_key_id(after)) {
        refuse_cursor();
    }
    const auto limit = static_cast<std::size_t>(request.query.number("limit"));
    auto page = co_await read_groups(request.database, request.keys, std::move(after), limit);
    auto response =
        co_await page_response(request, "groups", std::move(page.groups), page.next, write_group);
    co_return response;
}

Task<AdminResponse> show_group(ResourceRequest request) {
    const auto group = co_await read_group(request.database, request.keys, request.id);
    co_return json_response(200, [&](JsonWriter& json) { write_group(json, group); });
}

/// Sets values of a group, which may be new (RFC 5789).
Task<AdminResponse> change_group_of(ResourceRequest request) {
    request.preconditions.require_without_version();
    const auto changes = read_group_changes(request.request.body);
    const auto tables = co_await read_known_tables(request.database, request.keys, request.tables);
    const std::function<void(const KeyRecord&)> check = [&](const KeyRecord& record) {
        check_changed_plan(tables, record, changes, Forced::kNo, PlanOf::kGroup);
    };
    const auto durability = co_await change_group(request.caller(), request.id, changes, check);
    auto response = co_await show_group(std::move(request));
    co_return with_durability(std::move(response), durability);
}

Task<AdminResponse> delete_group_of(ResourceRequest request) {
    request.preconditions.require_without_version();
    const auto durability = co_await delete_group(request.caller(), request.id);
    co_return with_durability({.status = 204}, durability);
}

Task<AdminResponse> show_group_usage(ResourceRequest request) {
    const auto usage = co_await read_group_usage(request.database, request.keys, request.id,
                                                 std::move(request.tables));
    co_return json_response(200, [&](JsonWriter& json) { write_group_usage(json, usage); });
}

Task<AdminResponse> end_group_usage(ResourceRequest request) {
    CountingTables tables{.known = request.tables};
    co_await require_known_group(request.database, request.keys, request.id, tables);
    request.preconditions.require_without_version();
    UsageOwner owner{.id = request.id, .of = UsageOf::kGroup};
    const auto durability = co_await reset_usage_of(
        request.caller(), std::move(owner), std::move(tables), request.request.leases_are_recalled);
    co_return with_durability({.status = 204}, durability);
}

constexpr std::array kGroupParameters{
    kPageLimit,
    QueryParameter{"after"},
};
constexpr std::array kGroupEndpoints{
    Endpoint{"GET", "groups", "listGroups", list_groups, kGroupParameters},
    Endpoint{.method = "GET",
             .path = "groups/{id}",
             .operation = "showGroup",
             .handle = show_group,
             .own_lane = Lane::kReads},
    Endpoint{.method = "PATCH",
             .path = "groups/{id}",
             .operation = "changeGroup",
             .handle = change_group_of,
             .creates = true},
    Endpoint{"DELETE", "groups/{id}", "deleteGroup", delete_group_of},
    Endpoint{"GET", "groups/{id}/usage", "showGroupUsage", show_group_usage},
    Endpoint{.method = "DELETE",
             .path = "groups/{id}/usage",
             .operation = "resetGroup",
             .handle = end_group_usage,
             .resets = UsageOf::kGroup},
};

}  // namespace

std::span<const Endpoint> group_endpoints() {
    return kGroupEndpoints;
}

}  // namespace tollgate::management
