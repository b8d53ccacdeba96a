// Requests in flight are limited over the workers of a node, and over nodes.

#include "module/engine/in_flight/flights.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

/// Keys of the plan `free` have 1,000 requests a minute, and three at a time.
class FlightsTest : public EngineTest {
  protected:
    FlightsTest() {
        tables.front().plans.front().rates = {{1000, 60s}};
        tables.front().plans.front().in_flight = 3;
        add_key("k");
    }
    /// Sends up to `most` requests. Returns how many run.
    int begun(Worker& worker, int most) {
        int count = 0;
        for (int i = 0; i < most; ++i) {
            count += ask(worker, "k").status() == 0 ? 1 : 0;
        }
        return count;
    }
    /// The plan `own`.
    void add_custom_plan() {
        Plan& own = tables.front().plans.emplace_back();
        own.name = "own";
        own.kind = Plan::Kind::kCustom;
    }
    /// Gives the key `k` limits of that plan.
    void limit_to(Worker& worker, int in_flight) {
        add_key("k", "own", true, "1000r/m in_flight=" + std::to_string(in_flight));
        worker.engine.on_event(hex(sha256("k")));
    }
    void end_all() { requests.clear(); }
    void end_first() { requests.pop_front(); }
    std::int64_t places_in_redis() {
        std::int64_t sum = 0;
        for (const auto& [name, one] : redis.places) {
            sum += one.end > workers[0]->clock.wall() ? one.places : 0;
        }
        return sum;
    }
    /// Places that another node has.
    void take_elsewhere(std::int64_t count) {
        redis.places["k:api:other"] = {
            count, 1,
            workers[0]->clock.start +
                std::chrono::floor<std::chrono::milliseconds>(timeline.now()) + 10s};
    }
};

TEST_F(FlightsTest, LimitTheRequestsOfAllWorkers) {
    Worker& one = start();
    Worker& two = start();
    EXPECT_EQ(begun(one, 2), 2);
    EXPECT_EQ(begun(two, 2), 1);
    const Outcome& refused = requests.back()->outcome();
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.error.code, "too_many_in_flight");
    EXPECT_EQ(refused.retry_after, 1);
    EXPECT_EQ(refused.windows.size(), 1U) << "it shows the quota";
    end_first();
    EXPECT_EQ(begun(two, 2), 1) << "one has ended";
}

TEST_F(FlightsTest, NeedNoCallIfAPlaceIsFree) {
    Worker& worker = start();
    begun(worker, 1);
    end_all();
    const int calls = redis.flight_calls;
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(begun(worker, 1), 1);
        end_all();
    }
    EXPECT_EQ(redis.flight_calls, calls);
}

TEST_F(FlightsTest, ReturnPlacesThatAreNotUsed) {
    Worker& worker = start();
    begun(worker, 3);
    EXPECT_EQ(places_in_redis(), 3);
    end_first();
    end_first();
    run_for(3s);
    EXPECT_EQ(places_in_redis(), 1);
    end_all();
    run_for(3s);
    EXPECT_EQ(places_in_redis(), 0);
    EXPECT_EQ(begun(worker, 4), 3);
}

TEST_F(FlightsTest, RenewPlacesWhileRequestsRun) {
    Worker& worker = start();
    begun(worker, 2);
    for (int i = 0; i < 20; ++i) {
        run_for(2s);
        for (const auto& [name, one] : redis.places) {
            EXPECT_GT(one.end, worker.clock.wall() + 5s);
        }
        EXPECT_EQ(places_in_redis(), 2);
    }
}

TEST_F(FlightsTest, AreRefusedByThePlacesOfOtherNodes) {
    Worker& worker = start();
    take_elsewhere(2);
    EXPECT_EQ(begun(worker, 2), 1);
    redis.places.erase("k:api:other");
    run_for(100ms);
    EXPECT_EQ(begun(worker, 3), 2);
}

/// Each id waits for its own recalls, whenever those of another one end.
TEST_F(FlightsTest, WaitForTheRecalledPlacesOfEachId) {
    Worker& worker = start();
    add_key("m");
    EXPECT_EQ(begun(worker, 1), 1);
    EXPECT_EQ(ask(worker, "m").status(), 0);
    end_all();
    run_for(3s);
    take_elsewhere(3);
    redis.places["m:api:other"] = redis.places["k:api:other"];
    begin(worker, "k");
    run_for(6ms);
    const Request& later = begin(worker, "m");
    run_for(23ms);
    EXPECT_EQ(requests.front()->status(), 429);
    EXPECT_FALSE(later.outcome().is_decided()) << "two pauses of 10 ms";
    redis.places.erase("m:api:other");
    run_for(20ms);
    EXPECT_EQ(later.status(), 0);
}

TEST_F(FlightsTest, ReturnPlacesWhenTheyAreRecalled) {
    Worker& worker = start();
    begun(worker, 3);
    end_first();
    worker.engine.on_event("places:k");
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 2);
    EXPECT_EQ(begun(worker, 2), 1) << "it asks again";
}

TEST_F(FlightsTest, AreLimitedByALoweredLimitWhileTheyRun) {
    add_custom_plan();
    Worker& worker = start();
    limit_to(worker, 6);
    ASSERT_EQ(begun(worker, 6), 6);
    limit_to(worker, 3);
    for (int running = 6; running > 3; --running) {
        EXPECT_EQ(begun(worker, 1), 0) << running;
        end_first();
        run_for(100ms);
    }
    EXPECT_EQ(begun(worker, 1), 0) << "three run";
    end_first();
    run_for(100ms);
    EXPECT_EQ(begun(worker, 2), 1);
    run_for(3s);
    EXPECT_EQ(places_in_redis(), 3) << "the others are returned";
}

TEST_F(FlightsTest, AreLimitedByALoweredLimitWhileOtherNodesHaveMorePlaces) {
    add_custom_plan();
    Worker& worker = start();
    limit_to(worker, 6);
    take_elsewhere(3);
    ASSERT_EQ(begun(worker, 3), 3);
    limit_to(worker, 3);
    end_first();
    run_for(100ms);
    EXPECT_EQ(begun(worker, 1), 0) << "the other node has three places";
    redis.places.erase("k:api:other");
    run_for(100ms);
    EXPECT_EQ(begun(worker, 2), 1) << "two run";
}

TEST_F(FlightsTest, OfAKilledWorkerAreForgotten) {
    Worker& one = start();
    Worker& two = start();
    EXPECT_EQ(begun(one, 3), 3);
    zone->processes.erase(one.process.process());
    run_for(100ms);
    EXPECT_EQ(begun(two, 4), 3);
}

TEST_F(FlightsTest, OfAKilledWorkerAreReturnedByAnother) {
    Worker& one = start();
    Worker& two = start();
    begun(one, 3);
    zone->processes.erase(one.process.process());
    two.engine.on_event("places:k");
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 0);
}

/// The recall came while the worker had a request: nothing but its death frees the place.
TEST_F(FlightsTest, OfAKilledWorkerThatWereRecalledBeforeAreReturnedByAnother) {
    Worker& one = start();
    Worker& two = start();
    begun(one, 2);
    one.engine.on_event("places:k");
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 2);
    zone->processes.erase(one.process.process());
    drop_flights(*zone, std::array{one.process.process()});
    one.transport.reachable = false;
    two.transport.reachable = false;
    two.engine.flights().return_idle();
    run_for(600ms);
    EXPECT_EQ(places_in_redis(), 2);
    two.transport.reachable = true;
    run_for(2s);
    EXPECT_EQ(places_in_redis(), 0);
}

TEST_F(FlightsTest, OfAnotherWorkerMakeRoomForAnId) {
    Worker& one = start();
    Worker& two = start();
    int ids = 0;
    const auto next = [&] {
        std::string token = "m" + std::to_string(++ids);
        add_key(token);
        return token;
    };
    // Each record of the zone is that of an id with an unused place.
    while (ids < 2000) {
        ask(one, next());
        end_all();
    }
    EXPECT_GT(places_in_redis(), 0);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(ask(two, next()).status(), 0) << i;
        end_all();
    }
}

TEST_F(FlightsTest, LeaveNoRequestBehindAKilledWorker) {
    Worker& one = start();
    Worker& two = start();
    begun(one, 3);
    const FlightKey key{id_hash("k"), settings.name_hash, name_hash("api")};
    const auto has_record = [&] {
        const LockedStripe stripe(*zone, key.id);
        return stripe.flights().find(key).node() != nullptr;
    };
    zone->processes.erase(one.process.process());
    zone->workers().erase(one.process.number(), one.process.process());
    EXPECT_EQ(two.engine.flights().in_flight(key), 3);
    drop_flights(*zone, std::array{one.process.process()});
    EXPECT_TRUE(has_record()) << "its places are the node's";
    EXPECT_EQ(two.engine.flights().in_flight(key), 0);
}

TEST_F(FlightsTest, AreNotNeededByAFreeRequest) {
    Worker& worker = start();
    begun(worker, 3);
    EXPECT_EQ(ask(worker, "k", {.cost = 0}).status(), 0);
    EXPECT_EQ(requests.back()->admission.flights().front().requests, 3);
}

TEST_F(FlightsTest, DoNotKeepWaitersIfMemoryIsShort) {
    Worker& worker = start();
    ask(worker, "k");
    end_all();
    run_for(5s);
    for (int allowed = 0; allowed < 30; ++allowed) {
        Request& request =
            *requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
        allocations_left = allowed;
        request.admission.start("k");
        allocations_left = -1;
        run_for(200ms);
        EXPECT_TRUE(request.outcome().is_decided()) << allowed;
        end_all();
        run_for(5s);
    }
    EXPECT_EQ(begun(worker, 4), 3);
}

TEST_F(FlightsTest, AreReturnedByAWorkerThatExits) {
    for (const bool has_waiter : {false, true}) {
        Worker& worker = start();
        EXPECT_EQ(begun(worker, 3), 3);
        worker.transport.delay = [] { return Timeline::Time(10ms); };
        if (has_waiter) {
            begin(worker, "k");
        }
        worker.process.exiting = true;
        worker.engine.shut_down();
        while (!requests.empty()) {
            end_first();
        }
        for (int i = 0; i < 300 && !worker.transport.is_idle(); ++i) {
            run_for(1ms);
        }
        EXPECT_TRUE(worker.transport.is_idle()) << "it exits then";
        EXPECT_EQ(places_in_redis(), 0) << has_waiter;
    }
}

TEST_F(FlightsTest, LoseNoPlaceIfAReplyIsLost) {
    Worker& worker = start();
    ask(worker, "k");
    end_all();
    int lost = 3;
    worker.transport.choose_fate = [&](const redis::Call& call) {
        const bool is_lost = call.script == &redis::flight_script() && lost-- > 0;
        return is_lost ? SimulatedTransport::Fate::kUnanswered
                       : SimulatedTransport::Fate::kAnswered;
    };
    begun(worker, 3);
    EXPECT_LE(requests.size(), 3U);
    end_all();
    run_for(15s);
    EXPECT_EQ(places_in_redis(), 0);
    EXPECT_EQ(begun(worker, 4), 3);
}

// A worker waits for its reply for so long that another one returns the places and frees the
// record.
TEST_F(FlightsTest, AreNotThoseOfALateReply) {
    Worker& slow = start();
    Worker& other = start();
    ask(slow, "k");
    ask(other, "k");
    end_all();
    run_for(3s);
    ASSERT_EQ(places_in_redis(), 0);
    slow.transport.timeout = 5s;
    slow.transport.delay = [&] { return places_in_redis() == 1 ? 1500ms : 1ms; };
    Request& waiting = begin(slow, "k");
    run_for(10ms);
    ASSERT_EQ(places_in_redis(), 1);
    slow.transport.delay = [] { return 1ms; };
    EXPECT_EQ(begun(other, 1), 1);
    requests.pop_back();
    other.engine.on_event("places:k");
    run_for(1s);
    ASSERT_EQ(places_in_redis(), 0);
    ASSERT_EQ(waiting.status(), -1);
    take_elsewhere(3);
    run_for(1s);
    EXPECT_EQ(waiting.status(), 429) << "it has asked again";
    redis.places.erase("k:api:other");
    run_for(100ms);
    EXPECT_EQ(begun(slow, 4), 3);
}

TEST_F(FlightsTest, OfTwoKeysAreGivenToOneIfTheZoneHasOneRecordLeft) {
    zone_size = std::size_t{32} << 10U;
    Worker& one = start();
    Worker& two = start();
    for (int i = 0; i < 100; ++i) {
        const std::string id = "k" + std::to_string(i);
        add_key(id);
        if (ask(one, id).status() != 0) {
            EXPECT_EQ(requests.back()->status(), 503);
            requests.pop_back();
            break;
        }
    }
    for (auto* worker : {&one, &two}) {
        add_key(worker == &one ? "x" : "y");
        ask(*worker, worker == &one ? "x" : "y");  // looks the key up
        requests.pop_back();
    }
    end_first();
    run_for(15s);
    Request& first = begin(one, "x");
    run_for(1ms);
    Request& second = begin(two, "y");
    run_for(100ms);
    EXPECT_EQ(first.status(), 0) << "the record of a request that waits is its own";
    EXPECT_EQ(second.status(), 503);
}

/// Redis must not believe that the node has the places of a record that it needed for another key.
TEST_F(FlightsTest, ThatAreDisplacedAreReturned) {
    zone_size = std::size_t{32} << 10U;
    Worker& worker = start();
    for (int i = 0; i < 300; ++i) {
        const std::string id = "k" + std::to_string(i);
        add_key(id);
        EXPECT_EQ(ask(worker, id).status(), 0) << i;
        end_all();
    }
    EXPECT_LT(redis.places.size(), 100U) << "no more than the zone has records";
    run_for(3s);
    EXPECT_EQ(places_in_redis(), 0);
}

TEST_F(FlightsTest, ThatAreRecalledAreReturnedWhenTheirRequestEnds) {
    Worker& worker = start();
    begun(worker, 3);
    worker.engine.on_event("places:k");
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 3) << "all are used";
    run_for(3s);
    end_first();
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 2);
    EXPECT_EQ(begun(worker, 1), 1);
    end_first();
    run_for(10ms);
    EXPECT_EQ(places_in_redis(), 3) << "the recall has ended with the new place";
}

TEST_F(FlightsTest, AreLimitedByTheNodeAloneIfRedisRefusesTheCommand) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& worker = start();
    worker.transport.error_of = [](const redis::Call& call) {
        return call.script == &redis::flight_script() ? "NOPERM no permissions" : "";
    };
    EXPECT_EQ(begun(worker, 5), 3);
    EXPECT_EQ(requests.back()->outcome().error.code, "too_many_in_flight");
    EXPECT_EQ(requests.front()->outcome().verdict, Verdict::kGranted) << "Redis counts it";
    EXPECT_EQ(worker.log.lines.size(), 1U);
    EXPECT_TRUE(worker.transport.refused.empty());
}

/// A call for places that fails says nothing about the quota.
TEST_F(FlightsTest, ThatAreNotSharedLeaveTheQuotaToRedis) {
    Worker& worker = start();
    ask(worker, "k", {.cost = 0});
    worker.transport.choose_fate = [](const redis::Call& call) {
        return call.script == &redis::flight_script() ? SimulatedTransport::Fate::kUnsent
                                                      : SimulatedTransport::Fate::kAnswered;
    };
    EXPECT_EQ(begun(worker, 3), 3);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kGranted);
}

TEST_F(FlightsTest, HaveTheNodesShareInAnOutage) {
    Worker& worker = start();
    ask(worker, "k");
    end_all();
    redis.nodes["other"] = Instant::max();
    run_for(3s);
    worker.transport.reachable = false;
    EXPECT_EQ(begun(worker, 3), 1) << "one half of three";
    worker.transport.reachable = true;
    EXPECT_EQ(begun(worker, 3), 2) << "the request of the outage counts";
}

TEST_F(FlightsTest, AreDecidedByOnFailureInAnOutage) {
    settings.on_failure = FailurePolicy::kAllow;
    Worker& worker = start();
    ask(worker, "k");
    worker.transport.reachable = false;
    run_for(20s);
    EXPECT_EQ(begun(worker, 5), 5);
}

TEST_F(FlightsTest, ThatAreRefusedByTheQuotaGiveTheirPlaceBack) {
    tables.front().plans.front().rates = {{1, 60s}};
    Worker& worker = start();
    EXPECT_EQ(begun(worker, 6), 1);
    EXPECT_EQ(requests.back()->outcome().error.code, "rate_limit_exceeded");
}

TEST_F(FlightsTest, NeedAPlaceInEachTable) {
    PlanTable& second = add_table("second", {{1000, 60s}});
    second.plans.front().in_flight = 1;
    Worker& worker = start();
    EXPECT_EQ(begun(worker, 3), 1);
    end_first();
    EXPECT_EQ(begun(worker, 1), 1) << "the refused ones have no place in the first table";
}

/// Many workers and nodes with requests of random lengths, lost replies and kills: the requests of
/// all never exceed the limit.
TEST_F(FlightsTest, NeverExceedTheLimitWithCallsInAnyOrder) {
    Worker& one = start();
    Worker& two = start();
    std::uint32_t seed = 7;
    const auto draw = [&](std::uint32_t below) {
        seed = seed * 1'664'525U + 1'013'904'223U;
        return (seed >> 16U) % below;
    };
    for (Worker* worker : {&one, &two}) {
        worker->transport.delay = [&] { return Timeline::Time(1 + draw(30)); };
    }
    int most = 0;
    for (int i = 0; i < 3000; ++i) {
        if (draw(3) > 0) {
            begin(draw(2) == 0 ? one : two, "k");
        }
        while (requests.size() > 12 || (!requests.empty() && draw(3) == 0)) {
            requests.erase(requests.begin() + draw(static_cast<std::uint32_t>(requests.size())));
        }
        if (draw(200) == 0) {
            take_elsewhere(std::max<std::int64_t>(3 - places_in_redis(), 0));
        } else if (draw(50) == 0) {
            redis.places.erase("k:api:other");
        } else if (draw(20) == 0) {
            (draw(2) == 0 ? one : two).engine.on_event("places:k");
        }
        run_for(std::chrono::milliseconds(draw(40)));
        int running = 0;
        for (const auto& request : requests) {
            running += request->outcome().is_granted() ? 1 : 0;
        }
        const auto other = redis.places.find("k:api:other");
        const auto elsewhere = other == redis.places.end() ? std::int64_t{0} : other->second.places;
        ASSERT_LE(running + elsewhere, 3) << i;
        most = std::max(most, running);
    }
    EXPECT_EQ(most, 3);
}

// While a request waits for a place, the worker's entry of its key may become that of another id.
TEST_F(FlightsTest, ARequestThatWaitsIsCountedForItsOwnId) {
    add_key("b");
    Worker& worker = start();
    const auto ask_often = [&](int times) {
        int granted = 0;
        for (int i = 0; i < times; ++i) {
            granted += ask(worker, "k").status() == 0 ? 1 : 0;
            requests.back().reset();
            requests.pop_back();
            run_for(2ms);
        }
        return granted;
    };
    EXPECT_EQ(ask_often(3), 3) << "the worker knows the key";
    worker.engine.on_event("places:k");
    run_for(50ms);
    ASSERT_EQ(places_in_redis(), 0);
    worker.transport.timeout = 2000ms;
    worker.transport.delay = [] { return SimulatedTransport::Milliseconds(450); };
    Request& waiting = begin(worker, "k");
    worker.transport.delay = [] { return SimulatedTransport::Milliseconds(1); };
    run_for(1ms);
    ASSERT_EQ(waiting.status(), -1) << "it waits for a place";
    redis.records.at(settings.keys.key(hex(sha256("k")))).id = "b";
    worker.engine.on_event(hex(sha256("k")));
    requests.emplace_back();  // so that `waiting` is not the last one
    int granted = 0;
    for (int i = 0; i < 1000 && waiting.status() == -1; ++i) {
        granted += ask_often(1);
    }
    EXPECT_EQ(waiting.status(), 0);
    EXPECT_GT(granted, 100) << "the entry of the key has a slice";
    requests.clear();
    run_for(20s);
    EXPECT_EQ(counted("k"), 4);
    EXPECT_EQ(counted("b"), granted);
}

}  // namespace
}  // namespace tollgate::engine
