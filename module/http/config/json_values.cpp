#include "module/http/config/json_values.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "module/http/config/directive.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/config/variable.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kLargestBody = std::size_t{1} << 20U;  // the default of `max=`

/// The value of `max=`; nothing if the word is another parameter.
std::optional<std::size_t> size_in(std::string_view word) {
    constexpr std::string_view kMax = "max=";
    if (!word.starts_with(kMax)) {
        return std::nullopt;
    }
    ngx_str_t text = borrow(word.substr(kMax.size()));
    const ssize_t size = ngx_parse_size(&text);
    if (size <= 0) {
        throw ParseError("invalid size " + in_quotes(word));
    }
    return static_cast<std::size_t>(size);
}

/// `"/a"`, or `"/a" or "/b"`.
std::string alternatives(std::span<const std::string_view> pointers) {
    std::string text;
    for (const auto pointer : pointers) {
        text.append(text.empty() ? "" : " or ").append(in_quotes(pointer));
    }
    return text;
}

/// Defines the variable, which other levels may define as well.
void define(ngx_conf_t* cf, const std::string& name, const JsonDirective& directive) {
    auto& variable = define_variable(cf, name, NGX_HTTP_VAR_CHANGEABLE, directive.get);
    variable.data = reinterpret_cast<uintptr_t>(&variable.name);
    auto& main = MainConf::of(cf);
    (directive.is_of_request ? main.request_variables : main.response_variables).insert(name);
}

/// Adds the variable of a directive, with this name.
void add_variable(JsonValuesConf& conf, Words words, const std::string& name,
                  const JsonDirective& directive) {
    JsonVariable variable{.name = name, .first = conf.pointers.size(), .max = kLargestBody};
    std::vector<std::string_view> pointers;
    for (const auto word : words.subspan(2)) {
        const auto max = directive.is_of_request ? size_in(word) : std::nullopt;
        if (max) {
            variable.max = *max;
        } else if (word == "required") {
            variable.is_required = true;
        } else {
            pointers.push_back(word);
        }
    }
    if (pointers.empty()) {
        throw ParseError(in_quotes(words[0]) + " directive has no JSON pointer");
    }
    if (conf.find(variable.name) != nullptr) {
        throw ParseError("duplicate variable " + in_quotes(words[1]));
    }
    const auto parsed = body::parse_json_pointers(pointers);
    variable.count = parsed.size();
    variable.missing = "The body has no value at " + alternatives(pointers) + ".";
    conf.pointers.insert(conf.pointers.end(), parsed.begin(), parsed.end());
    if (conf.pointers.size() > body::kMostPointers) {
        throw ParseError("more than " + std::to_string(body::kMostPointers) + " JSON pointers");
    }
    conf.variables.push_back(std::move(variable));
}

}  // namespace

const JsonVariable* JsonValuesConf::find(std::string_view name) const {
    const auto found = std::ranges::find(variables, name, &JsonVariable::name);
    return found == variables.end() ? nullptr : &*found;
}

std::size_t JsonValuesConf::largest_body() const {
    return std::ranges::max_element(variables, {}, &JsonVariable::max)->max;
}

char* read_json_values(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return read_directive(cf, [&]() -> const char* {
        const auto words = words_of(cf);
        const auto& directive = *static_cast<const JsonDirective*>(command->post);
        auto& values =
            *reinterpret_cast<JsonValuesConf**>(static_cast<char*>(conf) + command->offset);
        if (is_off(Words(words), "a variable")) {
            if (!is_unset(values)) {
                return "is duplicate";
            }
            values = nullptr;
            return nullptr;
        }
        if (values == nullptr) {
            return "is duplicate";
        }
        const std::string name = parse_variable(words[1]);
        if (is_unset(values)) {
            values = make_pooled<JsonValuesConf>(cf->pool);
        }
        add_variable(*values, words, name, directive);
        define(cf, name, directive);
        return nullptr;
    });
}

ngx_int_t set_body_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            std::string_view text) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        set_variable(r, value, text.empty() ? std::nullopt : std::optional(text));
        return NGX_OK;
    });
}

}  // namespace tollgate::http
