#include "module/http/config/sum_variable.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "module/http/config/complex_value.hpp"
#include "module/http/config/directive.hpp"
#include "module/http/config/json_values.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/plan/unit_sum.hpp"

namespace tollgate::http {

namespace {

/// A product of two values; a single value is multiplied by 1.
struct Term {
    ngx_http_complex_value_t one;
    ngx_http_complex_value_t other;
};

struct Sum {
    std::vector<Term> terms;
};

ngx_http_complex_value_t factor(ngx_conf_t* cf, std::string_view text, std::string_view term) {
    const auto value = compile(cf, text);
    if (!has_variables(value) && !is_decimal(text)) {
        throw ParseError("invalid term " + in_quotes(term) +
                         ": use decimal numbers and variables, such as 3, $a or $a*0.25");
    }
    return value;
}

Term parse_term(ngx_conf_t* cf, std::string_view term) {
    const auto times = term.find('*');
    const auto other = times == std::string_view::npos ? "1" : term.substr(times + 1);
    return {factor(cf, term.substr(0, times), term), factor(cf, other, term)};
}

/// Empty if a variable has no number.
std::string text_of(ngx_http_request_t* r, Sum& sum) {
    UnitSum units;
    for (Term& term : sum.terms) {
        const auto one = evaluate(r, &term.one);
        const auto other = evaluate(r, &term.other);
        units.add(one.value_or(""), other.value_or(""));
    }
    const auto value = units.value();
    return value ? std::to_string(*value) : std::string();
}

/// `data` is a pointer to the Sum.
ngx_int_t get_sum(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                  uintptr_t data) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): nginx keeps the data of a variable as a number
        return set_variable(r, value, text_of(r, *reinterpret_cast<Sum*>(data)));
    });
}

}  // namespace

char* read_sum(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return read_directive(cf, [&]() -> const char* {
        const auto words = words_of(cf);
        if (words[1].size() < 2 || words[1][0] != '$') {
            throw ParseError("invalid variable name " + in_quotes(words[1]));
        }
        auto* sum = make_pooled<Sum>(cf->pool);
        ngx_str_t name = borrow(words[1].substr(1));
        ngx_http_variable_t* variable = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
        if (variable == nullptr) {
            throw LoggedConfError();
        }
        if (variable->get_handler != nullptr) {
            return "sets a variable that another directive sets";
        }
        auto& sums = MainConf::of(cf).sums;
        const auto own = view(variable->name);
        std::string terms;
        for (const auto term : Words(words).subspan(2)) {
            sum->terms.push_back(parse_term(cf, term));
            terms.append(term).append(" ");
        }
        sums.emplace_back(own, terms);
        // So no sum contains itself.
        if (std::ranges::any_of(sums,
                                [&](const auto& sum) { return has_variable(sum.second, own); })) {
            throw ParseError("the variable " + in_quotes(words[1]) +
                             " is used by a sum that is not after it");
        }
        variable->get_handler = get_sum;
        variable->data = reinterpret_cast<uintptr_t>(sum);
        return nullptr;
    });
}

}  // namespace tollgate::http
