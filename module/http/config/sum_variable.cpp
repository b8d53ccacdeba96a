#include "module/http/config/sum_variable.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/http/config/complex_value.hpp"
#include "module/http/config/directive.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/config/variable.hpp"
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

/// Nothing if a variable has no number.
std::optional<std::int64_t> value_of(ngx_http_request_t* r, Sum& sum) {
    UnitSum units;
    for (Term& term : sum.terms) {
        const auto one = evaluate(r, &term.one);
        const auto other = evaluate(r, &term.other);
        units.add(one.value_or(""), other.value_or(""));
    }
    return units.value();
}

/// `data` is a pointer to the Sum.
ngx_int_t get_sum(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                  uintptr_t data) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): nginx keeps the data of a variable as a number
        const auto units = value_of(r, *reinterpret_cast<Sum*>(data));
        set_variable(r, value, units ? std::optional(std::to_string(*units)) : std::nullopt);
        return NGX_OK;
    });
}

}  // namespace

char* read_sum(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return read_directive(cf, [&]() -> const char* {
        const auto words = words_of(cf);
        const std::string name = parse_variable(words[1]);
        auto& variable = define_variable(cf, name, 0, get_sum);
        auto* sum = make_pooled<Sum>(cf->pool);
        variable.data = reinterpret_cast<uintptr_t>(sum);
        auto& sums = MainConf::of(cf).sums;
        std::string terms;
        for (const auto term : Words(words).subspan(2)) {
            sum->terms.push_back(parse_term(cf, term));
            terms.append(term).append(" ");
        }
        sums.emplace_back(name, terms);
        // So no sum contains itself.
        if (std::ranges::any_of(sums,
                                [&](const auto& sum) { return has_variable(sum.second, name); })) {
            throw ParseError("the variable " + in_quotes(words[1]) +
                             " is used by a sum that is not after it");
        }
        return nullptr;
    });
}

}  // namespace tollgate::http
