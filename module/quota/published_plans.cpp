#include "module/quota/published_plans.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

using Json = nlohmann::json;

bool is_true(const Json& object, const char* member) {
    return object.contains(member) && object[member].is_boolean() && object[member].get<bool>();
}

/// The text of a member; nullopt if it is missing or null. Throws ParseError for another type.
std::optional<std::string> text_of(const Json& object, const char* member) {
    const auto found = object.find(member);
    if (found == object.end() || found->is_null()) {
        return std::nullopt;
    }
    if (!found->is_string()) {
        throw ParseError("not a text");
    }
    return found->get<std::string>();
}

std::vector<Rate> rates_of(const Json& plan) {
    const auto found = plan.find("rates");
    if (found == plan.end() || !found->is_array()) {
        throw ParseError("no rates");
    }
    std::vector<std::string_view> words;
    for (const Json& rate : *found) {
        if (!rate.is_string()) {
            throw ParseError("not a rate");
        }
        words.emplace_back(rate.get_ref<const std::string&>());
    }
    return parse_rates(words);
}

std::chrono::days history_of(const Json& table) {
    const auto found = table.find("history");
    return found != table.end() && found->is_number_integer()
               ? std::chrono::days(
                     std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMostHistory.count()))
               : std::chrono::days(0);
}

Plan read_plan(const std::string& name, const Json& json) {
    if (!json.is_object() || !is_valid_name(name)) {
        throw ParseError("not a plan");
    }
    Plan plan;
    plan.name = name;
    plan.sliding = text_of(json, "window") == "sliding";
    if (is_true(json, "custom")) {
        plan.kind = Plan::Kind::kCustom;
    } else if (is_true(json, "unlimited")) {
        plan.kind = Plan::Kind::kUnlimited;
    } else {
        plan.rates = rates_of(json);
    }
    return plan;
}

}  // namespace

std::optional<PlanTable> read_published_table(std::string_view name, std::string_view json) {
    const Json document = Json::parse(json, nullptr, false);
    if (!is_valid_name(name) || !document.is_object() || !document.contains("plans") ||
        !document["plans"].is_object()) {
        return std::nullopt;
    }
    PlanTable table;
    table.name = name;
    try {
        for (const auto& [plan, value] : document["plans"].items()) {
            table.plans.push_back(read_plan(plan, value));
        }
        table.default_plan = text_of(document, "default").value_or("");
        table.history = history_of(document);
    } catch (const ParseError&) {
        return std::nullopt;
    }
    return table;
}

}  // namespace tollgate
