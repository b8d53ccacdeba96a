#include "module/http/config/conf_block.hpp"

#include "module/http/config/main_conf.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

using DirectiveSetter = std::function<void(std::span<const std::string_view>)>;

char* read_directive(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        const auto words = words_of(cf);
        if (words.front() == "include" && words.size() == 2) {
            return ngx_conf_include(cf, command, conf);
        }
        try {
            (*static_cast<const DirectiveSetter*>(conf))(words);
            return conf_ok();
        } catch (const ParseError& e) {
            log_conf_error(cf, e.what());
            return conf_error();
        } catch (const LoggedConfError&) {
            return conf_error();
        }
    });
}

}  // namespace

std::vector<std::string_view> words_of(const ngx_conf_t* cf) {
    const auto* words = static_cast<const ngx_str_t*>(cf->args->elts);
    std::vector<std::string_view> views;
    for (const ngx_str_t& word : std::span(words, cf->args->nelts)) {
        views.push_back(view(word));
    }
    return views;
}

char* read_block(ngx_conf_t* cf, const DirectiveSetter& directive) {
    ngx_conf_t outer = *cf;
    cf->handler = read_directive;
    cf->handler_conf = const_cast<DirectiveSetter*>(&directive);
    char* result = ngx_conf_parse(cf, nullptr);
    *cf = outer;
    return result;
}

}  // namespace tollgate::http
