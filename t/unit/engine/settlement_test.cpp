// Owed units and idle leases are settled without a request, and at once when a node exits.

#include "module/engine/quota/settlement.hpp"

#include "module/engine/identity/group_finder.hpp"

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class SettlementTest : public EngineTest {
  protected:
    SettlementTest() { tables[0].plans[0].rates = {{1000, 3600s}}; }

    /// A worker that has a lease of the key "k": of four requests, three have ended.
    Worker& start_with_lease() {
        add_key("k");
        Worker& worker = start();
        ask(worker, "k");
        const auto before = counted("k");
        for (int i = 0; i < 4; ++i) {
            begin(worker, "k");
        }
        run_for(0ms);
        requests.clear();
        run_for(5ms);
        EXPECT_EQ(state("k").lease, 4);
        EXPECT_EQ(counted("k"), before + 4);
        return worker;
    }
    Quotas quotas() {
        KeyRecord record;
        record.plan = "free";
        return choose_quotas(set, record).value();
    }
    /// The configuration of the workers that start from now on has this instead of the table.
    void rename_table(const std::string& name) {
        renamed = tables[0];
        renamed.name = name;
        served = {{&renamed, settings.name_hash}};
    }
    PlanTable renamed;

    /// A worker that owes five units of the key "k".
    Worker& start_owing() {
        add_key("k");
        Worker& worker = start();
        ask(worker, "k");
        worker.transport.reachable = false;
        EXPECT_EQ(granted(worker, "k", 5), 5);
        EXPECT_EQ(state("k").windows[0].owed, 5);
        return worker;
    }
};

TEST_F(SettlementTest, ALeaseGoesBackWhenItIsIdleForTheHorizon) {
    start_with_lease();
    run_for(2900ms);
    EXPECT_EQ(counted("k"), 5);
    run_for(400ms);
    EXPECT_EQ(counted("k"), 1);
    EXPECT_EQ(state("k").lease, 0);
    EXPECT_EQ(statistics["lease_units.returned"].value(), 4);
}

TEST_F(SettlementTest, ALeaseIsNotLostWithACallThatWasNotSent) {
    Worker& worker = start_with_lease();
    int unsent = 0;
    worker.transport.choose_fate = [&](const redis::Call& call) {
        const bool fails = call.script == &redis::acquire_script() && unsent < 2;
        unsent += fails ? 1 : 0;
        return fails ? SimulatedTransport::Fate::kUnsent : SimulatedTransport::Fate::kAnswered;
    };
    run_for(5s);
    EXPECT_EQ(unsent, 2);
    EXPECT_EQ(counted("k"), 1);
    EXPECT_EQ(statistics["lease_units.returned"].value(), 4);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0);
}

// The day of the history has no limit.
TEST_F(SettlementTest, UnitsForWhichASmallPlaceHasNoRoomAreReported) {
    tables[0].plans[0].rates = {{2'000'000'000, 60s}};
    tables[0].history = std::chrono::days(30);
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    worker.transport.reachable = false;
    constexpr std::uint64_t kCost = 1'900'000'000;
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ask(worker, "k", {.cost = kCost}).status(), 0);
        run_for(60s);
    }
    worker.transport.reachable = true;
    run_for(3s);
    EXPECT_EQ(statistics["owed_units.noted"].value(), 2 * kCost);
    EXPECT_EQ(statistics["owed_units.settled"].value(), 2 * kCost);
    EXPECT_EQ(statistics["owed_units.lapsed"].value(), 0);
}

TEST_F(SettlementTest, OneWorkerOfTheNodeSettles) {
    Worker& worker = start_owing();
    Worker& second = start();
    worker.transport.reachable = true;
    run_for(600ms);
    EXPECT_EQ(counted("k"), 6);
    EXPECT_EQ(worker.transport.calls + second.transport.calls - 2, 1) << "one report";
}

TEST_F(SettlementTest, AnotherWorkerReportsWhatADeadOneOwes) {
    start_owing();
    Worker& second = start();
    workers.erase(workers.begin());
    run_for(600ms);
    EXPECT_EQ(counted("k"), 6);
    EXPECT_EQ(second.transport.calls, 1);
}

TEST_F(SettlementTest, TheLastWorkerReturnsAllAtOnce) {
    Worker& worker = start_with_lease();
    worker.process.exiting = true;
    worker.engine.shut_down();
    run_for(5ms);
    EXPECT_EQ(counted("k"), 1);
    worker.engine.shut_down();
    EXPECT_TRUE(worker.engine.quotas().settlement.returns_leases(quotas()));
}

TEST_F(SettlementTest, AWorkerThatIsNotTheLastLeavesAllToTheOthers) {
    Worker& worker = start_with_lease();
    Worker& second = start();
    worker.process.exiting = true;
    worker.engine.shut_down();
    run_for(5ms);
    EXPECT_EQ(counted("k"), 5);
    EXPECT_FALSE(worker.engine.quotas().settlement.returns_leases(quotas()));
    run_for(4s);
    EXPECT_EQ(counted("k"), 1);
    EXPECT_GT(second.transport.calls, 0);
}

TEST_F(SettlementTest, AKilledWorkerDoesNotKeepTheLastFromReturning) {
    Worker& worker = start_with_lease();
    Worker& second = start();
    zone->processes.erase(second.process.process());
    worker.process.exiting = true;
    worker.engine.shut_down();
    run_for(5ms);
    EXPECT_EQ(counted("k"), 1);
}

TEST_F(SettlementTest, ALeaseThatComesDuringTheShutdownGoesBackToo) {
    Worker& worker = start_with_lease();
    for (int i = 0; i < 8; ++i) {
        begin(worker, "k");
    }
    run_for(0ms);
    worker.process.exiting = true;
    worker.engine.shut_down();
    requests.clear();
    run_for(50ms);
    EXPECT_EQ(counted("k"), 1 + 4) << "4 were granted from the lease";
    EXPECT_EQ(state("k").lease, 0);
}

TEST_F(SettlementTest, ALeaseThatComesAfterTheLastOtherWorkerHasShutDownGoesBackToo) {
    Worker& worker = start_with_lease();
    Worker& other = start();
    for (Worker* const one : {&worker, &other}) {
        one->process.exiting = true;
        one->engine.shut_down();
        run_for(5ms);
    }
    EXPECT_EQ(counted("k"), 1) << "the last one returns the first lease";
    for (int i = 0; i < 8; ++i) {
        begin(worker, "k");
    }
    run_for(50ms);
    EXPECT_EQ(counted("k"), 1 + 8) << "8 were granted";
    EXPECT_EQ(state("k").lease, 0);
}

TEST_F(SettlementTest, TheLeaseOfAKeyThatEndsIsReturned) {
    Worker& worker = start_with_lease();
    redis.records.clear();
    worker.engine.identity().changes.on_change("k");
    EXPECT_EQ(ask(worker, "k").status(), 401);
    run_for(4s);
    EXPECT_EQ(counted("k"), 1);
}

/// In a cluster, the master of an id is unreachable, and the one of its key says that the key was
/// deleted.
class EndedKeyTest : public SettlementTest {
  protected:
    EndedKeyTest() { settings.is_cluster = true; }

    Worker& start_with_outage() {
        add_key("k");
        Worker& worker = start();
        ask(worker, "k");
        worker.transport.unreachable_slots = {worker.engine.slot_of("k")};
        EXPECT_NE(worker.engine.slot_of("k"), worker.engine.slot_of(sha256("k")));
        EXPECT_EQ(granted(worker, "k", 5), 5);
        return worker;
    }
    void expect_end(Worker& worker) {
        redis.records.clear();
        worker.engine.identity().changes.on_change("k");
        EXPECT_EQ(ask(worker, "k").status(), 401);
        EXPECT_EQ(ask(worker, "k").status(), 401);
        run_for(1s);
        EXPECT_EQ(counted("k"), 1);
        worker.transport.unreachable_slots.clear();
        run_for(1s);
        EXPECT_EQ(counted("k"), 1 + 5);
        EXPECT_EQ(statistics["owed_units.settled"].value(), statistics["owed_units.noted"].value());
        EXPECT_EQ(ask(worker, "k").status(), 401);
    }
};

TEST_F(EndedKeyTest, IsSettledAfterTheOutage) {
    expect_end(start_with_outage());
}

TEST_F(EndedKeyTest, IsSettledAfterItsPlanHasChanged) {
    Plan other = tables[0].plans[0];
    other.name = "other";
    other.rates = {{1000, 7200s}};
    tables[0].plans.push_back(other);
    Worker& worker = start_with_outage();
    add_key("k", "other");
    worker.engine.identity().changes.on_change("k");
    EXPECT_EQ(ask(worker, "k").status(), 0);
    expect_end(worker);
}

/// More ids owe units than the zone has room for reports.
class LastSettlementTest : public SettlementTest {
  protected:
    static constexpr int kIds = 400;

    LastSettlementTest() { zone_size = std::size_t{256} << 10U; }

    Worker& start_with_many() {
        for (int i = 0; i < kIds; ++i) {
            add_key("k" + std::to_string(i));
        }
        Worker& worker = start();
        for (const bool reachable : {true, false}) {
            worker.transport.reachable = reachable;
            for (int i = 0; i < kIds; ++i) {
                EXPECT_EQ(granted(worker, "k" + std::to_string(i), 1), 1);
            }
        }
        requests.clear();
        worker.transport.reachable = true;
        return worker;
    }
    void shut_down(Worker& worker) {
        worker.process.exiting = true;
        worker.engine.shut_down();
        run_for(1s);
    }
    int counted_twice() {
        int count = 0;
        for (int i = 0; i < kIds; ++i) {
            count += counted("k" + std::to_string(i)) == 2 ? 1 : 0;
        }
        return count;
    }
};

TEST_F(LastSettlementTest, ReportsAllAlthoughFewReportsHaveRoom) {
    Worker& worker = start_with_many();
    shut_down(worker);
    EXPECT_EQ(counted_twice(), kIds);
    EXPECT_EQ(statistics["owed_units.settled"].value(), kIds);
}

TEST_F(LastSettlementTest, RepeatsCallsThatRedisDidNotExecute) {
    Worker& worker = start_with_many();
    int calls = 0;
    worker.transport.choose_fate = [&](const redis::Call& /*call*/) {
        return ++calls <= 3 ? SimulatedTransport::Fate::kNotExecuted
                            : SimulatedTransport::Fate::kAnswered;
    };
    shut_down(worker);
    EXPECT_EQ(counted_twice(), kIds);
}

TEST_F(LastSettlementTest, EndsIfRedisCountsNothing) {
    Worker& worker = start_with_many();
    worker.transport.error_of = [](const redis::Call& /*call*/) { return "OOM no memory"; };
    shut_down(worker);
    EXPECT_TRUE(worker.transport.is_idle());
    const std::int64_t calls = worker.transport.calls;
    run_for(5s);
    EXPECT_EQ(worker.transport.calls, calls);
    EXPECT_EQ(statistics["owed_units.settled"].value(), 0U);
}

// A zone that is full has room for the units of one table, and none for those of the other.
TEST_F(SettlementTest, ARequestIsCountedInAllTablesOrInNone) {
    add_table("search", {{10, 60s}});
    zone_size = std::size_t{32} << 10U;
    constexpr int kMany = 300;
    const auto id = [](int i) { return "k" + std::to_string(i); };
    for (int i = 0; i < kMany; ++i) {
        add_key(id(i));
    }
    Worker& worker = start();
    std::map<std::string, int> granted_to;
    for (const bool reachable : {true, false}) {
        for (int i = 0; i < kMany; ++i) {
            // The record of the key may have been evicted.
            worker.transport.reachable = true;
            Request& request = begin(worker, id(i));
            run_for(5ms);
            EXPECT_EQ(request.status(), 0);
            ++granted_to[id(i)];
            worker.transport.reachable = reachable;
            granted_to[id(i)] += ask(worker, id(i)).status() == 0 ? 1 : 0;
        }
    }
    worker.transport.reachable = true;
    run_for(20s);
    for (const auto& [key, granted] : granted_to) {
        EXPECT_EQ(counted(key, 0), granted) << key;
        EXPECT_EQ(counted(key, 1), granted) << key;
    }
}

// No request comes after the outage, and the zone has no record of the key.
TEST_F(SettlementTest, OwedUnitsOfAKeyWhoseRecordWasEvictedAreReported) {
    zone_size = std::size_t{32} << 10U;
    add_key("k");
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 2), 2) << "the worker knows it";
    const KeyCache::Key key{settings.name_hash, sha256("k")};
    const auto has_record = [&] {
        return !LockedStripe(*zone, key).keys().find_head(key.hash(), id_hash("k")).id.empty();
    };
    for (int i = 0; i < 400; ++i) {
        add_key("other" + std::to_string(i));
        begin(worker, "other" + std::to_string(i));
        run_for(2ms);
    }
    EXPECT_FALSE(has_record()) << "others have its place";
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, "k", 3), 3);
    EXPECT_FALSE(has_record());
    worker.transport.reachable = true;
    run_for(5s);
    EXPECT_EQ(counted("k"), 5);
}

/// What is owed in the windows of an earlier plan is reported, also if the zone has no record of
/// the key.
TEST_F(SettlementTest, OwedUnitsOfAnEarlierPlanAreReported) {
    zone_size = std::size_t{32} << 10U;
    add_key("k");
    const auto refuse = [](Worker& worker) {
        worker.transport.error_of = [](const redis::Call& call) {
            return call.script == &redis::acquire_script() ? "OOM no memory" : "";
        };
    };
    Worker& before = start();
    ask(before, "k");
    refuse(before);
    EXPECT_EQ(granted(before, "k", 5), 5);
    workers.clear();
    requests.clear();
    tables[0].plans[0].rates.emplace_back(Rate{5000, 24h});
    Worker& worker = start();
    refuse(worker);
    const auto look_up_others = [&] {
        for (int i = 0; i < 1000; ++i) {
            const std::string other = "other" + std::to_string(i);
            add_key(other);
            begin(worker, other, {.checks_key_only = true});
            run_for(2ms);
        }
    };
    const KeyCache::Key key{settings.name_hash, sha256("k")};
    const auto has_record = [&] {
        return !LockedStripe(*zone, key).keys().find_head(key.hash(), id_hash("k")).id.empty();
    };
    look_up_others();
    EXPECT_FALSE(has_record()) << "others have its place";
    worker.transport.error_of = nullptr;
    run_for(3s);
    EXPECT_EQ(counted("k"), 6);
    EXPECT_EQ(statistics["owed_units.settled"].value(), 5);
}

/// A table by group.
class GroupSettlementTest : public SettlementTest {
  protected:
    GroupSettlementTest() {
        tables[0].by_group = true;
        tables[0].plans[0].rates = {{1000, 3600s}};
        redis.records[settings.keys.group("acme")] = {
            .id = "acme", .name = {}, .plan = "free", .limits = {}, .expires = {}};
    }
    /// A key of the group.
    Worker& start_with_group() {
        Worker& worker = start();
        add_key(id_);
        redis.records[settings.keys.key(hex(sha256(id_)))].group = "acme";
        return worker;
    }
    std::int64_t counted_of_group() {
        TableQuota quota;
        quota.table = "api:group";
        return redis.counts.count("acme", quota, tables[0].plans[0].rates[0]).count;
    }
    /// Others are looked up, and are in no group: nothing counts them.
    void look_up_others(Worker& worker) {
        for (int i = 0; i < 1000; ++i) {
            const std::string other = "other" + std::to_string(i);
            add_key(other);
            begin(worker, other);
            run_for(2ms);
        }
    }
    bool has_record_of_group() {
        const KeyCache::Key key = group_key(settings.name_hash, "acme");
        return !LockedStripe(*zone, key).keys().find_head(key.hash(), id_hash("acme")).id.empty();
    }

    std::string id_ = "k";
};

TEST_F(GroupSettlementTest, OwedUnitsAreReportedWithoutTheRecordOfTheGroup) {
    Worker& worker = start_with_group();
    ask(worker, id_);
    worker.transport.error_of = [](const redis::Call& call) {
        return call.script == &redis::acquire_script() ? "OOM no memory" : "";
    };
    EXPECT_EQ(granted(worker, id_, 5), 5);
    look_up_others(worker);
    EXPECT_FALSE(has_record_of_group()) << "others have its place";
    worker.transport.error_of = nullptr;
    run_for(5s);
    EXPECT_EQ(counted_of_group(), 6);
    EXPECT_EQ(statistics["owed_units.noted"].value(), statistics["owed_units.settled"].value());
}

// Redis looks keys up, but decides nothing. The zone has fewer places for the records of long ids
// than for their quotas.
TEST_F(SettlementTest, AnIdWhoseRecordHasNoPlaceIsRefusedInAnOutage) {
    zone_size = std::size_t{32} << 10U;
    constexpr int kMany = 100;
    const auto id = [](int i) { return std::string(60, 'k') + std::to_string(i); };
    Worker& worker = start();
    worker.transport.error_of = [](const redis::Call& call) {
        return call.script == &redis::acquire_script() ? "OOM no memory" : "";
    };
    std::map<std::string, int> granted_to;
    for (int i = 0; i < kMany; ++i) {
        add_key(id(i));
        Request& request = begin(worker, id(i));
        run_for(5ms);
        granted_to[id(i)] = request.status() == 0 ? 1 : 0;
        EXPECT_TRUE(request.status() == 0 || request.status() == 503) << request.status();
    }
    EXPECT_EQ(granted_to[id(0)], 1);
    EXPECT_EQ(granted_to[id(kMany - 1)], 0) << "the zone is full";
    worker.transport.error_of = nullptr;
    run_for(20s);
    for (const auto& [key, granted] : granted_to) {
        EXPECT_EQ(counted(key), granted) << key;
    }
}

/// In an outage, a node sends a report that is lost, and the plan's limits are changed. The node
/// owes units in the old and in the new limits, and reports the new ones first.
class ChangedPlanTest : public SettlementTest, public testing::WithParamInterface<Rate> {};

TEST_P(ChangedPlanTest, EachUnitIsCountedOnce) {
    Worker& before = start_owing();
    before.transport.reachable = true;
    before.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    run_for(300ms);
    EXPECT_EQ(before.transport.calls, 2 + 1) << "the lost report";
    workers.clear();
    requests.clear();
    std::vector<Rate>& rates = tables[0].plans[0].rates;
    rates.back().period == GetParam().period ? rates.back() = GetParam()
                                             : rates.emplace_back(GetParam());
    Worker& worker = start();
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, "k", 3), 3);
    EXPECT_EQ(state("k").windows[0].owed, 3);
    worker.transport.reachable = true;
    EXPECT_EQ(granted(worker, "k", 1), 1);
    run_for(3s);
    EXPECT_EQ(state("k").lease, 0);
    EXPECT_EQ(counted("k"), 1 + 5 + 3 + 1);
}

INSTANTIATE_TEST_SUITE_P(Changes, ChangedPlanTest,
                         testing::Values(Rate{5000, 24h}, Rate{kLargestSmallLimit + 1, 1h}));

/// A zone with so many ids that hold a lease, or that owe units to a master that is unreachable.
class BusySettlementTest : public SettlementTest {
  protected:
    static constexpr int kIds = 4000;

    BusySettlementTest() { zone_size = std::size_t{4} << 20U; }

    void hold(const QuotaState& held) {
        for (int i = 0; i < kIds; ++i) {
            TableQuota quota;
            quota.table = "api";
            quota.table_id = name_hash("api");
            quota.rates = tables[0].plans[0].rates;
            const std::string name = "k" + std::to_string(i);
            const IdHash id = id_hash(name);
            const LockedStripe locked(*zone, id);
            ASSERT_TRUE(locked.quotas().save({{name}, id, settings.name_hash, quota, 0}, held,
                                             SteadyTime(1)));
        }
    }
    /// The number of turns of the worker's passes in this time.
    int turns_in(std::chrono::milliseconds time) {
        int turns = 0;
        SteadyTime& settled = zone->redis(settings.name_hash).settled;
        for (const auto end = timeline.now() + time; timeline.now() < end;) {
            const SteadyTime before = settled;
            run_for(1ms);
            turns += settled != before ? 1 : 0;
        }
        return turns;
    }
};

TEST_F(BusySettlementTest, ATurnVisitsFewLeasesThatAreInUse) {
    const Worker& worker = start();
    QuotaState held;
    held.lease = 1;
    held.counted_at = Instant(1h);
    held.asked = worker.engine.steady_time() + 1h;
    held.arrivals = {worker.engine.steady_time() + 1h, 1};
    hold(held);
    const int turns = turns_in(400ms);
    EXPECT_GE(turns, kIds / 1200) << "at most about 1024 in a turn";
    EXPECT_LE(turns, kIds / 400 + 2) << "one pass, or two";
    EXPECT_EQ(worker.transport.calls, 0);
}

TEST_F(BusySettlementTest, ATurnSettlesFew) {
    const Worker& worker = start();
    QuotaState held;
    held.windows[0].owed = 1;
    hold(held);
    EXPECT_GE(turns_in(1s), kIds / 100) << "at most about 64 in a turn";
    EXPECT_EQ(worker.transport.calls, 0) << "the zone has no record of the ids";
}

TEST_F(SettlementTest, AnOldWorkerSettlesATableThatTheNewOnesDoNotServe) {
    Worker& old = start_with_lease();
    const auto old_tables = served;
    rename_table("other");
    Worker& next = start();
    run_for(500ms);
    EXPECT_EQ(state("k").lease, 4) << "no new worker drops it while the old one is alive";
    served = old_tables;
    old.process.exiting = true;
    old.engine.shut_down();
    run_for(5ms);
    EXPECT_EQ(counted("k"), 1);
    EXPECT_EQ(state("k").lease, 0);
    EXPECT_EQ(next.transport.calls, 0);
}

TEST_F(SettlementTest, AnOldWorkerOfARemovedRedisSettles) {
    Worker& old = start_with_lease();
    const auto old_tables = served;
    settings.name_hash = name_hash("another");
    served = {{&tables[0], settings.name_hash}};
    start();
    settings.name_hash = name_hash("main");
    served = old_tables;
    old.process.exiting = true;
    old.engine.shut_down();
    run_for(5ms);
    EXPECT_EQ(counted("k"), 1);
    EXPECT_EQ(state("k").lease, 0);
}

TEST_F(SettlementTest, QuotasOfARemovedRedisAreDroppedIfAnotherHasATableOfTheSameName) {
    start_owing();
    requests.clear();
    workers.front().reset();
    zone->processes.clear();
    settings.name_hash = name_hash("another");
    served = {{&tables[0], settings.name_hash}};
    const Worker& next = start();
    run_for(1s);
    EXPECT_EQ(next.transport.calls, 0) << "nothing is reported to the other Redis";
    settings.name_hash = name_hash("main");
    EXPECT_EQ(state("k").windows[0].owed, 0);
    EXPECT_EQ(statistics["owed_units.lapsed"].value(), 5) << "an operator sees that they are lost";
}

TEST_F(SettlementTest, QuotasOfATableThatIsGoneRemainWhileAnyOldWorkerIsLeft) {
    Worker& old = start_with_lease();
    const Worker& last = start();
    old.process.exiting = true;
    old.engine.shut_down();
    rename_table("other");
    start();
    zone->processes.erase(last.process.process());
    run_for(1s);
    EXPECT_EQ(state("k").lease, 4) << "a request of the old worker may use it";
    zone->processes.erase(old.process.process());
    run_for(1s);
    EXPECT_EQ(state("k").lease, 0);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 4);
}

TEST_F(SettlementTest, QuotasOfATableThatIsGoneAreDropped) {
    Worker& worker = start_owing();
    constexpr std::uint32_t kEnded = 7;
    LockedNode(*zone).table_workers().insert(settings.name_hash, name_hash("api"), kEnded,
                                             [](std::uint32_t /*process*/) { return true; });
    tables[0].name = "other";
    worker.transport.reachable = true;
    run_for(1s);
    tables[0].name = "api";
    EXPECT_EQ(state("k").windows[0].owed, 0);
    EXPECT_EQ(counted("k"), 1);
}

TEST_F(SettlementTest, OwedUnitsWithoutARecordAreReported) {
    Worker& worker = start_owing();
    {
        const KeyCache::Key key{settings.name_hash, sha256("k")};
        LockedStripe(*zone, key).keys().put_unknown(key, worker.engine.steady_time());
    }
    worker.transport.reachable = true;
    run_for(1s);
    EXPECT_EQ(state("k").windows[0].owed, 0);
    EXPECT_EQ(statistics["owed_units.settled"].value(), 5);
    EXPECT_EQ(counted("k"), 6);
}

TEST_F(SettlementTest, ALeaseWithoutARecordIsReturned) {
    Worker& worker = start_with_lease();
    {
        const KeyCache::Key key{settings.name_hash, sha256("k")};
        LockedStripe(*zone, key).keys().put_unknown(key, worker.engine.steady_time());
    }
    run_for(4s);
    EXPECT_EQ(state("k").lease, 0);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0);
    EXPECT_EQ(counted("k"), 1);
}

TEST_F(SettlementTest, ShortMemoryDelaysASettlement) {
    Worker& worker = start_owing();
    worker.transport.reachable = true;
    for (int n = 0; n < 10; ++n) {
        timeline.at(timeline.now() + 240ms, [n] { allocations_left = n; });
        timeline.at(timeline.now() + 255ms, [] { allocations_left = -1; });
        allocations_left = -1;
        run_for(256ms);
        allocations_left = -1;
    }
    run_for(1s);
    EXPECT_EQ(counted("k"), 6);
}

}  // namespace
}  // namespace tollgate::engine
