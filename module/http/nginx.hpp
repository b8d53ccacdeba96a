#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

extern ngx_module_t ngx_http_tollgate_module;
extern ngx_module_t ngx_http_tollgate_filter_module;

/// The border between nginx's types and the standard library's.
namespace tollgate::http {

/// What a directive's reader returns when all is well, and after a message: NGX_CONF_OK and
/// NGX_CONF_ERROR, typed.
inline char* conf_ok() {
    return nullptr;
}
inline char* conf_error() {
    return static_cast<char*>(NGX_CONF_ERROR);
}

/// An nginx string as a view of the same bytes.
inline std::string_view view(const ngx_str_t& text) {
    return {reinterpret_cast<const char*>(text.data), text.len};
}

/// A view as an nginx string of the same bytes, for functions of nginx that only read it.
inline ngx_str_t borrow(std::string_view text) {
    return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

/// A copy in the pool. Throws std::bad_alloc.
inline ngx_str_t copy(ngx_pool_t* pool, std::string_view text) {
    ngx_str_t source = borrow(text);
    ngx_str_t target{source.len, ngx_pstrdup(pool, &source)};
    if (target.data == nullptr) {
        throw std::bad_alloc();
    }
    return target;
}

/// A pool's cleanup handler that destroys a T. Its address identifies such cleanups.
template <typename T>
void destroy(void* object) noexcept {
    static_cast<T*>(object)->~T();
}

/// Makes a T that lives as long as the pool, which runs its destructor. Throws std::bad_alloc, or
/// what T's does.
template <typename T, typename... Arguments>
T* make_pooled(ngx_pool_t* pool, Arguments&&... arguments) {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(pool, sizeof(T));
    if (cleanup == nullptr) {
        throw std::bad_alloc();
    }
    T* object =
        std::construct_at(static_cast<T*>(cleanup->data), std::forward<Arguments>(arguments)...);
    cleanup->handler = destroy<T>;
    return object;
}

/// The T that make_pooled made in this pool last; nullptr for none. Outlasts internal redirects,
/// which clear the contexts of a request's modules (ngx_http_internal_redirect), as the realip
/// module finds its own.
template <typename T>
T* find_pooled(const ngx_pool_t* pool) {
    for (ngx_pool_cleanup_t* cleanup = pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
        if (cleanup->handler == destroy<T>) {
            return static_cast<T*>(cleanup->data);
        }
    }
    return nullptr;
}

/// Runs what nginx called for, and turns an exception, which nginx's C can't bear, into a log line
/// and `failure`.
template <typename Result, typename Call>
Result guarded(ngx_log_t* log, Result failure, Call&& call) noexcept {
    try {
        return std::forward<Call>(call)();
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, log, 0, "tollgate: %s", e.what());
        return failure;
    }
}

}  // namespace tollgate::http
