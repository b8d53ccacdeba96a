#include <array>
#include <utility>

#include "module/management/admin/key_body.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/balance.hpp"
#include "module/management/group_index.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

/// A caller credits neither its own id nor its own group.
Task<void> require_may_credit(const ResourceRequest& request, UsageOf of) {
    bool is_own = request.id == request.held.id;
    if (of == UsageOf::kGroup) {
        const auto caller = co_await owner_of(request.database, request.keys, request.held.id);
        is_own = caller.group == request.id;
    }
    if (is_own) {
        throw OperationError(Reason::kNotPermitted, "a key does not credit its own balance");
    }
}

Task<AdminResponse> credit(ResourceRequest request, UsageOf of) {
    request.preconditions.require_without_version();
    auto body = read_credit(request.request.body);
    body.owner = {.id = request.id, .of = of};
    co_await require_may_credit(request, of);
    CountingTables tables{.known = request.tables};
    const auto credited =
        co_await credit_balance(request.caller(), std::move(body), std::move(tables));
    auto response = json_response(200, [&](JsonWriter& json) { write_credited(json, credited); });
    co_return with_durability(std::move(response), credited.durability);
}

Task<AdminResponse> credit_key(ResourceRequest request) {
    co_return co_await credit(std::move(request), UsageOf::kId);
}

Task<AdminResponse> credit_group(ResourceRequest request) {
    co_return co_await credit(std::move(request), UsageOf::kGroup);
}

constexpr std::array kBalanceEndpoints{
    Endpoint{.method = "POST",
             .path = "keys/{id}/credit",
             .operation = "creditKey",
             .handle = credit_key,
             .has_reference = true},
    Endpoint{.method = "POST",
             .path = "groups/{id}/credit",
             .operation = "creditGroup",
             .handle = credit_group,
             .has_reference = true},
};

}  // namespace

std::span<const Endpoint> balance_endpoints() {
    return kBalanceEndpoints;
}

}  // namespace tollgate::management
