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
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "module/process/spare_memory.hpp"

/// Conversions between nginx's types and the standard library's, for both modules.
namespace tollgate::nginx {

/// The results of a function that reads a directive, with the type that nginx expects: NGX_CONF_OK,
/// and NGX_CONF_ERROR after a message in the log.
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

/// nginx's own settings of the location that is being read or merged.
inline ngx_http_core_loc_conf_t& core_location(ngx_conf_t* cf) {
    return *static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

/// Adds a handler to the end of a phase's list. Most phases call the last handler first. Returns
/// all handlers of the phase, none if memory is short.
inline std::span<ngx_http_handler_pt> add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase,
                                                        ngx_http_handler_pt handler) {
    auto* core = static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    ngx_array_t& handlers = core->phases[phase].handlers;
    auto* place = static_cast<ngx_http_handler_pt*>(ngx_array_push(&handlers));
    if (place == nullptr) {
        return {};
    }
    *place = handler;
    return {static_cast<ngx_http_handler_pt*>(handlers.elts), handlers.nelts};
}

/// Calls `use` with each field of a request or a response.
template <typename Use>
void for_each_field(const ngx_list_t& fields, Use use) {
    for (const auto* part = &fields.part; part != nullptr; part = part->next) {
        for (auto& field : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
            use(field);
        }
    }
}

/// Whether a location is given by a regular expression. An nginx without PCRE has none.
inline bool is_regex([[maybe_unused]] const ngx_http_core_loc_conf_t& location) {
#if (NGX_PCRE)
    return location.regex != nullptr;
#else
    return false;
#endif
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

/// A base of classes whose objects make_pooled() puts in spare memory, and not in the pool.
struct Recycled {};
template <typename T>
concept IsRecycled = std::is_base_of_v<Recycled, T>;

/// A Recycled object, and what makes a pool own it.
template <IsRecycled T>
struct RecycledPiece {
    ngx_pool_cleanup_t cleanup{};
    std::optional<T> object;

    static void* operator new(std::size_t /*size*/) {
        return SpareMemory<sizeof(RecycledPiece)>::take();
    }
    static void operator delete(void* memory) noexcept {
        SpareMemory<sizeof(RecycledPiece)>::give(memory);
    }
};

/// The cleanup handler of make_pooled<T>(). find_pooled<T>() recognizes a T by it.
template <typename T>
void destroy(void* data) noexcept {
    if constexpr (IsRecycled<T>) {
        // nginx still reads `cleanup`: the memory is kept until the next one is destroyed.
        static std::unique_ptr<RecycledPiece<T>> last;
        auto* const piece = static_cast<RecycledPiece<T>*>(data);
        piece->object.reset();
        last.reset(piece);
    } else {
        static_cast<T*>(data)->~T();
    }
}

/// Makes a T that the pool owns; the pool runs its destructor. A Recycled object takes no memory of
/// the pool. Throws std::bad_alloc, and what the constructor throws.
template <typename T, typename... Arguments>
T* make_pooled(ngx_pool_t* pool, Arguments&&... arguments) {
    if constexpr (IsRecycled<T>) {
        auto piece = std::make_unique_for_overwrite<RecycledPiece<T>>();
        T& object = piece->object.emplace(std::forward<Arguments>(arguments)...);
        piece->cleanup = {destroy<T>, piece.get(), pool->cleanup};
        pool->cleanup = &piece.release()->cleanup;
        return &object;
    } else {
        ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(pool, sizeof(T));
        if (cleanup == nullptr) {
            throw std::bad_alloc();
        }
        std::construct_at(static_cast<T*>(cleanup->data), std::forward<Arguments>(arguments)...);
        cleanup->handler = destroy<T>;
        return static_cast<T*>(cleanup->data);
    }
}

/// The T that make_pooled<T>() made last in this pool; nullptr if there is none. An internal
/// redirect clears the module contexts of a request, but not its pool.
template <typename T>
T* find_pooled(const ngx_pool_t* pool) {
    for (ngx_pool_cleanup_t* cleanup = pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
        if (cleanup->handler == destroy<T>) {
            if constexpr (IsRecycled<T>) {
                return &*static_cast<RecycledPiece<T>*>(cleanup->data)->object;
            } else {
                return static_cast<T*>(cleanup->data);
            }
        }
    }
    return nullptr;
}

/// Runs the body of a function that nginx calls. An exception must not reach nginx's C code: it
/// becomes a line in the log, and `failure` is the result. The line begins with `name`. Each
/// module wraps this function with its own name.
template <typename Result, typename Call>
Result guarded(const char* name, ngx_log_t* log, Result failure, Call&& call) noexcept {
    try {
        return std::forward<Call>(call)();
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, log, 0, "%s: %s", name, e.what());
        return failure;
    }
}

}  // namespace tollgate::nginx
