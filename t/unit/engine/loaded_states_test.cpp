#include "module/engine/quota/loaded_states.hpp"

#include <map>
#include <string>

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class LoadedStatesTest : public EngineTest {
  protected:
    LoadedStatesTest() { add_table("search", {{20, 60s}}); }

    AcquireRequest request_for(int id, const std::vector<std::size_t>& of) {
        Quotas quotas;
        for (const std::size_t table : of) {
            TableQuota& quota = quotas.emplace_back();
            quota.table = tables[table].name;
            quota.table_id = name_hash(quota.table);
            quota.rates = tables[table].plans.front().rates;
        }
        AcquireRequest request;
        request.id = names_.try_emplace(id, "k" + std::to_string(id)).first->second;
        request.id_hash = id_hash(request.id);
        request.quotas = std::make_shared<const Quotas>(std::move(quotas));
        return request;
    }

  private:
    std::map<int, std::string> names_;
};

/// A state that is new in the zone may move another one, which is saved before or after it.
TEST_F(LoadedStatesTest, StatesAreSavedWhereTheyAreNow) {
    Worker& worker = start();
    int moved = 0;
    for (int round = 0; round < 400; ++round) {
        SimulatedZone small(7, std::size_t{70} << 10U);
        std::map<int, std::int64_t> owed;  // of the first table, by id
        const auto first_of = [&](int id, TablePosition at) {
            AcquireRequest request = request_for(id, {0});
            request.place = at;
            const LockedStripe stripe(small, request.id_hash);
            const LoadedStates states(stripe, worker.engine, worker.engine.quotas().unstored,
                                      request);
            EXPECT_EQ(std::span<const QuotaState>(states).front().windows[0].owed, owed[id]);
            return states.place();
        };
        // One stripe is filled, but for a few places.
        for (int id = 1000 * round;; ++id) {
            const AcquireRequest request = request_for(id, {0});
            if (small.stripe_of(request.id_hash) != StripeNumber{0}) {
                continue;
            }
            const LockedStripe stripe(small, request.id_hash);
            const Occupancy occupancy = stripe.quotas().small();
            if (occupancy.used + 4 > occupancy.size) {
                break;
            }
            LoadedStates states(stripe, worker.engine, worker.engine.quotas().unstored, request);
            std::span<QuotaState>(states).front().windows[0].owed = 1;
            if (states.save(1s)) {
                owed[id] = 1;
            }
        }
        for (auto& [id, units] : owed) {
            const TablePosition before = first_of(id, {});
            const bool is_first = round % 2 == 0;
            bool has_room = true;
            {
                const AcquireRequest request = request_for(
                    id, is_first ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 0});
                const LockedStripe stripe(small, request.id_hash);
                LoadedStates states(stripe, worker.engine, worker.engine.quotas().unstored,
                                    request);
                // A second time: the first of them has moved meanwhile.
                for (int save = is_first ? 0 : 1; save < 2 && has_room; ++save) {
                    for (QuotaState& state : std::span<QuotaState>(states)) {
                        ++state.windows[0].owed;
                    }
                    has_room = states.save(1s);
                    ++units;
                }
            }
            const TablePosition after = first_of(id, before);
            moved += before.set != after.set || before.way != after.way ? 1 : 0;
            if (!has_room) {
                break;
            }
        }
        for (const auto& of : owed) {
            first_of(of.first, {});
        }
    }
    EXPECT_GT(moved, 0);
}

TEST_F(LoadedStatesTest, UnitsThatOutgrowTheirPlaceAreNotedOnce) {
    constexpr std::int64_t kWide = std::int64_t{1} << 25U;
    Worker& worker = start();
    SimulatedZone small(7, std::size_t{70} << 10U);
    const AcquireRequest request = request_for(1, {0});
    const LockedStripe stripe(small, request.id_hash);
    const auto owe = [&](std::int64_t units) {
        LoadedStates states(stripe, worker.engine, worker.engine.quotas().unstored, request);
        QuotaState& state = std::span<QuotaState>(states).front();
        state.windows[0].owed += units;
        state.counts.noted += units;
        EXPECT_TRUE(states.save(1s));
    };
    owe(5);
    QuotaState reported;
    reported.report = Report{.number = 1};
    const Occupancy reports = stripe.quotas().reports();
    for (int id = 2; id < 50 * static_cast<int>(reports.size); ++id) {
        const AcquireRequest other = request_for(id, {0});
        stripe.quotas().save(other.place_of(other.quotas->front(), 0), reported, 1s);
    }
    owe(kWide);
    EXPECT_EQ(statistics["owed_units.noted"].value(), 5 + kWide);
    EXPECT_EQ(statistics.owed_taken.value(), 5 + kWide) << "the worker has them";
    statistics.lose_carried();
    EXPECT_EQ(statistics["owed_units.lapsed"].value(), 5 + kWide);
    EXPECT_EQ(statistics.owed_taken.value(), 0);
}

}  // namespace
}  // namespace tollgate::engine
