#include "module/management/admin/key_maker.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "module/key/digest.hpp"
#include "module/management/admin/request_record.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/random_key.hpp"

namespace tollgate::management {

namespace {

// A rotation whose response was lost is repeated: which key may the repetition replace? A key in
// use must not end. Uses are recorded late, to the minute, and not at all while a node does not
// reach Redis, so it is not enough that none is recorded.

/// The time from a use of a key until its node has recorded it: see engine::KeyUses. It may be
/// longer at a node with more than 256 keys in a second.
constexpr std::chrono::milliseconds kUseDelay{2000};

/// The keys of an id with their last uses.
Task<KeysOfId> used_keys(const ResourceRequest& request, std::string id) {
    KeyReader reader(request.database, request.keys);
    auto keys = co_await reader.all_keys(std::move(id));
    co_return co_await reader.with_last_uses(std::move(keys));
}

/// Whether the current key of an id was made by this request and may be replaced as far as is
/// recorded: no use is, or this request has ended the key already. `keys` have their last uses.
bool is_unused(const IdempotentRequest& idempotent, const KeysOfId& keys,
               std::chrono::sys_seconds now) {
    if (keys.keys.empty()) {
        return false;
    }
    const StoredKey& made = keys.keys.front();
    const bool has_expired = made.record.expires && *made.record.expires <= now;
    if (made.request != idempotent.name() || made.record.retiring || has_expired) {
        return false;
    }
    return made.replaced ? made.rotation == idempotent.name() : !made.used;
}

/// Whether uses are recorded: those of the caller's keys are, to which its request belongs that
/// arrived at this time by Redis's clock. Call it kUseDelay later.
Task<bool> records_uses(const ResourceRequest& request, std::chrono::sys_seconds arrival) {
    const auto keys = co_await used_keys(request, request.request.caller_id());
    // The minute may have ended between the use and the arrival.
    const auto since = std::chrono::floor<std::chrono::minutes>(arrival - kUseDelay);
    co_return std::ranges::any_of(
        keys.keys, [&](const StoredKey& key) { return key.used && *key.used >= since; });
}

/// Whether this repetition of a request replaces the key that the request has made: see
/// is_unused(). The repetition is recorded then. `keys` are those of the id.
Task<bool> must_replace(const ResourceRequest& request, const IdempotentRequest& idempotent,
                        RequestRecord& record, RequestRecord::Begin begin, const KeyMaker& maker,
                        KeysOfId keys) {
    using Begin = RequestRecord::Begin;
    const auto arrival = std::chrono::floor<std::chrono::seconds>(maker.arrival);
    // The response to an execution that had not ended when this request arrived was not lost yet.
    const bool is_early = begin == Begin::kAwaited ||
                          (begin == Begin::kExecuted && maker.arrival < record.end_of_execution());
    if (!maker.replaces_unused || is_early || !is_unused(idempotent, keys, arrival)) {
        co_return false;
    }
    if (begin != Begin::kInterrupted) {
        co_await wait(request.database, kUseDelay);
    }
    if (begin == Begin::kExecuted) {
        const bool is_claimed = co_await record.begin_again();
        if (!is_claimed) {
            co_return false;
        }
    }
    const auto now_known = co_await used_keys(request, maker.id);
    if (!is_unused(idempotent, now_known, arrival) ||
        now_known.keys.front().digest != keys.keys.front().digest) {
        co_return false;
    }
    co_return co_await records_uses(request, arrival);
}

/// The response to a request that makes a key. If the same request has made it before, the response
/// has the keys of the id and no new key, unless this repetition replaces it.
Task<AdminResponse> find_or_make(const ResourceRequest& request,
                                 const IdempotentRequest& idempotent, RequestRecord& record,
                                 const KeyMaker& maker) {
    using Begin = RequestRecord::Begin;
    const auto begin = co_await record.begin();
    const bool was_executed = begin == Begin::kAwaited || begin == Begin::kExecuted;
    auto known = co_await used_keys(request, maker.id);
    if (was_executed && known.keys.empty()) {
        throw OperationError(Reason::kNoKey, "the key that this request made has been removed");
    }
    if (!was_executed && !idempotent.has_made(known, maker.since)) {
        std::string none;
        co_return co_await maker.make(std::move(none));
    }
    const bool replaces = co_await must_replace(request, idempotent, record, begin, maker, known);
    if (replaces) {
        co_return co_await maker.make(known.keys.front().digest);
    }
    known = co_await used_keys(request, maker.id);
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
