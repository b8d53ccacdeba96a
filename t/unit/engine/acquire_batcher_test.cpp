// Batches of acquires, and what their replies, errors and failures do to waiters and to the zone.

#include "module/engine/quota/acquire_batcher.hpp"

#include "module/quota/lease.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class AcquireBatcherTest : public EngineTest {
  protected:
    /// A worker that has these keys in its cache. The calls so far do not count.
    Worker& start_with_keys(int keys) {
        for (int i = 0; i < keys; ++i) {
            add_key("k" + std::to_string(i));
        }
        Worker& worker = start();
        for (int i = 0; i < keys; ++i) {
            begin(worker, "k" + std::to_string(i), {.cost = 0});
        }
        run_for(50ms);
        requests.clear();
        worker.transport.calls = 0;
        return worker;
    }
    /// A worker that has a lease for the key `k0`.
    Worker& start_with_lease() {
        Worker& worker = start_with_keys(1);
        for (int i = 0; i < 20; ++i) {
            ask(worker, "k0");
            run_for(50ms);
        }
        return worker;
    }
    void spend_lease(Worker& worker) {
        while (state("k0").lease > 0) {
            begin(worker, "k0");
        }
    }
    std::string reply_to_all(const std::string& reply) {
        for (auto& worker : workers) {
            worker->transport.replace_reply = [reply](const redis::Call& call) {
                return call.script == &redis::acquire_script() ? std::optional(reply)
                                                               : std::nullopt;
            };
        }
        return reply;
    }
    int statuses(int status) const {
        return static_cast<int>(std::ranges::count_if(
            requests, [&](const auto& request) { return request->status() == status; }));
    }
};

TEST_F(AcquireBatcherTest, TheKeysOfATurnShareACall) {
    Worker& worker = start_with_keys(5);
    for (int i = 0; i < 5; ++i) {
        begin(worker, "k" + std::to_string(i));
    }
    run_for(5ms);
    EXPECT_EQ(worker.transport.calls, 1);
    EXPECT_EQ(statuses(0), 5);
}

// Other workers wait while a worker holds a lock.
TEST_F(AcquireBatcherTest, ACallHoldsALockForOneKeyAtATime) {
    constexpr int kKeys = 32;
    zone_size = std::size_t{256} << 10U;
    Worker& worker = start_with_keys(kKeys);
    for (int i = 0; i < kKeys; ++i) {
        begin(worker, "k" + std::to_string(i));
    }
    const int before = zone->locks();
    run_for(5ms);
    EXPECT_EQ(worker.transport.calls, 1);
    EXPECT_EQ(statuses(0), kKeys);
    // For the reply. The call needs nothing of the zone.
    EXPECT_GE(zone->locks() - before, kKeys);
    EXPECT_LT(zone->locks() - before, 2 * kKeys);
}

TEST_F(AcquireBatcherTest, ACallHasAtMost32Keys) {
    zone_size = std::size_t{256} << 10U;
    Worker& worker = start_with_keys(33);
    for (int i = 0; i < 33; ++i) {
        begin(worker, "k" + std::to_string(i));
    }
    run_for(5ms);
    EXPECT_EQ(worker.transport.calls, 2);
    EXPECT_EQ(statuses(0), 33);
}

TEST_F(AcquireBatcherTest, NoRequestOfAKeyWithALeaseWaitsForRedis) {
    tables[0].plans[0].rates = {{10'000, 60s}};
    Worker& worker = start_with_keys(1);
    // Ten a second: the lease is for ten.
    int waited = 0;
    for (int i = 0; i < 100; ++i) {
        const auto& request = begin(worker, "k0");
        waited += i >= 20 && !request.outcome().is_decided() ? 1 : 0;
        run_for(100ms);
    }
    EXPECT_EQ(statuses(0), 100);
    EXPECT_EQ(waited, 0);
    EXPECT_LT(worker.transport.calls, 40);
    run_for(3s);
    EXPECT_EQ(counted("k0"), 100) << "the rest is returned";
}

TEST_F(AcquireBatcherTest, RenewalsOfManyKeysShareACall) {
    zone_size = std::size_t{256} << 10U;
    tables[0].plans[0].rates = {{10'000, 60s}};
    constexpr int kKeys = 30;
    Worker& worker = start_with_keys(kKeys);
    const auto round = [&] {
        for (int i = 0; i < kKeys; ++i) {
            begin(worker, "k" + std::to_string(i));
            run_for(1ms);
        }
        run_for(100ms - kKeys * 1ms);
    };
    for (int i = 0; i < 20; ++i) {
        round();
    }
    worker.transport.calls = 0;
    for (int i = 0; i < 50; ++i) {
        round();
    }
    EXPECT_EQ(statuses(0), 70 * kKeys);
    // 5 s, of which each lease lasts for three.
    EXPECT_LT(worker.transport.calls, kKeys) << "at least one for each key without it";
    EXPECT_GT(worker.transport.calls, 0);
}

TEST_F(AcquireBatcherTest, ARequestDoesNotWaitForTheRenewalsOfATick) {
    tables[0].plans[0].rates = {{10'000, 60s}};
    Worker& worker = start_with_lease();
    spend_lease(worker);
    // The renewal waits for its tick.
    const Request& request = begin(worker, "k0");
    EXPECT_FALSE(request.outcome().is_decided());
    run_for(3ms);
    EXPECT_EQ(request.status(), 0);
    EXPECT_GT(state("k0").lease, 0) << "its call brought the lease";
    const auto calls = worker.transport.calls;
    run_for(2 * kMostRenewalWait);
    EXPECT_EQ(worker.transport.calls, calls) << "there is nothing left to renew";
}

TEST_F(AcquireBatcherTest, AWorkerThatExitsRenewsNoLease) {
    tables[0].plans[0].rates = {{10'000, 60s}};
    Worker& worker = start_with_lease();
    worker.process.exiting = true;
    spend_lease(worker);
    EXPECT_TRUE(worker.engine.quotas().acquires.is_idle()) << "its last settlement goes on";
}

TEST_F(AcquireBatcherTest, NoLeaseIsRenewedInAnOutage) {
    tables[0].plans[0].rates = {{10'000, 60s}};
    Worker& worker = start_with_lease();
    spend_lease(worker);
    EXPECT_FALSE(worker.engine.quotas().acquires.is_idle());
    worker.transport.reachable = false;
    const auto calls = worker.transport.calls;
    run_for(20ms);
    EXPECT_EQ(worker.transport.calls, calls);
    EXPECT_TRUE(worker.engine.quotas().acquires.is_idle());
}

// Another location, without a ban, may have brought the lease.
TEST_F(AcquireBatcherTest, ARenewalThatRedisDidNotExecuteLosesNoStrikes) {
    ban = BanPolicy{9, 1min, 10min, 24h};
    tables[0].plans[0].rates = {{10'000, 60s}};
    Worker& worker = start_with_keys(2);
    for (int i = 0; i < 20; ++i) {
        ask(worker, "k0");
        ask(worker, "k1");
        run_for(50ms);
    }
    for (const char* const id : {"k0", "k1"}) {
        while (state(id).lease > 1) {
            begin(worker, id);
        }
        QuotaState held = state(id);
        held.ban = {.until = {}, .strikes = 2, .struck_since = worker.engine.steady_time()};
        save(id, held);
    }
    std::int64_t strikes = 0;
    int refused = 0;
    worker.transport.error_of = [&](const redis::Call& call) -> std::string {
        return call.script == &redis::acquire_script() && refused++ == 0 ? "CROSSSLOT x" : "";
    };
    worker.transport.on_executed = [&](const auto& executed) {
        for (const auto& one : executed) {
            strikes += one.acquire.strikes;
        }
    };
    EXPECT_EQ(begin(worker, "k0").status(), 0);
    EXPECT_EQ(begin(worker, "k1").status(), 0);
    run_for(kMostRenewalWait + 10ms);
    EXPECT_GE(refused, 1);
    EXPECT_EQ(strikes, 4);
}

TEST_F(AcquireBatcherTest, RequestsOfAKeyThatComeDuringItsCallShareTheNext) {
    Worker& worker = start_with_keys(1);
    begin(worker, "k0");
    run_for(0ms);
    for (int i = 0; i < 12; ++i) {
        begin(worker, "k0");
    }
    run_for(10ms);
    EXPECT_EQ(worker.transport.calls, 2);
    EXPECT_EQ(statuses(0), 10);
    EXPECT_EQ(statuses(429), 3);
    EXPECT_EQ(requests[0]->outcome().windows[0].remaining, 9);
    EXPECT_EQ(requests[1]->outcome().windows[0].remaining, 8) << "as it left the window";
}

TEST_F(AcquireBatcherTest, RequestsOfDifferentCostAreDifferentGroups) {
    Worker& worker = start_with_keys(1);
    begin(worker, "k0", {.cost = 1});
    begin(worker, "k0", {.cost = 3});
    run_for(5ms);
    EXPECT_EQ(worker.transport.calls, 1);
    EXPECT_EQ(counted("k0"), 4);
}

TEST_F(AcquireBatcherTest, AHotKeyIsLeased) {
    tables[0].plans[0].rates = {{100'000, 60s}};
    Worker& worker = start_with_keys(1);
    for (int i = 0; i < 400; ++i) {
        for (int j = 0; j < 4; ++j) {
            begin(worker, "k0");
        }
        run_for(1ms);
    }
    run_for(10ms);
    EXPECT_EQ(statuses(0), 1600);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), 1000);
    EXPECT_LT(worker.transport.calls, 150);
    run_for(kLeaseTime + 1s);
    EXPECT_EQ(counted("k0"), 1600) << "the idle lease went back";
}

TEST_F(AcquireBatcherTest, UnitsOfRequestsThatEndedBecomeALease) {
    tables[0].plans[0].rates = {{100, 60s}};
    Worker& worker = start_with_keys(1);
    for (int i = 0; i < 6; ++i) {
        begin(worker, "k0");
    }
    run_for(0ms);
    requests.resize(2);
    run_for(5ms);
    EXPECT_EQ(counted("k0"), 6);
    EXPECT_EQ(state("k0").lease, 4);
    EXPECT_EQ(granted(worker, "k0", 4), 4);
    EXPECT_EQ(counted("k0"), 6);
}

TEST_F(AcquireBatcherTest, UnitsOfRequestsThatEndedGoBackWithoutLeases) {
    tables[0].lease_time = 0ms;
    Worker& worker = start_with_keys(1);
    for (int i = 0; i < 6; ++i) {
        begin(worker, "k0");
    }
    run_for(0ms);
    requests.resize(2);
    run_for(1s);
    EXPECT_EQ(counted("k0"), 2);
}

TEST_F(AcquireBatcherTest, AnErrorOfOneKeyIsItsOwn) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& worker = start_with_keys(2);
    redis.errors["k0"] = "WRONGTYPE not a hash";
    for (int i = 0; i < 3; ++i) {
        begin(worker, "k0");
        begin(worker, "k1");
        run_for(5ms);
    }
    EXPECT_EQ(statuses(503), 3);
    EXPECT_EQ(statuses(0), 3);
    EXPECT_EQ(statistics["errors"].value(), 3);
    ASSERT_EQ(worker.log.lines.size(), 1U) << "one line a second";
    EXPECT_EQ(worker.log.lines[0], "redis \"main\": WRONGTYPE not a hash");
    run_for(1s);
    ask(worker, "k0");
    EXPECT_EQ(worker.log.lines.back(),
              "redis \"main\": WRONGTYPE not a hash (2 errors were left out since the last line)");
}

TEST_F(AcquireBatcherTest, AServersErrorIsTheTransports) {
    Worker& worker = start_with_keys(1);
    reply_to_all("-OOM command not allowed\r\n");
    EXPECT_EQ(ask(worker, "k0").outcome().verdict, Verdict::kDegraded);
    ASSERT_EQ(worker.transport.refused.size(), 1U);
    EXPECT_TRUE(worker.log.lines.empty());
}

TEST_F(AcquireBatcherTest, AClusterGetsOneKeyACall) {
    Worker& worker = start_with_keys(3);
    worker.transport.replace_reply = [](const redis::Call& call) -> std::optional<std::string> {
        const bool is_acquire = call.script == &redis::acquire_script();
        return is_acquire && SimulatedRedis::asked_in(call).size() > 1
                   ? std::optional<std::string>("-CROSSSLOT Keys in request don't hash\r\n")
                   : std::nullopt;
    };
    // The simulated Redis has executed the calls that it refuses here: only their number matters.
    for (int i = 0; i < 3; ++i) {
        begin(worker, "k" + std::to_string(i));
    }
    run_for(10ms);
    EXPECT_EQ(statuses(0), 3);
    EXPECT_EQ(worker.transport.calls, 4);
}

class ClusterTest : public EngineTest {
  protected:
    ClusterTest() { settings.is_cluster = true; }

    /// An id whose slot is in the upper half, like the slot of "k0", or in the lower half.
    std::string id_in(bool upper_half) {
        for (;;) {
            auto id = "k" + std::to_string(next_++);
            if ((redis::key_slot(id) >= redis::kSlots / 2) == upper_half) {
                add_key(id);
                return id;
            }
        }
    }

    int next_ = 0;
};

TEST_F(ClusterTest, TheKeysOfACallAreInItsSlot) {
    Worker& worker = start();
    constexpr int kIds = 20;
    std::vector<std::string> ids;
    ids.reserve(kIds);
    for (int i = 0; i < kIds; ++i) {
        ids.push_back(id_in(i % 2 == 0));
    }
    for (int round = 0; round < 2; ++round) {
        for (const auto& id : ids) {
            begin(worker, id);
        }
        run_for(50ms);
    }
    for (const auto& request : requests) {
        EXPECT_EQ(request->status(), 0);
    }
    EXPECT_TRUE(worker.transport.keys_are_in_slots);
    EXPECT_EQ(counted(ids.front()), 2);
}

TEST_F(ClusterTest, IdsOfOneSlotShareACall) {
    Worker& worker = start();
    add_key("k1");
    std::string other;
    for (int i = 0; other.empty(); ++i) {
        const auto id = "x" + std::to_string(i);
        other = redis::key_slot(id) == redis::key_slot("k1") ? id : "";
    }
    add_key(other);
    granted(worker, "k1", 1);
    granted(worker, other, 1);
    const auto calls = worker.transport.calls;
    begin(worker, "k1");
    begin(worker, other);
    run_for(10ms);
    EXPECT_EQ(requests.back()->status(), 0);
    EXPECT_EQ(worker.transport.calls, calls + 1);
}

TEST_F(ClusterTest, AMasterThatIsUnreachableConcernsItsSlotsOnly) {
    Worker& worker = start();
    const auto lost = id_in(true);
    const auto served = id_in(false);
    EXPECT_EQ(granted(worker, lost, 1), 1);
    EXPECT_EQ(granted(worker, served, 1), 1);
    worker.transport.unreachable_slots = {redis::key_slot(lost)};
    EXPECT_EQ(ask(worker, lost).outcome().verdict, Verdict::kDegraded);
    EXPECT_EQ(ask(worker, served).outcome().verdict, Verdict::kGranted);
    run_for(2s);
    EXPECT_EQ(counted(lost), 1) << "owed";
    worker.transport.unreachable_slots.clear();
    run_for(2s);
    EXPECT_EQ(counted(lost), 2) << "settled";
    EXPECT_EQ(counted(served), 2);
    EXPECT_TRUE(worker.transport.keys_are_in_slots);
}

TEST_F(ClusterTest, EachMasterHasItsOwnClock) {
    Worker& worker = start();
    worker.engine.observe_time(0, 0us, 1us, ExactInstant(5s));
    const auto at = [&](redis::Slot slot) {
        return worker.engine.redis_clock(slot).at(1us, Instant(9s)).earliest;
    };
    EXPECT_LT(at(1), Instant(6s));
    EXPECT_EQ(at(redis::kSlots - 1), Instant(9s)) << "not known yet";
}

TEST_F(AcquireBatcherTest, ALateCallIsSentOnceMore) {
    Worker& worker = start_with_keys(1);
    int calls = 0;
    worker.transport.timeout = 10s;
    worker.transport.delay = [&] { return calls++ == 0 ? 300ms : 1ms; };
    begin(worker, "k0");
    run_for(1s);
    EXPECT_EQ(statuses(0), 1);
    EXPECT_EQ(worker.transport.calls, 2);
    EXPECT_EQ(counted("k0"), 1);
    EXPECT_EQ(requests[0]->outcome().verdict, Verdict::kGranted);
}

TEST_F(AcquireBatcherTest, ACallThatIsLateTwiceFails) {
    Worker& worker = start_with_keys(1);
    worker.transport.timeout = 10s;
    worker.transport.delay = [] { return 300ms; };
    begin(worker, "k0");
    run_for(3s);
    EXPECT_EQ(requests[0]->outcome().verdict, Verdict::kDegraded);
    worker.transport.delay = [] { return 1ms; };
    run_for(2s);
    EXPECT_EQ(counted("k0"), 1) << "it is reported later";
}

TEST_F(AcquireBatcherTest, AReplyThatIsNoneFails) {
    Worker& worker = start_with_keys(1);
    for (const char* reply : {"*0\r\n", "*1\r\n$3\r\nabc\r\n", "*1\r\n:1\r\n"}) {
        reply_to_all(reply);
        EXPECT_EQ(ask(worker, "k0").outcome().verdict, Verdict::kDegraded) << reply;
    }
    EXPECT_EQ(worker.log.lines.front(), "redis \"main\": unexpected reply");
}

TEST_F(AcquireBatcherTest, ALostReplyOfAReportIsCountedOnce) {
    tables[0].plans[0].rates = {{1000, 3600s}};
    Worker& worker = start_with_keys(1);
    ask(worker, "k0");
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, "k0", 50), 50);
    worker.transport.reachable = true;
    int lost = 0;
    worker.transport.choose_fate = [&](const redis::Call& call) {
        const bool is_lost = call.script == &redis::acquire_script() && lost < 3;
        lost += is_lost ? 1 : 0;
        return is_lost ? SimulatedTransport::Fate::kUnanswered
                       : SimulatedTransport::Fate::kAnswered;
    };
    run_for(5s);
    EXPECT_EQ(lost, 3);
    EXPECT_EQ(counted("k0"), 51);
    EXPECT_EQ(statistics["owed_units.noted"].value(), 50);
    EXPECT_EQ(statistics["owed_units.settled"].value(), 50);
}

TEST_F(AcquireBatcherTest, ALateReplyGivesBackWhatNobodyWaitsFor) {
    tables[0].plans[0].rates = {{100'000, 3600s}};
    Worker& worker = start_with_keys(1);
    for (const bool wants_lease : {false, true}) {
        std::int64_t granted_before = counted("k0");
        for (int i = 0; wants_lease && i < 20; ++i) {
            ask(worker, "k0");
            ++granted_before;
        }
        while (wants_lease && state("k0").lease > 0) {
            ask(worker, "k0");
            ++granted_before;
        }
        std::int64_t late = 0;
        worker.transport.choose_fate = [&](const redis::Call& call) {
            const bool is_late = call.script == &redis::acquire_script() && late == 0;
            late += is_late ? 1 : 0;
            return is_late ? SimulatedTransport::Fate::kLate : SimulatedTransport::Fate::kAnswered;
        };
        Request& request = begin(worker, "k0");
        run_for(worker.transport.timeout + 10ms);
        EXPECT_EQ(late, 1);
        EXPECT_EQ(request.outcomes, 1) << "it does not wait for the reply";
        EXPECT_EQ(request.outcome().verdict, Verdict::kDegraded);
        run_for(10s);
        EXPECT_EQ(counted("k0"), granted_before + 1);
        EXPECT_EQ(state("k0").lease, 0);
        worker.transport.choose_fate = nullptr;
    }
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0);
    EXPECT_EQ(statistics["lease_units.granted"].value(),
              statistics["lease_units.spent"].value() + statistics["lease_units.returned"].value());
}

/// A worker of which a call has asked for a lease, and its reply never comes.
class LostCallsTest : public AcquireBatcherTest {
  protected:
    using Fate = SimulatedTransport::Fate;

    Worker& start_busy() {
        tables[0].plans[0].rates = {{100'000, 3600s}};
        Worker& worker = start_with_keys(1);
        for (int i = 0; i < 20; ++i) {
            ask(worker, "k0");
        }
        while (state("k0").lease > 0) {
            ask(worker, "k0");
        }
        counted_before_ = counted("k0");
        return worker;
    }
    /// The next calls that ask for a lease have these fates.
    void choose(Worker& worker, std::deque<Fate> fates) {
        worker.transport.choose_fate = [this, fates](const redis::Call& call) mutable {
            if (call.script != &redis::acquire_script() || fates.empty() || !asks(call)) {
                return Fate::kAnswered;
            }
            const Fate fate = fates.front();
            fates.pop_front();
            ++lost_;
            return fate;
        };
    }
    /// Whether a call asks for a lease or names lost calls.
    static bool asks(const redis::Call& call) {
        return std::ranges::any_of(SimulatedRedis::asked_in(call), [](const auto& one) {
            return one.acquire.lease > 0 || !one.acquire.lost_calls.empty();
        });
    }
    std::uint64_t calls(CounterName name) { return statistics[name].value(); }

    std::int64_t counted_before_ = 0;
    int lost_ = 0;
};

TEST_F(LostCallsTest, WhatALostCallHasCountedIsTakenBack) {
    Worker& worker = start_busy();
    choose(worker, {Fate::kUnanswered});
    begin(worker, "k0");
    Request& request = begin(worker, "k0");
    run_for(10ms);
    EXPECT_EQ(lost_, 1);
    EXPECT_GT(counted("k0"), counted_before_ + 2);
    run_for(1s);
    EXPECT_EQ(request.outcome().verdict, Verdict::kDegraded) << "the node decides alone";
    EXPECT_EQ(counted("k0"), counted_before_ + 2) << "as the node reports";
    EXPECT_EQ(calls("lost_calls.noted"), 1);
    EXPECT_EQ(calls("lost_calls.taken_back"), 1);
    EXPECT_EQ(state("k0").lost_calls, LostCalls());
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0);
    granted(worker, "k0", 20);
    EXPECT_GT(state("k0").lease, 0) << "leases go on";
}

TEST_F(LostCallsTest, RequestsThatAreRefusedAreNotCounted) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& worker = start_busy();
    choose(worker, {Fate::kUnanswered});
    Request& request = begin(worker, "k0");
    run_for(1s);
    EXPECT_EQ(request.status(), 503);
    EXPECT_EQ(counted("k0"), counted_before_);
}

TEST_F(LostCallsTest, TheyAreNamedAgainIfThatReplyIsLostToo) {
    for (const Fate fate : {Fate::kUnanswered, Fate::kNotExecuted}) {
        Worker& worker = workers.empty() ? start_busy() : *workers.front();
        while (state("k0").lease > 0) {
            ask(worker, "k0");
        }
        counted_before_ = counted("k0");
        choose(worker, {Fate::kUnanswered, fate, fate});
        lost_ = 0;
        begin(worker, "k0");
        run_for(2s);
        EXPECT_EQ(lost_, 3);
        EXPECT_EQ(counted("k0"), counted_before_ + 1);
        EXPECT_EQ(state("k0").lost_calls, LostCalls());
    }
    EXPECT_EQ(calls("lost_calls.noted"), 2);
    EXPECT_EQ(calls("lost_calls.taken_back") + calls("lost_calls.left"), 2);
}

TEST_F(LostCallsTest, ACallThatIsNotExecutedIsNotNamedForEver) {
    Worker& worker = start_busy();
    choose(worker, {Fate::kNotExecuted});
    begin(worker, "k0");
    run_for(1s);
    EXPECT_EQ(counted("k0"), counted_before_ + 1);
    EXPECT_EQ(state("k0").lost_calls, LostCalls());
    EXPECT_EQ(calls("lost_calls.left"), 1);
    EXPECT_EQ(calls("lost_calls.taken_back"), 0);
}

/// A proxy keeps the call, and Redis executes it after it was named.
TEST_F(LostCallsTest, ACallThatHangsIsNamedUntilItsDeadline) {
    Worker& worker = start_busy();
    choose(worker, {Fate::kHanging});
    begin(worker, "k0");
    run_for(5ms);
    worker.transport.fail_all();
    run_for(1ms);
    ask(worker, "k0");
    EXPECT_EQ(counted("k0"), counted_before_ + 2) << "it is named";
    EXPECT_FALSE(state("k0").lost_calls.empty()) << "it may come";
    EXPECT_EQ(state("k0").lease, 0);
    run_for(worker.transport.timeout / 2);
    EXPECT_GT(counted("k0"), counted_before_ + 3);
    run_for(1s);
    EXPECT_EQ(counted("k0"), counted_before_ + 2);
    EXPECT_EQ(calls("lost_calls.taken_back"), 1);
}

TEST_F(LostCallsTest, ALaterLeaseIsNotTakenBack) {
    Worker& worker = start_busy();
    Worker& other = start();
    choose(worker, {Fate::kUnanswered});
    begin(worker, "k0");
    run_for(10ms);
    const std::int64_t counted_lost = counted("k0");
    int granted = 0;
    while (state("k0").lease == 0) {
        granted += ask(other, "k0").status() == 0 ? 1 : 0;
        ASSERT_LT(granted, 50);
    }
    run_for(5s);
    EXPECT_EQ(counted("k0"), counted_lost + granted + 1);
    EXPECT_EQ(calls("lost_calls.left"), 1);
}

TEST_F(LostCallsTest, AFullZoneCountsThemAsLeft) {
    Worker& worker = start_busy();
    choose(worker, {Fate::kUnanswered});
    begin(worker, "k0");
    run_for(10ms);
    fill_zone(true);
    run_for(worker.transport.timeout);
    EXPECT_EQ(calls("lost_calls.noted"), 1);
    EXPECT_EQ(calls("lost_calls.left"), 1);
    empty_zone();
    run_for(2s);
    EXPECT_EQ(state("k0").lost_calls, LostCalls());
}

TEST_F(AcquireBatcherTest, AnEngineThatIsDestroyedCallsNobody) {
    Worker& worker = start_with_keys(2);
    Request& queued = begin(worker, "k0");
    run_for(0ms);
    Request& under_way = begin(worker, "k1");
    Request& in_lookup = begin(worker, "other");
    workers.clear();
    run_for(1s);
    EXPECT_EQ(queued.outcomes + under_way.outcomes + in_lookup.outcomes, 0);
}

TEST_F(AcquireBatcherTest, AFullZoneReportsLater) {
    Worker& worker = start_with_keys(1);
    ask(worker, "k0");
    fill_zone(true);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "k0").outcome().verdict, Verdict::kDegraded) << "it has its place";
    worker.transport.reachable = true;
    EXPECT_EQ(ask(worker, "k0").status(), 0) << "decided, though no report can be kept";
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kGranted);
}

TEST_F(AcquireBatcherTest, ALeaseWhosePlaceIsTakenWhileItReturnsIsNotShownAsHeld) {
    tables[0].plans[0].rates = {{1000, 3600s}};
    Worker& worker = start_with_keys(1);
    bool is_returned = false;
    worker.transport.on_executed = [&](const auto& executed) {
        const auto returns = [](const auto& one) { return !one.acquire.adjustments.empty(); };
        if (!is_returned && std::ranges::any_of(executed, returns)) {
            is_returned = true;
            fill_zone(false);
        }
    };
    granted(worker, "k0", 50);
    run_for(5s);
    EXPECT_TRUE(is_returned);
    EXPECT_EQ(state("k0"), QuotaState{});
    const auto units = [&](CounterName name) { return statistics[name].value(); };
    EXPECT_GT(units("lease_units.returned"), 0U);
    EXPECT_EQ(statistics.taken.value(), units("lease_units.spent"));
    EXPECT_EQ(units("lease_units.granted"),
              units("lease_units.spent") + units("lease_units.returned"));
}

TEST_F(AcquireBatcherTest, ASliceWhosePlaceIsTakenIsReturnedWhenThereIsAPlace) {
    tables[0].plans[0].rates = {{1'000'000, 3600s}};
    Worker& worker = start_with_keys(1);
    const auto units = [&](CounterName name) { return statistics[name].value(); };
    // The slice has all units of the lease: otherwise the lease keeps its place.
    for (int i = 0; i < 5000 && !(statistics.taken.value() > units("lease_units.spent") &&
                                  state("k0").lease == 0 && state("k0").lease_calls == 0);
         ++i) {
        ask(worker, "k0");
        run_for(1ms);
    }
    ASSERT_GT(statistics.taken.value(), units("lease_units.spent"));
    fill_zone(false);
    ASSERT_EQ(state("k0"), QuotaState{});
    run_for(5s);
    EXPECT_GT(statistics.taken.value(), units("lease_units.spent")) << "the worker keeps it";
    empty_zone();
    run_for(5s);
    EXPECT_EQ(statistics.taken.value(), units("lease_units.spent"));
    EXPECT_EQ(units("lease_units.lost"), 0U);
    EXPECT_EQ(units("lease_units.granted"),
              units("lease_units.spent") + units("lease_units.returned"));
    EXPECT_EQ(counted("k0"), static_cast<std::int64_t>(requests.size()));
}

// Its id has no other units: only a call for it knows them.
TEST_F(AcquireBatcherTest, ALeaseWhosePlaceIsTakenWhileItIsGrantedIsReturnedLater) {
    tables[0].plans[0].rates = {{1000, 3600s}};
    Worker& worker = start_with_keys(1);
    const auto units = [&](CounterName name) { return statistics[name].value(); };
    bool is_granted = false;
    worker.transport.on_executed = [&](const auto& executed) {
        const auto leases = [](const auto& one) { return one.acquire.lease > 0; };
        if (!is_granted && std::ranges::any_of(executed, leases)) {
            is_granted = true;
            fill_zone(false);
        }
    };
    for (int i = 0; i < 50 && !is_granted; ++i) {
        ask(worker, "k0");
    }
    ASSERT_TRUE(is_granted);
    EXPECT_EQ(state("k0"), QuotaState{});
    empty_zone();
    run_for(5s);
    EXPECT_GT(units("lease_units.returned"), 0U);
    EXPECT_EQ(units("lease_units.lost"), 0U);
    EXPECT_EQ(counted("k0"), static_cast<std::int64_t>(requests.size()));
}

// A lease that is being returned holds no place.
TEST_F(AcquireBatcherTest, ALeaseWhosePlaceIsTakenWhileItsReturnFailsIsReturnedLater) {
    tables[0].plans[0].rates = {{1000, 3600s}};
    Worker& worker = start_with_lease();
    const std::int64_t lease = state("k0").lease;
    ASSERT_GT(lease, 0);
    worker.transport.error_of = [&](const redis::Call& call) {
        if (call.script != &redis::acquire_script()) {
            return "";
        }
        fill_zone(false);
        EXPECT_EQ(state("k0"), QuotaState{});
        return "OOM no memory";
    };
    run_for(3s);
    worker.transport.error_of = nullptr;
    empty_zone();
    run_for(5s);
    EXPECT_EQ(statistics["lease_units.returned"].value(), static_cast<std::uint64_t>(lease));
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0U);
}

TEST_F(AcquireBatcherTest, AFullZoneKeepsTheStrikesOfATableThatHasAPlace) {
    ban = BanPolicy{9, 1min, 10min, 24h};
    add_table("app", {{10, 60s}});
    Worker& worker = start_with_keys(1);
    ask(worker, "k0");
    QuotaState held = state("k0");
    held.windows[0].owed = 1;
    held.ban = {.until = {}, .strikes = 2, .struck_since = worker.engine.steady_time()};
    save("k0", held);
    fill_zone(false);
    std::int64_t strikes = 0;
    worker.transport.on_executed = [&](const auto& executed) {
        for (const auto& one : executed) {
            strikes += one.acquire.strikes;
        }
    };
    EXPECT_EQ(ask(worker, "k0").status(), 0);
    EXPECT_EQ(strikes, 2);
    EXPECT_EQ(counted("k0"), 3) << "of two requests and an owed unit";
}

/// Each allocation of a call and of its reply fails in turn.
TEST_F(AcquireBatcherTest, ShortMemoryInACallLosesNoGrant) {
    tables[0].plans[0].rates = {{10'000, 3600s}};
    Worker& worker = start_with_keys(1);
    int granted = 0;
    for (int n = 0; n < 40; ++n) {
        for (const bool in_reply : {false, true}) {
            begin(worker, "k0");
            begin(worker, "k0");
            worker.transport.allocations_of_replies = in_reply ? n : -1;
            allocations_left = in_reply ? -1 : n;
            worker.engine.quotas().acquires.flush();
            allocations_left = -1;
            run_for(5ms);
        }
    }
    worker.transport.allocations_of_replies = -1;
    for (const auto& request : requests) {
        ASSERT_EQ(request->outcomes, 1);
        ASSERT_TRUE(request->status() == 0 || request->status() == 503);
        granted += request->status() == 0 ? 1 : 0;
    }
    EXPECT_GT(granted, 100) << "by Redis, or by on_failure";
    run_for(5s);  // the lease is returned
    // If a reply can't be applied, Redis has counted its requests, and the node counts them again.
    EXPECT_GE(counted("k0"), granted);
    EXPECT_LE(counted("k0"), granted + 80);
}

}  // namespace
}  // namespace tollgate::engine
