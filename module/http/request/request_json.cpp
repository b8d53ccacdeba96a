#include "module/http/request/request_json.hpp"

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "module/body/value_reader.hpp"
#include "module/http/config/variable.hpp"
#include "module/nginx/request_body.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

/// The values of a request. The pool of the main request owns them.
struct RequestValues {
    explicit RequestValues(const JsonValuesConf& variables)
        : conf(variables), texts(variables.variables.size()) {}

    const JsonValuesConf& conf;
    std::vector<std::string> texts;  ///< in the order of conf.variables; empty: no value
};

std::string_view request_value(const ngx_http_request_t* r, std::string_view name) {
    const auto* values = find_pooled<RequestValues>(r->main->pool);
    const JsonVariable* variable = values == nullptr ? nullptr : values->conf.find(name);
    return variable == nullptr ? std::string_view()
                               : std::string_view(values->texts[static_cast<std::size_t>(
                                     variable - values->conf.variables.data())]);
}

bool has_encoding(ngx_http_request_t* r) {
    bool is_encoded = false;
    for_each_field(r->headers_in.headers, [&](const ngx_table_elt_t& field) {
        is_encoded = is_encoded || (equals_ignoring_case(view(field.key), "content-encoding") &&
                                    !equals_ignoring_case(view(field.value), "identity"));
    });
    return is_encoded;
}

std::size_t size_of(const ngx_chain_t* body) {
    off_t size = 0;
    for (const ngx_chain_t* link = body; link != nullptr; link = link->next) {
        size += ngx_buf_size(link->buf);
    }
    return static_cast<std::size_t>(size);
}

void read_body(body::ValueReader& reader, const ngx_chain_t* body) {
    for (const ngx_chain_t* link = body; link != nullptr; link = link->next) {
        if (!nginx::for_each_piece(*link->buf, [&](auto piece) { reader.read(piece); })) {
            reader.give_up();
        }
    }
}

}  // namespace

bool may_have_json_body(ngx_http_request_t* r, const JsonValuesConf& conf) {
    const ngx_table_elt_t* type = r->headers_in.content_type;
    return r == r->main && type != nullptr &&
           body::format_of(view(type->value)) == body::Format::kJson &&
           r->headers_in.content_length_n <= static_cast<off_t>(conf.largest_body()) &&
           !has_encoding(r);
}

void read_json_body(ngx_http_request_t* r, const JsonValuesConf& conf) {
    auto* values = make_pooled<RequestValues>(r->pool, conf);
    const ngx_chain_t* body = r->request_body == nullptr ? nullptr : r->request_body->bufs;
    const std::size_t size = size_of(body);
    if (size == 0 || size > conf.largest_body() || !may_have_json_body(r, conf)) {
        return;
    }
    const auto reader = std::make_unique<body::ValueReader>(conf.pointers, body::Format::kJson);
    read_body(*reader, body);
    for (std::size_t i = 0; i < conf.variables.size(); ++i) {
        const JsonVariable& variable = conf.variables[i];
        if (size <= variable.max) {
            values->texts[i] = reader->first_of(variable.first, variable.count);
        }
    }
}

const JsonVariable* find_missing_value(const ngx_http_request_t* r, const JsonValuesConf& conf) {
    return conf.find_missing(
        [&](const JsonVariable& variable) { return request_value(r, variable.name); });
}

ngx_int_t get_request_json(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                           uintptr_t data) noexcept {
    return set_body_variable(r, value, request_value(r, name_of_variable(data)));
}

}  // namespace tollgate::http
