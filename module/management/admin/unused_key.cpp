#include "module/management/admin/unused_key.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "module/management/key_reader.hpp"

namespace tollgate::management {

namespace {

/// The id in AdminRequest::actor.
std::string caller_of(const AdminRequest& request) {
    return request.actor.substr(request.actor.find(':') + 1);
}

}  // namespace

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

Task<bool> records_uses(const ResourceRequest& request, std::chrono::sys_seconds arrival) {
    KeyReader reader(request.database, request.keys);
    auto keys = co_await reader.all_keys(caller_of(request.request));
    keys = co_await reader.with_last_uses(std::move(keys));
    // The minute may have ended between the use and the arrival.
    const auto since = std::chrono::floor<std::chrono::minutes>(arrival - kUseDelay);
    co_return std::ranges::any_of(
        keys.keys, [&](const StoredKey& key) { return key.used && *key.used >= since; });
}

}  // namespace tollgate::management
