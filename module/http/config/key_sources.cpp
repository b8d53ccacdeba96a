#include "module/http/config/key_sources.hpp"

#include <algorithm>

#include "module/http/config/location_conf.hpp"

namespace tollgate::http {

namespace {

/// Whether nginx itself reads this field. It keeps pointers to such fields, so they cannot be
/// removed from a request.
bool is_read_by_nginx(ngx_conf_t* cf, const std::string& field) {
    auto* core = static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    ngx_str_t name = borrow(field);
    return ngx_hash_find(&core->headers_in_hash, ngx_hash_key(name.data, name.len), name.data,
                         name.len) != nullptr;
}

/// The index of the variable of this name. Throws LoggedConfError.
ngx_int_t variable_index(ngx_conf_t* cf, std::string_view name) {
    ngx_str_t text = borrow(name);
    const ngx_int_t index = ngx_http_get_variable_index(cf, &text);
    if (index == NGX_ERROR) {
        throw LoggedConfError();
    }
    return index;
}

/// The index of $http_FIELD. Throws LoggedConfError.
ngx_int_t variable_of(ngx_conf_t* cf, const std::string& field) {
    std::string name = "http_" + field;
    std::ranges::replace(name, '-', '_');
    return variable_index(cf, name);
}

void add_key_field(std::vector<KeyField>& fields, const KeyField& field) {
    if (std::ranges::find(fields, field.name, &KeyField::name) == fields.end()) {
        fields.push_back(field);
    }
}

}  // namespace

char* read_key_from(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_once(cf, static_cast<LocationConf*>(conf)->key_from, [&](Words words) {
        MainConf::of(cf).default_key_sources();  // the first of them
        auto read = std::make_unique<KeySourcesConf>();
        read->position = Position::of(cf);
        for (const auto word : words.subspan(1)) {
            KeySource source = parse_key_source(word);
            if (std::ranges::find(read->sources, source.name, &KeySource::name) !=
                read->sources.end()) {
                throw ParseError("\"tollgate_key_from\" directive names a source twice");
            }
            read->sources.push_back(std::move(source));
        }
        return MainConf::of(cf).key_sources.emplace_back(std::move(read)).get();
    });
}

bool resolve_key_sources(ngx_conf_t* cf) {
    MainConf& conf = MainConf::of(cf);
    conf.default_key_sources();
    conf.user_variable = variable_index(cf, "remote_user");
    for (const auto& set : conf.key_sources) {
        for (const auto& source : set->sources) {
            const bool is_authorization = source.field == "authorization";
            if (!is_authorization && is_read_by_nginx(cf, source.field)) {
                log_conf_error(cf, set->position,
                               "\"tollgate_key_from\" cannot read the key from \"" +
                                   std::string(field_name(source)) +
                                   "\": nginx itself needs this field");
                return false;
            }
            const KeyField field{source.field, variable_of(cf, source.field)};
            add_key_field(set->own_fields, field);
            add_key_field(conf.key_fields, field);
            if (!is_authorization && std::ranges::find(conf.redacted_fields, source.field) ==
                                         conf.redacted_fields.end()) {
                conf.redacted_fields.push_back(source.field);
            }
        }
    }
    for (const auto& set : conf.key_sources) {
        const bool is_all = set->own_fields.size() == conf.key_fields.size();
        set->fields = is_all ? conf.key_fields : set->own_fields;
    }
    return true;
}

}  // namespace tollgate::http
