#include "module/http/config/request_cost.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "module/http/config/complex_value.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/key/key_record.hpp"
#include "module/plan/rate.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

/// A cost: a whole number from 0 to kMostRequests.
std::optional<std::int64_t> parse_cost(std::string_view text) {
    return parse_whole_number(text, 0, kMostRequests);
}

/// What a variable says, which a client may choose: a cost, or kMoreThanAnyLimit for a larger
/// number. With any other cost, a larger number would be cheaper. Nothing if it is no number.
std::optional<std::int64_t> parse_cost_of_variable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789";
    const auto number = parse_cost(text);
    const bool is_number =
        !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
    return number || !is_number ? number : kMoreThanAnyLimit;
}

/// A variable can contain decoded client input. No line break of it may get into the log.
void log_invalid_cost(ngx_http_request_t* r, std::string_view text, const char* consequence) {
    ngx_str_t printed = borrow(is_valid_key_name(text) ? text : "?");
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "invalid tollgate_cost \"%V\", %s", &printed,
                  consequence);
}

QuotaCost reserved_by(ngx_http_request_t* r, const CostConf* conf) {
    if (conf == nullptr) {
        return {};
    }
    const auto text = evaluate(r, &conf->before).value_or("");
    const auto number = parse_cost_of_variable(text);
    if (!number) {
        log_invalid_cost(r, text, "1 is taken");
    }
    return {.units = number.value_or(1), .settles = conf->settle != nullptr, .least = conf->least};
}

QuotaCost used_by(ngx_http_request_t* r, const CostConf* conf, QuotaCost reserved) {
    if (!reserved.settles) {
        return reserved;
    }
    const auto text = evaluate(r, conf->settle).value_or("");
    const auto number = parse_cost_of_variable(text);
    if (!number && !text.empty()) {
        log_invalid_cost(r, text, "the reservation stands");
    }
    reserved.units = number ? std::min(*number, kMostRequests) : reserved.units;
    return reserved;
}

/// Whether one directive applies to all tables.
bool are_alike(const TableCosts& costs) {
    return std::ranges::all_of(costs, [&](const CostConf* cost) { return cost == costs.front(); });
}

CostConf read_words(ngx_conf_t* cf, Words words) {
    constexpr std::string_view kSettle = "settle=";
    constexpr std::string_view kMin = "min=";
    constexpr std::string_view kTable = "table=";
    CostConf read{.before = compile(cf, words[1]), .position = Position::of(cf)};
    if (!has_variables(read.before)) {
        const auto constant = parse_cost(words[1]);
        if (!constant) {
            throw ParseError("\"tollgate_cost\" directive has an invalid number");
        }
        read.constant = *constant;
    }
    for (const std::string_view word : words.subspan(2)) {
        if (word.starts_with(kSettle) && read.settle == nullptr) {
            read.settle = make_pooled<ngx_http_complex_value_t>(
                cf->pool, compile(cf, word.substr(kSettle.size())));
            if (!has_variables(*read.settle)) {
                throw ParseError("\"settle=\" needs a variable");
            }
        } else if (word.starts_with(kMin) && read.least == 0) {
            const auto least = parse_whole_number(word.substr(kMin.size()), 1, kMostRequests);
            if (!least || (!has_variables(read.before) && *least > read.constant)) {
                throw ParseError("\"min=\" is a number from 1 to the cost");
            }
            read.least = *least;
        } else if (word.size() > kTable.size() && word.starts_with(kTable) && read.table.empty()) {
            read.table = word.substr(kTable.size());
        } else {
            throw ParseError("invalid parameter " + in_quotes(word));
        }
    }
    return read;
}

}  // namespace

const CostConf* CostsConf::of(std::string_view table) const {
    const auto named = std::ranges::find(all, table, &CostConf::table);
    const auto found = named == all.end() ? std::ranges::find(all, "", &CostConf::table) : named;
    return found == all.end() ? nullptr : &*found;
}

char* read_cost(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&]() -> const char* {
        auto& costs = static_cast<LocationConf*>(conf)->costs;
        const auto words = words_of(cf);
        CostConf read = read_words(cf, Words(words));
        if (is_unset(costs)) {
            auto& all = MainConf::of(cf).costs;
            costs = all.emplace_back(std::make_unique<CostsConf>()).get();
        } else if (std::ranges::find(costs->all, read.table, &CostConf::table) !=
                   costs->all.end()) {
            return "is duplicate";
        }
        costs->all.push_back(std::move(read));
        return nullptr;
    });
}

bool assign_costs(ngx_conf_t* cf, LocationConf& conf, bool is_own) {
    static const TableCosts kOne{nullptr};
    conf.table_costs = &kOne;
    if (conf.costs == nullptr || conf.tables == nullptr) {
        return true;
    }
    const auto& names = conf.tables->names;
    // What a server says may be for the tables of its locations.
    const bool is_for_others = is_outer(core_location(cf));
    for (const CostConf& cost : conf.costs->all) {
        if (is_own && !is_for_others && !cost.table.empty() &&
            std::ranges::find(names, cost.table) == names.end()) {
            log_conf_error(cf, cost.position,
                           "\"tollgate_cost\" has \"table=" + cost.table +
                               "\", which \"tollgate\" does not name here");
            return false;
        }
    }
    auto* costs = make_pooled<TableCosts>(cf->pool);
    for (const std::string& name : names) {
        costs->push_back(conf.costs->of(name));
    }
    if (are_alike(*costs)) {
        costs->resize(1);
    }
    conf.table_costs = costs;
    return true;
}

bool check_costs(ngx_conf_t* cf) {
    const MainConf& main = MainConf::of(cf);
    for (const auto& costs : main.costs) {
        for (const CostConf& cost : costs->all) {
            if (!cost.table.empty() && main.find_table(cost.table) == nullptr) {
                log_conf_error(cf, cost.position,
                               "\"tollgate_cost\" has \"table=" + cost.table +
                                   "\": no \"tollgate_plans\" has this name");
                return false;
            }
        }
    }
    return true;
}

Cost cost_of(ngx_http_request_t* r, const TableCosts& costs) {
    if (costs.size() == 1) {
        return Cost(reserved_by(r, costs.front()));
    }
    std::vector<QuotaCost> each;
    each.reserve(costs.size());
    for (const CostConf* cost : costs) {
        each.push_back(reserved_by(r, cost));
    }
    return Cost(each);
}

Cost used_by(ngx_http_request_t* r, const TableCosts& costs, const Cost& reserved) {
    if (costs.size() == 1 && reserved.is_uniform()) {
        return Cost(used_by(r, costs.front(), reserved.of(0)));
    }
    // Different directives may reserve the same, and one directive may reserve what is left in
    // each.
    std::vector<QuotaCost> each(std::max(costs.size(), reserved.size()));
    for (std::size_t i = 0; i < each.size(); ++i) {
        each[i] = used_by(r, costs.size() == 1 ? costs.front() : costs[i], reserved.of(i));
    }
    return Cost(each);
}

}  // namespace tollgate::http
