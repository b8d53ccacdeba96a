#pragma once

// nginx's headers are C and don't say so themselves.
extern "C" {
#include <ngx_config.h>
// The order matters.
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
#include <ngx_thread_pool.h>
}

#include <memory>
#include <string_view>
#include <utility>

extern ngx_module_t ngx_http_petstore_module;

namespace petstore {

inline std::string_view view(const ngx_str_t& text) {
    return {reinterpret_cast<const char*>(text.data), text.len};
}

/// Runs `body` for a function that nginx calls: an exception must not leave it. Returns `otherwise`
/// after one.
template <typename Result, typename Body>
Result guarded(Result otherwise, Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return otherwise;
    }
}

/// A T that lives as long as the pool. Null, where the pool has no memory; T's constructor may
/// throw.
template <typename T, typename... Arguments>
T* make_in_pool(ngx_pool_t* pool, Arguments&&... arguments) {
    ngx_pool_cleanup_t* const cleanup = ngx_pool_cleanup_add(pool, sizeof(T));
    if (cleanup == nullptr) {
        return nullptr;
    }
    T* const object =
        std::construct_at(static_cast<T*>(cleanup->data), std::forward<Arguments>(arguments)...);
    cleanup->handler = [](void* data) noexcept { std::destroy_at(static_cast<T*>(data)); };
    return object;
}

}  // namespace petstore
