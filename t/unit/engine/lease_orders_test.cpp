// Two nodes that lease units of an id, over a Redis with the real scripts: every order of their
// events and calls within a bound.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "module/redis/protocol/script.hpp"
#include "t/unit/engine/call_orders.hpp"
#include "t/unit/engine/call_orders_results.hpp"

namespace tollgate::engine::lease_orders {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLimit = 24;
/// See Acquire::lease.
constexpr std::int64_t kMostLease = kLimit / 8;

/// A node with requests of these costs.
class LeaseNode : public OrderedNodeSetup {
  public:
    LeaseNode(std::uint64_t number, const std::vector<std::int64_t>& costs) {
        id = number;
        Plan& plan = table.plans.emplace_back();
        plan.name = "free";
        plan.rates = {{kLimit, 3600s}};
        ordered = {&redis::acquire_script()};
        requests_end = false;
        for (const auto cost : costs) {
            requests.push_back({.cost = cost});
        }
    }
};

class LeaseJudge final : public CallOrders::Judge {
  public:
    explicit LeaseJudge(const CallOrders& orders) : orders_(orders) {}

    std::string step(const CallOrders::World& world) const override {
        const auto units = granted(world);
        if (units > kLimit) {
            return std::to_string(units) + " units are granted";
        }
        const auto count = counted(world);
        if (count > kLimit) {
            return std::to_string(count) + " units are counted";
        }
        return count < units ? std::to_string(units) + " units are granted, " +
                                   std::to_string(count) + " are counted"
                             : std::string();
    }

    std::string end(const CallOrders::World& world) const override {
        if (std::string held = held_at_end(orders_, world); !held.empty()) {
            return held;
        }
        for (const auto& [name, hash] : orders_.data(world)) {
            if (hash.ends < 0) {
                return name + " stays";
            }
        }
        const auto lost = counted(world) - granted(world);
        return lost < 0 || lost > may_lose(world) ? std::to_string(lost) + " units are lost"
                                                  : std::string();
    }

  private:
    /// The units that nodes may have lost: with a lost reply those of its requests, and those that
    /// it returned. A lease that came with them is taken back, unless another call may
    /// have leased units since.
    /// What a killed node held may be from each of its calls.
    std::int64_t may_lose(const CallOrders::World& world) const {
        std::int64_t units = 0;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const auto& node = world.nodes[i];
            const auto& calls = orders_.view(world, i).calls;
            for (std::size_t call = 0; node.is_killed && call < calls.size(); ++call) {
                units += units_lost_with(*calls[call].call) + kMostLease;
            }
            for (const std::size_t call : node.lost) {
                units += units_lost_with(*calls[call].call);
                units += leases_besides(world, i, call) ? kMostLease : 0;
            }
        }
        return units;
    }
    bool leases_besides(const CallOrders::World& world, std::size_t i, std::size_t lost) const {
        for (std::size_t node = 0; node < world.nodes.size(); ++node) {
            const auto& calls = orders_.view(world, node).calls;
            for (std::size_t call = 0; call < calls.size(); ++call) {
                if (node == i && call == lost) {
                    continue;
                }
                for (const auto& one : SimulatedRedis::asked_in(*calls[call].call)) {
                    if (one.acquire.lease > 0) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
    std::int64_t granted(const CallOrders::World& world) const {
        std::int64_t units = 0;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const NodeView& seen = orders_.view(world, i);
            for (std::size_t request = 0; request < seen.requests.size(); ++request) {
                units += seen.shown[request] == 0 ? 0 : orders_.setup(i).requests[request].cost;
            }
        }
        return units;
    }
    std::int64_t counted(const CallOrders::World& world) const {
        const auto& data = orders_.data(world);
        const auto quota = data.find("t:quota:{k}:api");
        return quota == data.end() ? 0 : std::stoll(quota->second.fields.at("3600.count"));
    }

    const CallOrders& orders_;
};

class LeaseOrders : public testing::Test {
  protected:
    static CallOrders::Result search(const OrderedNodeSetup& a, const OrderedNodeSetup& b,
                                     const CallOrders::Bound& bound,
                                     ScriptAutomaton::Mutant mutant = {}) {
        ScriptAutomaton redis(std::move(mutant));
        CallOrders orders({&a, &b}, redis);
        // So that its next request asks for a lease.
        using Kind = CallOrders::Event::Kind;
        orders.begin_with({{Kind::kBegin, 0, 0}, {Kind::kBegin, 0, 1}});
        return orders.run(bound, LeaseJudge(orders));
    }
};

/// 2·10^7 orders: B finds the units in A's lease, and A returns them.
TEST_F(LeaseOrders, OfALeaseAndItsReturn) {
    const LeaseNode a(1, {1, 1, 1, 1});
    const LeaseNode b(2, {20, 20});
    expect_all_are_right(search(a, b, {.passes = kIsSlow ? 0U : 1U}));
}

/// 40,000 orders.
TEST_F(LeaseOrders, WithAFault) {
    const LeaseNode a(1, {1, 1, 1});
    const LeaseNode b(2, {20});
    expect_all_are_right(search(a, b, with_passes(kAnyFault, kIsSlow ? 0 : 1)));
}

/// 10^5 orders.
TEST_F(LeaseOrders, WithALostReplyAndMoreTime) {
    const LeaseNode a(1, {1, 1, 1});
    const LeaseNode b(2, {20});
    expect_all_are_right(
        search(a, b, {.passes = kIsSlow ? 1U : 2U, .faults = 1, .kills = true, .breaks = true}));
}

/// The search finds these defects of the script.
TEST_F(LeaseOrders, AreWrongIfTheScriptIs) {
    const LeaseNode a(1, {1, 1, 1});
    const LeaseNode b(2, {20});
    const CallOrders::Bound bound{.passes = 2, .faults = 1, .breaks = true};
    expect_one_is_wrong(search(
        a, b, bound, {"applies = (tonumber(applied[1]) or 0) < report + 0", "applies = true"}));
    expect_one_is_wrong(search(a, b, bound, {"units + by,", "units + 2 * by,"}));
}

}  // namespace
}  // namespace tollgate::engine::lease_orders
