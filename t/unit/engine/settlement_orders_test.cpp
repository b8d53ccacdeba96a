// Requests whose costs are settled at their ends, while their key is revoked or gets another plan:
// every order of what happens at two nodes, and of their calls to a Redis with the real scripts.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/script.hpp"
#include "t/unit/engine/call_orders.hpp"
#include "t/unit/engine/call_orders_results.hpp"

namespace tollgate::engine::settlement_orders {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kTwoHours = 2 * kHour;

/// A node with requests that cost these units and have used those at their ends.
class SettlingNode : public OrderedNodeSetup {
  public:
    struct Cost {
        std::int64_t reserved;
        std::int64_t used;
    };
    SettlingNode(std::uint64_t number, const std::vector<Cost>& costs) {
        id = number;
        have_keys = true;
        for (const auto& [name, rate] : {std::pair("free", Rate{1000, 3600s}),
                                         {"other", {2000, 7200s}},
                                         {"low", {12, 3600s}}}) {
            Plan& plan = table.plans.emplace_back();
            plan.name = name;
            plan.rates = {rate};
        }
        ordered = {&redis::acquire_script(), &redis::lookup_script()};
        for (const auto& cost : costs) {
            requests.push_back({.cost = cost.reserved, .used = cost.used});
        }
    }
};

std::string key_name() {
    return "t:key:" + hex(sha256("k"));
}
ScriptAutomaton::Data key_with(const std::string& plan) {
    return {{key_name(), {{{"id", "k"}, {"plan", plan}, {"state", "active"}}}}};
}
/// What happens to the key.
enum class Changed {
    kRevoked,
    kOtherWindows,  ///< its new plan has other windows
    kLowerLimit,    ///< its new plan has the same ones, with a limit that two requests reach
};
CallOrders::Change change_of(Changed changed) {
    const auto set_plan = [](const std::string& plan) {
        return [plan](ScriptAutomaton::Data& data) { data[key_name()].fields["plan"] = plan; };
    };
    const std::string digest = hex(sha256("k"));
    switch (changed) {
        case Changed::kRevoked:
            return {"the key is revoked",
                    [](ScriptAutomaton::Data& data) {
                        data[key_name()] = {{{"revoked", "k"}}};
                    },
                    digest};
        case Changed::kOtherWindows:
            return {"the key gets other windows", set_plan("other"), digest};
        case Changed::kLowerLimit:
            return {"the key gets a lower limit", set_plan("low"), digest};
    }
    return {};
}

class SettlementJudge final : public CallOrders::Judge {
  public:
    SettlementJudge(const CallOrders& orders, Changed changed)
        : orders_(orders), changed_(changed) {}

    std::string step(const CallOrders::World& world) const override {
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const NodeView& seen = orders_.view(world, i);
            for (std::size_t request = 0; request < seen.requests.size(); ++request) {
                if (seen.told[request] == 0 || seen.shown[request] == 0) {
                    continue;
                }
                if (changed_ != Changed::kOtherWindows) {
                    return "a request is granted after the change";
                }
                if (seen.shown[request] != kTwoHours) {
                    return "a request is counted by the plan before";
                }
            }
        }
        return {};
    }

    std::string end(const CallOrders::World& world) const override {
        if (std::string held = held_at_end(orders_, world); !held.empty()) {
            return held;
        }
        for (const std::int64_t period : {kHour, kTwoHours}) {
            const Bounds expected = used(world, period);
            const auto count = counted(world, period);
            if (count < expected.least || count > expected.most) {
                return std::to_string(expected.least) + " to " + std::to_string(expected.most) +
                       " units are used, " + std::to_string(count) + " are counted";
            }
        }
        return {};
    }

  private:
    struct Bounds {
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    /// What was used in the windows of this period, in ms. A request that was lost with a call may
    /// be counted, and the units that it returned. A killed node has not settled everything.
    Bounds used(const CallOrders::World& world, std::int64_t period) const {
        Bounds bounds;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const NodeView& seen = orders_.view(world, i);
            const auto& node = world.nodes[i];
            for (std::size_t request = 0; request < seen.requests.size(); ++request) {
                const auto& wanted = orders_.setup(i).requests[request];
                const std::int64_t used = wanted.used.value_or(wanted.cost);
                if (seen.shown[request] == period) {
                    bounds.least += node.is_killed ? std::min(used, wanted.cost) : used;
                    bounds.most += node.is_killed ? std::max(used, wanted.cost) : used;
                }
            }
            for (std::size_t call = 0; call < seen.calls.size(); ++call) {
                const bool is_lost = std::ranges::find(node.lost, call) != node.lost.end() ||
                                     (node.is_killed && seen.calls[call].is_awaited);
                bounds.most += is_lost ? units_lost_with(*seen.calls[call].call) : 0;
            }
            bounds.most += node.is_killed ? seen.leased : 0;
        }
        return bounds;
    }
    std::int64_t counted(const CallOrders::World& world, std::int64_t period) const {
        const auto& data = orders_.data(world);
        const auto quota = data.find("t:quota:{k}:api");
        if (quota == data.end()) {
            return 0;
        }
        const auto count = quota->second.fields.find(std::to_string(period / 1000) + ".count");
        return count == quota->second.fields.end() ? 0 : std::stoll(count->second);
    }

    const CallOrders& orders_;
    Changed changed_;
};

class SettlementOrders : public testing::Test {
  protected:
    static CallOrders::Result search(const OrderedNodeSetup& a, const OrderedNodeSetup& b,
                                     Changed changed, std::size_t before,
                                     const CallOrders::Bound& bound,
                                     ScriptAutomaton::Mutant mutant = {}) {
        ScriptAutomaton redis(std::move(mutant));
        CallOrders orders({&a, &b}, redis, key_with("free"), {change_of(changed)});
        std::vector<CallOrders::Event> first;
        for (std::size_t request = 0; request < before; ++request) {
            first.push_back({CallOrders::Event::Kind::kBegin, 0, request});
        }
        orders.begin_with(first);
        return orders.run(bound, SettlementJudge(orders, changed));
    }
};

/// 5·10^7 orders.
TEST_F(SettlementOrders, BesideARevocation) {
    const SettlingNode a(1, {{5, 8}});
    const SettlingNode b(2, {{5, 2}});
    expect_all_are_right(search(a, b, Changed::kRevoked, 0,
                                {.passes = kIsSlow ? 0U : 1U, .faults = 1, .breaks = true}));
}

/// 8·10^7 orders.
TEST_F(SettlementOrders, BesideAChangeOfThePlan) {
    const SettlingNode a(1, {{5, 8}});
    const SettlingNode b(2, {{5, 2}});
    expect_all_are_right(
        search(a, b, Changed::kOtherWindows, 0, kIsSlow ? CallOrders::Bound{} : kAnyFault));
}

/// 2·10^5 orders.
TEST_F(SettlementOrders, OfANodeWithALeaseBesideARevocation) {
    const SettlingNode a(1, {{5, 8}, {5, 2}, {5, 8}});
    const SettlingNode b(2, {});
    expect_all_are_right(search(a, b, Changed::kRevoked, 2, {.passes = kIsSlow ? 0U : 1U}));
}

/// 6,000 orders.
TEST_F(SettlementOrders, OfANodeWithALeaseBesideAChangeOfThePlan) {
    const SettlingNode a(1, {{5, 8}, {5, 2}, {5, 8}});
    const SettlingNode b(2, {});
    expect_all_are_right(search(a, b, Changed::kOtherWindows, 2, {}));
}

/// 15,000 orders.
TEST_F(SettlementOrders, OfANodeWithALeaseBesideALowerLimit) {
    SettlingNode a(1, {{5, 8}, {5, 8}, {5, 8}, {5, 8}});
    a.requests_end = false;
    const SettlingNode b(2, {});
    expect_all_are_right(search(a, b, Changed::kLowerLimit, 2, {.passes = kIsSlow ? 0U : 1U}));
}

/// The search finds this defect of the script.
TEST_F(SettlementOrders, AreWrongIfTheScriptIs) {
    const SettlingNode a(1, {{5, 8}});
    const SettlingNode b(2, {});
    expect_one_is_wrong(
        search(a, b, Changed::kRevoked, 0, {.passes = 1, .faults = 1, .breaks = true},
               {"applies = (tonumber(applied[1]) or 0) < report + 0", "applies = true"}));
}

}  // namespace
}  // namespace tollgate::engine::settlement_orders
