#include "module/http/config/directive.hpp"

#include <algorithm>
#include <span>

namespace tollgate::http {

namespace {

using BlockReader = std::function<void(Words)>;

char* read_in_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return read_directive(cf, [&]() -> const char* {
        const auto words = words_of(cf);
        if (words.front() == "include" && words.size() == 2) {
            return ngx_conf_include(cf, command, conf);
        }
        (*static_cast<const BlockReader*>(conf))(words);
        return nullptr;
    });
}

void log_at(ngx_conf_t* cf, ngx_uint_t level, const Position& position, std::string_view message) {
    ngx_str_t text = borrow(message);
    ngx_str_t file = borrow(position.file);
    ngx_log_error(level, cf->log, 0, "%V in %V:%ui", &text, &file, position.line);
}

}  // namespace

Position Position::of(const ngx_conf_t* cf) {
    return {std::string(view(cf->conf_file->file.name)), cf->conf_file->line};
}

void log_conf_error(ngx_conf_t* cf, const Position& position, std::string_view message) {
    log_at(cf, NGX_LOG_EMERG, position, message);
}

void log_conf_warning(ngx_conf_t* cf, const Position& position, std::string_view message) {
    log_at(cf, NGX_LOG_WARN, position, message);
}

std::vector<std::string_view> words_of(const ngx_conf_t* cf) {
    std::vector<std::string_view> words;
    words.reserve(cf->args->nelts);
    for (const auto& word : std::span(static_cast<ngx_str_t*>(cf->args->elts), cf->args->nelts)) {
        words.push_back(view(word));
    }
    return words;
}

bool is_off(Words words, std::string_view others) {
    const bool has_off = std::ranges::find(words.subspan(1), "off") != words.end();
    if (has_off && words.size() != 2) {
        throw ParseError(in_quotes(words[0]) + " directive cannot combine \"off\" with " +
                         std::string(others));
    }
    return has_off;
}

void read_block(ngx_conf_t* cf, const BlockReader& directive) {
    const ngx_conf_t outer = *cf;
    cf->handler = read_in_block;
    cf->handler_conf = const_cast<BlockReader*>(&directive);
    const char* result = ngx_conf_parse(cf, nullptr);
    *cf = outer;
    if (result != NGX_CONF_OK) {
        throw LoggedConfError();
    }
}

}  // namespace tollgate::http
