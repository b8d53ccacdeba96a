#include "module/management/admin/idempotent_request.hpp"

#include <algorithm>
#include <string_view>

#include "module/key/digest.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/random_key.hpp"

namespace tollgate::management {

namespace {

/// The hexadecimal digits of each half of a name: of the `Idempotency-Key`, and of the body.
constexpr std::size_t kHalf = 32;

std::string half_of(std::string_view text) {
    return hex(sha256(text)).substr(0, kHalf);
}

bool is_printable(char c) {
    return c > ' ' && c <= '~';
}

}  // namespace

IdempotentRequest::IdempotentRequest(const AdminRequest& request) {
    constexpr std::size_t kLongest = 255;
    if (!request.idempotency_key) {
        return;
    }
    const auto& key = *request.idempotency_key;
    if (key.empty() || key.size() > kLongest || !std::ranges::all_of(key, is_printable)) {
        refuse("Idempotency-Key: use 1 to 255 printable ASCII characters");
    }
    // Different callers and different resources do not share keys.
    name_ = half_of(request.actor + "\n" + request.path.text() + "\n" + key +
                    (request.part.empty() ? "" : "\n" + request.part)) +
            half_of(request.body);
}

std::string IdempotentRequest::name_without_body() const {
    return name_.substr(0, kHalf);
}

std::string IdempotentRequest::new_id() const {
    return name_.empty() ? random_key_id() : derived_key_id(name_without_body());
}

bool IdempotentRequest::has_made(const KeysOfId& keys, std::chrono::sys_seconds since) const {
    if (name_.empty()) {
        return false;
    }
    for (const auto& key : keys.keys) {
        if (key.created < since || key.request.substr(0, kHalf) != name_without_body()) {
            continue;
        }
        if (key.request != name_) {
            throw request_reused();
        }
        if (!key.is_unfinished()) {
            return true;
        }
    }
    return false;
}

OperationError request_reused() {
    return {Reason::kRequestReused, "the Idempotency-Key was used for another request"};
}

}  // namespace tollgate::management
