#include "module/report/usage_json.hpp"

#include <algorithm>
#include <utility>

#include "module/plan/bucket.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {

namespace {

void add_window(JsonWriter& json, const WindowState& window, bool is_of_address) {
    json.object([&] {
        json.member_or_null("table", is_of_address ? "" : window.table);
        json.member("policy", window.policy);
        json.member("unit", window.unit);
        const bool is_balance = window.rate.is_balance();
        if (!is_balance) {
            json.member("limit", window.rate.limit());
            json.member("period", length_of(window).count());
        }
        if (window.rate.is_bucket()) {
            json.member("refill", format_rate({window.rate.requests, window.rate.period}));
        }
        json.member("remaining", window.remaining);
        if (window.over) {
            json.member("over", *window.over);
        }
        if (!is_balance) {
            json.member("reset", unix_seconds(window.reset));
        }
        json.member("exhausted", window.exhausted || window.remaining == 0);
    });
}

void add_flight(JsonWriter& json, const FlightState& state) {
    json.object([&] {
        json.member("table", state.table);
        json.member("policy", state.policy);
        json.member("limit", state.limit);
        json.member("requests", state.requests);
        json.member("remaining", state.remaining());
    });
}

}  // namespace

std::string usage_json(const Usage& usage) {
    JsonWriter json;
    json.object([&] {
        json.member_or_null("id", usage.id);
        json.member_or_null("plan", usage.plan);
        json.member("verdict", name_of(usage.verdict));
        json.array("windows", [&] {
            for (const WindowState& window : usage.windows) {
                add_window(json, window, usage.id.empty());
            }
        });
        if (!usage.flights.empty()) {
            json.array("in_flight", [&] {
                for (const FlightState& state : usage.flights) {
                    add_flight(json, state);
                }
            });
        }
    });
    return std::move(json).take();
}

}  // namespace tollgate
