#include "module/http/config/early_return.hpp"

#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "module/http/config/location_conf.hpp"

namespace tollgate::http {

namespace {

template <typename T>
T read_at(const u_char* place) {
    T value;
    std::memcpy(&value, place, sizeof(T));
    return value;
}

/// The configuration of nginx's rewrite module, whose structure no header declares: first the
/// compiled directives (`codes`), then the size of their stack.
class RewriteModule {
  public:
    /// Returns nullopt if nginx has no such module, or one whose structure is different: its first
    /// directive flag no longer follows these two members.
    static std::optional<RewriteModule> find(const ngx_cycle_t* cycle) {
        for (ngx_module_t* module : std::span(cycle->modules, cycle->modules_n)) {
            if (module->type != NGX_HTTP_MODULE || module->commands == nullptr) {
                continue;
            }
            for (const auto* command = module->commands; command->name.len != 0; ++command) {
                if (view(command->name) == "rewrite_log") {
                    constexpr std::size_t kLog = sizeof(ngx_array_t*) + sizeof(ngx_uint_t);
                    return command->offset == kLog ? std::optional(RewriteModule(module->ctx_index))
                                                   : std::nullopt;
                }
            }
        }
        return std::nullopt;
    }

    /// The compiled directives of a location or a server; nullptr if there are none.
    const ngx_array_t* codes_of(void** loc_conf) const {
        const ngx_array_t* codes = nullptr;
        std::memcpy(&codes, loc_conf[index_], sizeof(void*));
        return codes;
    }

  private:
    explicit RewriteModule(ngx_uint_t index) : index_(index) {}

    ngx_uint_t index_;
};

/// The status of the first `return` that is not in an `if` block; nullopt if there is none. Each
/// directive is compiled to words that begin with the address of its function.
std::optional<ngx_uint_t> unconditional_return(const ngx_array_t& codes) {
    using Code = ngx_http_script_code_pt;
    const auto* begin = static_cast<const u_char*>(codes.elts);
    const std::size_t size = codes.nelts * codes.size;
    for (std::size_t at = 0; at + sizeof(Code) <= size; at += sizeof(Code)) {
        const Code code = read_at<Code>(begin + at);
        if (code == ngx_http_script_return_code &&
            at + sizeof(ngx_http_script_return_code_t) <= size) {
            return read_at<ngx_http_script_return_code_t>(begin + at).status;
        }
        if (code == ngx_http_script_break_code) {
            return std::nullopt;
        }
        if (code == ngx_http_script_if_code && at + sizeof(ngx_http_script_if_code_t) <= size) {
            // The next word is added by the loop.
            at += read_at<ngx_http_script_if_code_t>(begin + at).next - sizeof(Code);
        }
    }
    return std::nullopt;
}

bool is_success(ngx_uint_t status) {
    return status >= 200 && status < 300;
}

void** server_of(const GuardedPlace& place) {
    const auto* server = static_cast<const ngx_http_core_srv_conf_t*>(
        place.srv_conf[ngx_http_core_module.ctx_index]);
    return server->ctx->loc_conf;
}

}  // namespace

void warn_of_early_return(ngx_conf_t* cf) {
    const auto rewrite = RewriteModule::find(cf->cycle);
    if (!rewrite) {
        return;
    }
    // A server is seen once for each of its locations.
    std::set<const ngx_array_t*> warned;
    for (const auto& place : MainConf::of(cf).guarded) {
        if (place.conf->dry_run != 0) {
            continue;
        }
        const auto& core = place.core();
        const bool is_page = core.named != 0 || core.internal != 0;
        // The directives of the server run before those of the location.
        for (void** loc_conf : {server_of(place), place.loc_conf}) {
            const ngx_array_t* codes = rewrite->codes_of(loc_conf);
            const auto status = codes == nullptr ? std::nullopt : unconditional_return(*codes);
            const bool is_beside = loc_conf == place.loc_conf && !place.is_inherited;
            if (!status || !(is_beside || (is_success(*status) && !is_page)) ||
                !warned.insert(codes).second) {
                continue;
            }
            const bool is_server = loc_conf == server_of(place);
            log_conf_warning(
                cf, place.conf->tables->position,
                (is_server ? std::string("a server") : place.name()) +
                    " has a \"return\", which answers every request before \"tollgate\" asks for "
                    "a key; " +
                    (is_server ? "move it into a location"
                               : "add \"tollgate off\", or move the \"return\" into an internal "
                                 "location and lead to it with \"try_files\""));
        }
    }
}

}  // namespace tollgate::http
