#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module/engine/admission.hpp"
#include "module/engine/engine.hpp"
#include "module/key/digest.hpp"
#include "module/text/name_hash.hpp"
#include "t/unit/engine/simulated_process.hpp"
#include "t/unit/engine/simulated_transport.hpp"
#include "t/unit/failing_allocator.hpp"

namespace tollgate::engine {

using namespace std::chrono_literals;

struct RequestOptions {
    std::int64_t cost = 1;
    bool checks_key_only = false;
    std::string_view scopes{};
    bool settles = false;
    std::vector<std::string> values{};  ///< of each table
};

/// Workers of one node with a simulated Redis. Tests change `tables`, `settings` and `zone_size`
/// before the first worker starts.
class EngineTest : public testing::Test {
  protected:
    struct Worker {
        Worker(EngineTest& test, std::size_t number)
            : clock(test.timeline),
              events(test.timeline),
              process(number, test.zone->processes),
              engine(test.settings, test.served, *test.zone, test.statistics, transport,
                     {clock, events, log, process}),
              transport(test.timeline, test.redis, clock.start, test.redis_offset),
              tables(test.set, test.ban, engine, {}) {
            test.zone->start_worker(process, test.served);
            if (number == 0) {  // for the node
                engine.identity().changes.on_subscribed(true);
            }
        }

        SimulatedClock clock;
        SimulatedEventLoop events;
        SimulatedLog log;
        SimulatedWorker process;
        Engine engine;
        SimulatedTransport transport;  ///< destroyed before the engine, as in MasterClient
        TableSet tables;
    };

    struct Request final : Admission::Client {
        Request(Worker& at, const RequestOptions& options)
            : worker(at),
              own_cost(options.cost, options.settles),
              values(options.values),
              admission(at.engine, at.tables, *this,
                        {.checks_key_only = options.checks_key_only, .scopes = options.scopes}) {}

        std::string_view value(std::size_t table) override { return values.at(table); }
        Cost cost() override {
            if (cost_throws) {
                throw std::bad_alloc();
            }
            return own_cost;
        }
        AddressBytes address() const override { return client; }
        Log& log() noexcept override { return worker.log; }
        void on_outcome() noexcept override { ++outcomes; }
        const Outcome& outcome() const { return admission.outcome(); }
        int status() const { return outcome().is_decided() ? outcome().status : -1; }

        Worker& worker;
        Cost own_cost;
        std::vector<std::string> values;  ///< of each table
        bool cost_throws = false;
        std::vector<unsigned char> client{};  ///< its address; by default on a unix socket
        int outcomes = 0;
        Admission admission;
    };

    EngineTest() {
        settings.name = "main";
        settings.name_hash = name_hash("main");
        settings.keys = redis::Keys("t:");
        add_table("api", {{10, 60s}});
    }
    ~EngineTest() override { allocations_left = -1; }

    PlanTable& add_table(const std::string& name, std::vector<Rate> rates) {
        PlanTable& table = tables.emplace_back();
        table.name = name;
        Plan plan;
        plan.name = "free";
        plan.rates = std::move(rates);
        table.plans.push_back(plan);
        return table;
    }
    Worker& start() {
        if (!zone) {
            zone = std::make_unique<SimulatedZone>(7, zone_size);
            for (const PlanTable& table : tables) {
                served.push_back({&table, settings.name_hash});
                set.push_back(&table);
            }
        }
        return *workers.emplace_back(std::make_unique<Worker>(*this, workers.size()));
    }
    void add_key(const std::string& id, const std::string& plan = "free", bool active = true,
                 const std::string& limits = {}) {
        redis.records[settings.keys.key(hex(sha256(id)))] = {
            .id = id, .name = {}, .plan = plan, .limits = limits, .expires = {}, .active = active};
    }
    void run_for(std::chrono::milliseconds time) { timeline.run_until(timeline.now() + time); }

    /// Sends a request with this key, which then waits or is decided.
    Request& begin(Worker& worker, const std::optional<std::string>& token,
                   const RequestOptions& options = {}) {
        auto& request = requests.emplace_back(std::make_unique<Request>(worker, options));
        request->admission.start(token);
        return *request;
    }
    /// Sends a request with this key and runs until it is decided.
    Request& ask(Worker& worker, const std::optional<std::string>& token,
                 const RequestOptions& options = {}) {
        return decided(begin(worker, token, options));
    }
    /// The same with a subject.
    Request& ask(Worker& worker, const Subject& subject, const RequestOptions& options = {}) {
        auto& request = requests.emplace_back(std::make_unique<Request>(worker, options));
        request->admission.start(subject);
        return decided(*request);
    }
    Request& decided(Request& request) {
        for (int i = 0; i < 500 && !request.outcome().is_decided(); ++i) {
            run_for(1ms);
        }
        EXPECT_EQ(request.outcomes, 1);
        return request;
    }
    /// Sends up to `most` requests with a key, one after the other. Returns how many are granted.
    template <typename Identity>
    int granted(Worker& worker, const Identity& token, int most) {
        int count = 0;
        for (int i = 0; i < most; ++i) {
            count += ask(worker, token).status() == 0 ? 1 : 0;
        }
        return count;
    }
    /// Redis's count of the first window of a table.
    std::int64_t counted(const std::string& id, std::size_t table = 0) {
        TableQuota quota;
        quota.table = tables[table].name;
        return redis.counts.count(id, quota, tables[table].plans.front().rates.front()).count;
    }
    /// The state of an id's quota in the zone.
    QuotaState state(const std::string& id, std::size_t table = 0) {
        TableQuota quota;
        quota.table = tables[table].name;
        quota.table_id = name_hash(quota.table);
        quota.rates = tables[table].plans.front().rates;
        quota.sliding = tables[table].plans.front().sliding;
        const LockedStripe locked(*zone, id_hash(id));
        return locked.quotas().load({{id}, id_hash(id), settings.name_hash, quota, 0});
    }
    /// Saves the state of an id's quota of the first table.
    void save(const std::string& id, const QuotaState& held) {
        TableQuota quota;
        quota.table = tables[0].name;
        quota.table_id = name_hash(quota.table);
        quota.rates = tables[0].plans[0].rates;
        const LockedStripe locked(*zone, id_hash(id));
        locked.quotas().save({{id}, id_hash(id), settings.name_hash, quota, 0}, held,
                             SteadyTime(1));
        locked.bans().save({id_hash(id), settings.name_hash}, held.ban, SteadyTime(1));
    }
    /// Every free place of the zone holds a lease of another key that is in use, or its report.
    void fill_zone(bool with_reports) {
        for (int i = 0; i < kFilling; ++i) {
            QuotaState held;
            held.lease = 1;
            held.asked = held.arrivals.last = workers[0]->engine.steady_time() + 24h;
            held.windows[0].counted.number =
                window_number(workers[0]->clock.wall(), tables[0].plans[0].rates[0].period);
            if (with_reports) {
                held.report = Report{static_cast<std::uint64_t>(i + 1), {}};
            }
            save("o" + std::to_string(i), held);
        }
    }
    /// These are gone.
    void empty_zone() {
        for (int i = 0; i < kFilling; ++i) {
            save("o" + std::to_string(i), {});
        }
    }
    static constexpr int kFilling = 3000;

    Timeline timeline;
    SimulatedRedis redis;
    std::chrono::milliseconds redis_offset{};
    RedisSettings settings;
    RedisStatistics statistics;
    std::size_t zone_size = std::size_t{64} << 10U;
    std::deque<PlanTable> tables;
    std::optional<BanPolicy> ban;
    std::vector<ServedTable> served;
    std::vector<const PlanTable*> set;
    std::unique_ptr<SimulatedZone> zone;
    std::vector<std::unique_ptr<Worker>> workers;
    std::deque<std::unique_ptr<Request>> requests;
};

}  // namespace tollgate::engine
