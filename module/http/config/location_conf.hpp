#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/http/config/json_values.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// `tollgate_headers`, as bits.
enum HeaderFamilies : ngx_uint_t {
    kNoHeaders = 0,
    kXRateLimit = 1,
    kIetf = 2,
};

struct Console;
struct Dashboard;
struct LocationConf;
struct SubjectConf;

/// What `tollgate_admin` says: the Redis whose keys it manages, and where the paths begin.
struct AdminConf {
    std::string redis_name;
    std::string base;           ///< the URI up to the path of a resource: the location's name
    std::size_t redis = 0;      ///< in MainConf::redis; set when the location is merged
    std::string read_scope{};   ///< `read=`: requests that change nothing require it; empty: none
    std::string write_scope{};  ///< `write=`: other requests require it; empty: none
};

/// A content handler of Tollgate, as its directive sets it.
struct ContentHandler {
    ngx_http_handler_pt handler;
    /// Why it can't serve a location, for nginx's message; empty if it can.
    std::string_view (*find_mistake)(ngx_conf_t* cf, const LocationConf& conf);
    const Dashboard* dashboard = nullptr;  ///< what `tollgate_dashboard` serves
    AdminConf* admin = nullptr;            ///< what `tollgate_admin` says
    const Console* console = nullptr;      ///< what `tollgate_console` serves
    /// Whether a request of `tollgate_admin` in this location changes nothing.
    bool (*is_read)(const ngx_http_request_t* r, const AdminConf& admin) = nullptr;
    std::string directive{};
    Position position{};
};

/// The scopes that `tollgate_admin` and `tollgate_scope` require together, in the form of
/// parse_scopes.
struct RoleScopes {
    std::string read;
    std::string write;
};

/// The configuration of a location: plain memory from nginx's pool. Each field is one word, so that
/// all are merged alike.
struct LocationConf {
    const TableSetConf* tables;  ///< nullptr: off
    const KeySourcesConf* key_from;
    ngx_http_complex_value_t* realm;
    ngx_uint_t headers;
    CostsConf* costs;               ///< nullptr: 1 of each table
    JsonValuesConf* request_json;   ///< nullptr: off
    JsonValuesConf* response_json;  ///< nullptr: off
    const SubjectConf* subject;     ///< nullptr: off
    ngx_array_t* bypass;
    const std::string* scopes;  ///< in the form of parse_scopes; empty: any valid key
    ngx_flag_t dry_run;
    ngx_flag_t forward_authorization;
    ngx_flag_t json_errors;
    ngx_uint_t log_level;
    const ContentHandler* content;  ///< nullptr: no content handler of Tollgate
    const RoleScopes* roles;        ///< nullptr: all requests require the same scopes
    const TableCosts* table_costs;  ///< of each table, or one for all of them

    static const LocationConf& of(ngx_http_request_t* r) {
        return *static_cast<LocationConf*>(
            ngx_http_get_module_loc_conf(r, ngx_http_tollgate_module));
    }

    /// The fields of the request that must not reach the upstream because they may have a key.
    std::span<const KeyField> stripped_fields() const {
        return forward_authorization != 0 ? std::span<const KeyField>() : key_from->fields;
    }
    /// The scopes that this request requires, in the form of parse_scopes.
    const std::string& scopes_of(const ngx_http_request_t* r) const;
    /// `tollgate_realm` for this request.
    std::string_view realm_of(ngx_http_request_t* r) const;
};

/// nginx's create_loc_conf and merge_loc_conf.
void* create_location_conf(ngx_conf_t* cf) noexcept;
char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;

/// Sets the content handler of the location whose directive is being read. Returns nullptr, or what
/// nginx is to say about the directive.
const char* set_content_handler(ngx_conf_t* cf, void* conf, const ContentHandler& content);

/// Reads `tollgate NAME… | off`.
char* read_tollgate(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
/// Reads `tollgate_scope NAME… | off`.
char* read_scope(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
