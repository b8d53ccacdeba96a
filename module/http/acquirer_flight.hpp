#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "module/http/acquirer.hpp"
#include "module/http/clock.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/zone.hpp"
#include "module/quota/quota_report.hpp"
#include "module/redis/protocol/acquire_call.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::http {

/// One call: what is asked for which lines, and who waits for it.
class Acquirer::Flight : public redis::ReplyHandler {
  public:
    /// For so many lines. Throws std::bad_alloc.
    Flight(Acquirer& acquirer, std::size_t lines);
    /// Waiters hear nothing.
    ~Flight() override = default;
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    /// Takes what waits in the lines, and what Redis is to be told of them. Lines of which nothing
    /// is asked or told land. Throws std::bad_alloc; then call end().
    void prepare(std::span<Line* const> lines);
    bool empty() const { return items_.empty(); }
    /// Throws std::bad_alloc.
    redis::Call call() const;

    void on_values(std::span<const redisReply* const> values) noexcept override;
    void on_error(std::string_view message) noexcept override;
    void on_failure() noexcept override { end(Fate::kUnknown); }

    /// There is no decision: `on_failure` applies to every waiter.
    void end(Fate fate) noexcept;

  private:
    /// What is asked for one line.
    struct Item {
        explicit Item(Line& asked) : line(&asked) {}

        Line* line;
        Prepared prepared;
        QuotaQueue asking;
        std::int64_t count = 0;            ///< of requests that are asked for
        std::vector<WindowState> granted;  ///< what the last request that is granted leaves
        std::vector<WindowState> refused;  ///< what a refused one finds
        bool is_taken = false;             ///< the result is in the zone
    };

    bool add(Line& line, const LockedZone& zone);
    Acquire acquire_for(const Item& item, const Prepared& prepared) const;
    void take(const redis::AcquireResults& results);
    void take_in(Item& item, const Acquired& acquired, const LockedZone& zone, SteadyTime now);
    void tell(Item& item, const Acquired& acquired, ExactInstant now) noexcept;
    void resubmit(bool was_late) noexcept;
    void restore(const Item& item, Fate fate) noexcept;
    void give_up(Item& item, Fate fate) noexcept;

    Acquirer& acquirer_;
    ExactSteadyTime sent_;
    Instant deadline_{};  ///< of Redis's clock; 0: that is not known
    std::vector<Item> items_;
    std::vector<Acquire> acquires_;  ///< one an item
};

}  // namespace tollgate::http
