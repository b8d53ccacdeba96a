// Two nodes that share the places of an id, over a Redis with the real scripts: every order of
// their events and calls within a bound.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "module/redis/protocol/flight_call.hpp"
#include "t/unit/engine/call_orders.hpp"
#include "t/unit/engine/call_orders_results.hpp"

namespace tollgate::engine::place_orders {
namespace {

using namespace std::chrono_literals;

/// A node whose requests need a place each.
class PlaceNode : public OrderedNodeSetup {
  public:
    PlaceNode(std::uint64_t number, std::size_t count, std::int64_t limit) {
        id = number;
        Plan& plan = table.plans.emplace_back();
        plan.name = "free";
        plan.rates = {{1'000'000, 3600s}};
        plan.in_flight = limit;
        table.lease_time = 0ms;
        ordered = {&redis::flight_script()};
        requests.resize(count);
    }
};

class PlaceJudge final : public CallOrders::Judge {
  public:
    PlaceJudge(const CallOrders& orders, std::int64_t limit) : orders_(orders), limit_(limit) {
        for (std::size_t i = 0; i < names_.size(); ++i) {
            names_.at(i) = SimulatedZone(orders.setup(i).id).node_name();
        }
    }

    std::string step(const CallOrders::World& world) const override {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const auto running = run(world, i);
            const auto given = places(world, i).of_nodes;
            if (running > given) {
                return std::to_string(running) + " requests run at a node, which has " +
                       std::to_string(given) + " places";
            }
            sum += running;
        }
        if (sum > limit_) {
            return std::to_string(sum) + " requests run";
        }
        const Places given = places(world);
        if (given.of_nodes > limit_) {
            return std::to_string(given.of_nodes) + " places are given";
        }
        if (given.last_call >= given.first_end) {
            return "places have ended, and stay";
        }
        return given.sum && *given.sum != given.of_nodes
                   ? std::to_string(given.of_nodes) + " places are given, the sum says " +
                         std::to_string(*given.sum)
                   : std::string();
    }

    std::string end(const CallOrders::World& world) const override {
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const NodeView& seen = orders_.view(world, i);
            if (world.nodes[i].is_killed) {
                continue;
            }
            for (const auto request : seen.requests) {
                if (request == NodeView::Request::kWaits) {
                    return "a request waits for ever";
                }
            }
            if (seen.flights != 0) {
                return "a record of a node stays";
            }
        }
        for (const auto& [name, hash] : orders_.data(world)) {
            if (hash.ends < 0 || hash.ends > now(world)) {
                return name + " stays";
            }
        }
        return {};
    }

  private:
    static std::int64_t now(const CallOrders::World& world) {
        return CallOrders::time_of(world).time_since_epoch().count();
    }
    /// The requests of the id `k` that run at a node. Those that ran when it stalled do not count:
    /// others have their places.
    std::int64_t run(const CallOrders::World& world, std::size_t i) const {
        const auto& requests = orders_.view(world, i).requests;
        std::int64_t running = 0;
        for (std::size_t request = 0; request < requests.size(); ++request) {
            const bool counts = !world.nodes[i].is_killed &&
                                orders_.setup(i).requests[request].id == "k" &&
                                !world.nodes[i].stale.contains(request) &&
                                requests[request] == NodeView::Request::kRuns;
            running += counts ? 1 : 0;
        }
        return running;
    }

    /// In Redis: see scripts/flight.lua.
    struct Places {
        std::int64_t of_nodes = 0;
        std::optional<std::int64_t> sum{};  ///< nothing: it has to be computed again
        std::int64_t last_call = 0;         ///< ms
        std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    };
    /// Those of a node, or of all.
    Places places(const CallOrders::World& world, std::optional<std::size_t> node = {}) const {
        Places found;
        const auto& data = orders_.data(world);
        if (const auto hash = data.find("t:flight:{k}"); hash != data.end()) {
            for (const auto& [field, value] : hash->second.fields) {
                std::istringstream text(value);
                std::int64_t places = 0;
                std::int64_t second = 0;
                std::int64_t ends = 0;
                text >> places >> second >> ends;
                if (field.find(':') == std::string::npos) {
                    found.sum = second > now(world) ? std::optional(places) : std::nullopt;
                } else if (!node || field.find(names_.at(*node)) != std::string::npos) {
                    found.of_nodes += ends > now(world) ? places : 0;
                    found.last_call = std::max(found.last_call, second / 1000);
                    found.first_end = std::min(found.first_end, ends);
                }
            }
        }
        return found;
    }

    const CallOrders& orders_;
    std::int64_t limit_;
    std::array<std::string, 2> names_;  ///< of the nodes, in Redis
};

/// Only one record of places is free: requests of other ids, which last, have the others.
void leave_one_record(SimulatedZone& zone) {
    constexpr std::uint32_t kProcess = 999;
    zone.processes.insert(kProcess);
    const auto name_of = [](const std::string& id) {
        return FlightName{{id_hash(id), name_hash("main"), name_hash("api")}, IdText(id)};
    };
    const LockedStripe stripe(zone, StripeNumber{0});
    ASSERT_EQ(zone.stripes(), 1U);
    const FlightRecords& records = stripe.flights();
    std::vector<std::string> others;
    for (int i = 0; i < 300; ++i) {
        others.push_back("o" + std::to_string(i));
        if (!records.find_or_make(name_of(others.back())).add(kProcess, 1)) {
            others.pop_back();
        }
    }
    const auto has_room = [&](const std::string& id) {
        Flight flight = records.find_or_make(name_of(id));
        if (flight.node() == nullptr) {
            return false;
        }
        flight.free();
        return true;
    };
    for (const auto& other : others) {
        Flight flight = records.find(name_of(other).key);
        flight.add(kProcess, -1);
        flight.free();
        if (has_room("k") && has_room("x")) {
            return;
        }
        records.find_or_make(name_of(other)).add(kProcess, 1);
    }
    FAIL() << "no record serves both ids";
}

class PlaceOrders : public testing::Test {
  protected:
    static CallOrders::Result search(const OrderedNodeSetup& a, const OrderedNodeSetup& b,
                                     const CallOrders::Bound& bound,
                                     ScriptAutomaton::Mutant mutant = {}) {
        ScriptAutomaton redis(std::move(mutant));
        CallOrders orders({&a, &b}, redis);
        return orders.run(bound, PlaceJudge(orders, a.table.plans.front().in_flight));
    }
};

/// 4·10^9 orders.
TEST_F(PlaceOrders, OfTwoRequestsOfEachNode) {
    const PlaceNode a(1, kIsSlow ? 1 : 2, 2);
    const PlaceNode b(2, 2, 2);
    expect_all_are_right(search(a, b, {}));
}

/// 4·10^7 orders.
TEST_F(PlaceOrders, WithOnePlaceAndTime) {
    const PlaceNode a(1, kIsSlow ? 1 : 2, 1);
    const PlaceNode b(2, 1, 1);
    expect_all_are_right(search(a, b, {.passes = 1}));
}

/// 70,000 orders: places are renewed.
TEST_F(PlaceOrders, WithMoreTime) {
    const PlaceNode a(1, 1, 2);
    const PlaceNode b(2, 1, 2);
    expect_all_are_right(search(a, b, {.passes = kIsSlow ? 1U : 2U}));
}

/// 4·10^6 orders.
TEST_F(PlaceOrders, WithOnePlaceAndAFault) {
    const PlaceNode a(1, kIsSlow ? 1 : 2, 1);
    const PlaceNode b(2, 1, 1);
    expect_all_are_right(
        search(a, b, {.faults = 1, .kills = true, .breaks = true, .leaves = true}));
}

/// 2·10^5 orders.
TEST_F(PlaceOrders, WithTimeAndAFault) {
    const PlaceNode a(1, 1, 2);
    const PlaceNode b(2, 1, 2);
    expect_all_are_right(search(a, b, with_passes(kAnyFault, kIsSlow ? 0 : 1)));
}

/// 10^7 orders.
TEST_F(PlaceOrders, OfTwoWorkersOfANodeOneOfWhichIsKilled) {
    PlaceNode a(1, 2, 1);
    a.workers = 2;
    a.requests.back().worker = 1;
    const PlaceNode b(2, kIsSlow ? 0 : 1, 1);
    expect_all_are_right(search(a, b, {.faults = 1, .kills = true}));
}

/// 7·10^6 orders.
TEST_F(PlaceOrders, ThatAnotherIdDisplaces) {
    PlaceNode a(1, 2, 1);
    a.requests.back().id = "x";
    a.zone_size = std::size_t{32} << 10U;
    a.prepare = leave_one_record;
    const PlaceNode b(2, 1, 1);
    expect_all_are_right(search(a, b, {.passes = kIsSlow ? 0U : 1U}));
}

/// The search finds these defects of the script.
TEST_F(PlaceOrders, AreWrongIfTheScriptIs) {
    PlaceNode a(1, 2, 1);
    a.workers = 2;
    a.requests.back().worker = 1;
    const PlaceNode b(2, 1, 1);
    expect_one_is_wrong(search(a, b, {}, {"ARGV[8] == own_version", "true"}));
    expect_one_is_wrong(search(a, b, {}, {"limit - others", "limit"}));
    const PlaceNode c(1, 1, 2);
    const PlaceNode d(2, 1, 2);
    CallOrders::Bound stalls{.passes = 1, .faults = 1, .stalls = true};
    expect_one_is_wrong(
        search(c, d, stalls, {"if table_name and ends <= now then", "if false then"}));
    expect_one_is_wrong(search(c, d, stalls, {"math.min(checked, ends)", "checked"}));
}

}  // namespace
}  // namespace tollgate::engine::place_orders
