#include "module/management/admin/key_maker.hpp"

#include <exception>
#include <utility>

#include "module/management/admin/request_record.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/random_key.hpp"

namespace tollgate::management {

namespace {

/// The keys of an id with their last uses.
Task<KeysOfId> used_keys(const ResourceRequest& request, std::string id) {
    KeyReader reader(request.database, request.keys);
    auto keys = co_await reader.all_keys(std::move(id));
    co_return co_await reader.with_last_uses(std::move(keys));
}

/// The response to a request that makes a key. If the same request has made it before, the response
/// has the keys of the id and no new key.
Task<AdminResponse> find_or_make(const ResourceRequest& request,
                                 const IdempotentRequest& idempotent, RequestRecord& record,
                                 const KeyMaker& maker) {
    const bool was_executed = co_await record.begin();
    const auto known = co_await used_keys(request, maker.id);
    if (was_executed && known.keys.empty()) {
        throw OperationError(Reason::kNoKey, "the key that this request made has been removed");
    }
    if (!was_executed && !idempotent.has_made(known, maker.since)) {
        co_return co_await maker.make();
    }
    KeyReader reader(request.database, request.keys);
    const auto now = co_await reader.now();
    co_return key_response(200, known, now);
}

}  // namespace

Task<AdminResponse> execute_once(const ResourceRequest& request,
                                 const IdempotentRequest& idempotent, const KeyMaker& maker) {
    RequestRecord record(request.database, request.keys, idempotent);
    std::optional<AdminResponse> response;
    std::exception_ptr failure;
    try {
        response = co_await find_or_make(request, idempotent, record, maker);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await record.end(failure == nullptr);
    if (failure) {
        std::rethrow_exception(failure);
    }
    co_return std::move(*response);
}

void require_may_show(const HeldRights& held, const KeysOfId& keys) {
    for (const StoredKey& key : keys.keys) {
        held.require_may_give(key.record.scopes);
    }
}

Task<AdminResponse> make_key(const ResourceRequest& request, KeyMaking& making, int status,
                             std::optional<std::string> given) {
    std::string key;
    const KeyMaking::NewKeyTraits new_traits = [&](const std::string& prefix) {
        if (!given) {
            key = random_api_key(prefix);
        }
        return given ? KeyMaking::KeyTraits{.digest = *given} : KeyMaking::traits_of(key);
    };
    co_await making.make(new_traits);
    // The scopes may have changed since they were checked.
    require_may_show(request.held, making.keys());
    const auto durability = co_await making.confirm();
    KeyReader reader(request.database, request.keys);
    const auto now = co_await reader.now();
    co_return with_durability(key_response(status, making.keys(), now, key), durability);
}

}  // namespace tollgate::management
