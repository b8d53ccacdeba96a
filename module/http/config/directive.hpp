#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "module/http/nginx.hpp"
#include "module/text/directive_row.hpp"

// What the readers of directives have in common.

namespace tollgate::http {

/// The place of a directive in the configuration, for later messages about it.
struct Position {
    std::string file;
    ngx_uint_t line = 0;

    static Position of(const ngx_conf_t* cf);
};

/// Logs a configuration error with file and line, in the format of nginx's own messages.
void log_conf_error(ngx_conf_t* cf, const Position& position, std::string_view message);
/// Logs a warning about a probable mistake. nginx accepts the configuration.
void log_conf_warning(ngx_conf_t* cf, const Position& position, std::string_view message);

/// The words of the directive that is being read, its name first.
std::vector<std::string_view> words_of(const ngx_conf_t* cf);

/// The reader of a directive throws this if the error is already in the log.
struct LoggedConfError final : std::exception {
    const char* what() const noexcept override { return "invalid configuration"; }
};

/// Runs the reader of a directive for nginx. `read` returns nullptr, or what nginx is to say about
/// the directive, such as "is duplicate". It throws ParseError or LoggedConfError.
template <typename Read>
char* read_directive(ngx_conf_t* cf, const Read& read) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        const Position position = Position::of(cf);
        try {
            return const_cast<char*>(static_cast<const char*>(read()));
        } catch (const ParseError& e) {
            log_conf_error(cf, position, e.what());
        } catch (const LoggedConfError&) {
            // A message is in the log.
        }
        return conf_error();
    });
}

/// Whether nginx has no value yet for a field of a configuration.
inline bool is_unset(const void* field) {
    return field == NGX_CONF_UNSET_PTR;
}
inline bool is_unset(std::size_t field) {
    return field == 0;
}

/// Reads a directive that must not repeat: sets `field` to the result of `read`, which takes the
/// words and throws ParseError.
template <typename Field, typename Read>
char* read_once(ngx_conf_t* cf, Field& field, const Read& read) noexcept {
    return read_directive(cf, [&]() -> const char* {
        if (!is_unset(field)) {
            return "is duplicate";
        }
        const auto words = words_of(cf);
        field = read(Words(words));
        return nullptr;
    });
}

/// Whether `off` is the only argument of a directive. Throws ParseError if it is one of several;
/// `others` says what they are.
bool is_off(Words words, std::string_view others);

/// Reads the block of a directive. nginx does not know the directives in it. Calls `directive` with
/// the words of each; it throws ParseError or LoggedConfError for what is invalid. `include` works
/// in the block. Throws LoggedConfError.
void read_block(ngx_conf_t* cf, const std::function<void(Words)>& directive);

}  // namespace tollgate::http
