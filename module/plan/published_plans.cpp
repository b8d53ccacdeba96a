#include "module/plan/published_plans.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/plan/limits.hpp"
#include "module/text/json_reader.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

/// Keeps what is used of a published table. A function returns false to end the reading of a text
/// that is no table.
class PublishedTableReader final : public JsonReceiver {
  public:
    /// The table, without its name. Throws ParseError if the text is no table.
    PlanTable take() const {
        if (!has_plans_) {
            throw ParseError("no plans");
        }
        PlanTable table;
        table.plans.reserve(plans_.size());
        for (const auto& [name, members] : plans_) {
            table.plans.push_back(plan_of(name, members));
        }
        table.default_plan = default_;
        table.history = history_;
        table.variable = variable_;
        table.by_group = by_group_;
        table.unit = unit_;
        table.notify = notify_;
        if (has_ban_) {
            table.ban.emplace();
        }
        return table;
    }

    bool null() override { return is_ignored() || is_text(); }
    bool boolean(bool value) override {
        if (auto* const plan = plan_with("custom")) {
            plan->is_custom = value;
        } else if (auto* const other = plan_with("unlimited")) {
            other->is_unlimited = value;
        } else if (path_.size() == 1 && path_.back() == "ban") {
            has_ban_ = value;
        }
        return is_ignored();
    }
    bool integer(std::int64_t value) override {
        if (path_.size() == 1 && path_.back() == "history") {
            history_ = std::chrono::days(std::clamp<std::int64_t>(value, 0, kMostHistory.count()));
        } else if (auto* const plan = plan_with("in_flight")) {
            plan->in_flight = std::clamp<std::int64_t>(value, 0, kMostInFlight);
        } else if (path_.size() == 2 && path_.front() == "notify" && path_.back() == kElement) {
            notify_.push_back(value);
        }
        return is_ignored();
    }
    bool large_integer(std::uint64_t /*value*/) override {
        return integer(std::numeric_limits<std::int64_t>::max());
    }
    bool number(double /*value*/, const std::string& /*text*/) override { return is_ignored(); }
    bool string(std::string& value) override {
        if (path_.size() == 1 && path_.back() == "default") {
            default_ = std::move(value);
        } else if (path_.size() == 1 && path_.back() == "unit" && is_valid_unit(value)) {
            unit_ = std::move(value);
        } else if (path_.size() == 1 && path_.back() == "by" && value.starts_with('$')) {
            variable_ = value.substr(1);
        } else if (path_.size() == 1 && path_.back() == "by") {
            by_group_ = value == "group";
        } else if (auto* const plan = plan_with("window")) {
            plan->window = std::move(value);
        } else if (auto* const soft = plan_with("over")) {
            soft->over = std::move(value);
        } else if (is_in_rates()) {
            plans_.at(path_[1]).rates.push_back(std::move(value));
        } else {
            return is_ignored();
        }
        return true;
    }

    bool start_object() override {
        if (is_text() || is_in_rates()) {
            return false;
        }
        has_plans_ = has_plans_ || (path_.size() == 1 && path_.back() == kPlans);
        if (path_.size() == 2 && path_.front() == kPlans) {
            plans_.insert_or_assign(path_.back(), Members{});
        }
        path_.emplace_back();
        return true;
    }
    bool key(std::string& name) override {
        path_.back() = std::move(name);
        return true;
    }
    bool end_object() override {
        path_.pop_back();
        return true;
    }
    bool start_array() override {
        if (!is_ignored()) {
            return false;
        }
        if (auto* const plan = plan_with(kRates)) {
            plan->has_rates = true;
        }
        path_.emplace_back(kElement);
        return true;
    }
    bool end_array() override { return end_object(); }
    bool invalid(std::size_t /*byte*/) override { return false; }

  private:
    static constexpr std::string_view kPlans = "plans";
    static constexpr std::string_view kRates = "rates";
    static constexpr std::string_view kAllow = "allow";
    static constexpr std::string_view kElement = "[]";  ///< in the path: an element of a list

    struct Members {
        bool is_custom = false;
        bool is_unlimited = false;
        bool has_rates = false;
        std::string window{};
        std::string over{};
        std::vector<std::string> rates{};
        std::int64_t in_flight = 0;
    };

    static Plan plan_of(const std::string& name, const Members& members) {
        if (!is_valid_name(name)) {
            throw ParseError("not a plan");
        }
        Plan plan;
        plan.name = name;
        plan.sliding = members.window == "sliding";
        plan.in_flight = members.in_flight;
        plan.allows_over = members.over == kAllow;
        if (members.is_custom) {
            plan.kind = Plan::Kind::kCustom;
        } else if (members.is_unlimited) {
            plan.kind = Plan::Kind::kUnlimited;
        } else if (members.has_rates) {
            std::vector<std::string_view> words;
            for (const std::string& rate : members.rates) {
                const auto of_rate = words_of(rate);
                words.insert(words.end(), of_rate.begin(), of_rate.end());
            }
            plan.rates = parse_rates(words);
        } else {
            throw ParseError("no rates");
        }
        return plan;
    }

    /// Whether the member that is read is the object of all plans, or that of a plan.
    bool is_at_plan() const {
        return !path_.empty() && path_.front() == kPlans && path_.size() <= 2;
    }
    /// Whether the member that is read must be a text.
    bool is_text() const {
        return (path_.size() == 1 && path_.back() == "default") ||
               (path_.size() == 3 && path_.front() == kPlans && path_.back() == "window");
    }
    bool is_in_rates() const {
        return path_.size() == 4 && path_.front() == kPlans && path_[2] == kRates &&
               path_.back() == kElement;
    }
    /// Whether a value here has no use and does no harm.
    bool is_ignored() const {
        return !path_.empty() && !is_at_plan() && !is_text() && !is_in_rates();
    }
    /// The plan whose member of this name is read, otherwise nullptr.
    Members* plan_with(std::string_view member) {
        const bool is_member =
            path_.size() == 3 && path_.front() == kPlans && path_.back() == member;
        return is_member ? &plans_.at(path_[1]) : nullptr;
    }

    std::vector<std::string> path_;  ///< the names of the members that are read, the outer first
    bool has_plans_ = false;
    std::map<std::string, Members, std::less<>> plans_;
    std::string default_;
    std::string variable_;
    bool by_group_ = false;
    std::string unit_{kRequests};
    bool has_ban_ = false;
    std::chrono::days history_{};
    std::vector<std::int64_t> notify_;
};

void write_plan(JsonWriter& json, const Plan& plan) {
    switch (plan.kind) {
        case Plan::Kind::kCustom:
            json.member("custom", true);
            break;
        case Plan::Kind::kUnlimited:
            json.member("unlimited", true);
            break;
        case Plan::Kind::kLimited:
            json.array("rates", [&] {
                for (const Rate& rate : plan.rates) {
                    json.value(format_rate(rate));
                }
            });
            break;
    }
    if (plan.in_flight != 0) {
        json.member("in_flight", plan.in_flight);
    }
    if (plan.kind != Plan::Kind::kUnlimited) {
        json.member("window", plan.sliding ? "sliding" : "fixed");
    }
    if (plan.allows_over) {
        json.member("over", "allow");
    }
}

}  // namespace

void write_plans(JsonWriter& json, const PlanTable& table) {
    json.member("unit", table.unit);
    json.object("plans", [&] {
        for (const Plan& plan : table.plans) {
            json.object(plan.name, [&] { write_plan(json, plan); });
        }
    });
    json.member_or_null("default", table.default_plan);
    if (table.has_history()) {
        json.member("history", table.history.count());
    }
    if (table.counts_values()) {
        json.member("by", "$" + table.variable);
    } else if (table.by_group) {
        json.member("by", "group");
    }
    if (table.ban) {
        json.member("ban", true);
    }
    if (!table.notify.empty()) {
        json.array("notify", [&] {
            for (const auto level : table.notify) {
                json.value(level);
            }
        });
    }
}

std::string write_published_table(const PlanTable& table, std::chrono::sys_seconds now) {
    JsonWriter json;
    json.object([&] {
        write_plans(json, table);
        json.member("published", now.time_since_epoch().count());
    });
    return std::move(json).take();
}

std::optional<PlanTable> read_published_table(std::string_view name, std::string_view json) {
    PublishedTableReader reader;
    if (!is_valid_name(name) || !read_json(json, reader)) {
        return std::nullopt;
    }
    try {
        PlanTable table = reader.take();
        table.name = name;
        return table;
    } catch (const ParseError&) {
        return std::nullopt;
    }
}

}  // namespace tollgate
