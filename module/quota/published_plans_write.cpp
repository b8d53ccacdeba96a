#include "module/quota/published_plans.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {

namespace {

void write_plan(JsonWriter& json, const Plan& plan) {
    switch (plan.kind) {
        case Plan::Kind::kCustom:
            json.member("custom", true);
            break;
        case Plan::Kind::kUnlimited:
            json.member("unlimited", true);
            return;
        case Plan::Kind::kLimited:
            json.array("rates", [&] {
                for (const Rate& rate : plan.rates) {
                    json.value(format_rate(rate));
                }
            });
            break;
    }
    json.member("window", plan.sliding ? "sliding" : "fixed");
}

}  // namespace

std::string write_published_table(const PlanTable& table, std::chrono::sys_seconds now) {
    JsonWriter json;
    json.object([&] {
        json.object("plans", [&] {
            for (const Plan& plan : table.plans) {
                json.object(plan.name, [&] { write_plan(json, plan); });
            }
        });
        if (table.default_plan.empty()) {
            json.name("default");
            json.null();
        } else {
            json.member("default", table.default_plan);
        }
        if (table.has_history()) {
            json.member("history", table.history.count());
        }
        json.member("published", now.time_since_epoch().count());
    });
    return std::move(json).take();
}

}  // namespace tollgate
