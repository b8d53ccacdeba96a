#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "module/http/acquirer.hpp"
#include "module/http/clock.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/zone.hpp"
#include "module/redis/acquire.hpp"
#include "module/redis/pipeline.hpp"

namespace tollgate::http {

/// One call: what is asked for which lines, and who waits for it.
class Acquirer::Flight : public redis::ReplyHandler {
  public:
    /// For so many lines.
    Flight(Acquirer& acquirer, std::size_t lines) : acquirer_(acquirer), sent_(steady_time()) {
        items_.reserve(lines);
        acquires_.reserve(lines);
    }
    ~Flight() override = default;
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    void add(Line& line, const LockedZone& zone);
    redis::Call call() const {
        return redis::acquire_call(acquires_, acquirer_.client_.conf().keys);
    }
    void on_values(std::span<const redisReply* const> values) noexcept override;
    void on_error(std::string_view message) noexcept override;
    void on_failure() noexcept override { fail(); }

  private:
    /// What is asked for one line.
    struct Item {
        explicit Item(Line& asked) : line(&asked) {}

        /// The units that the adjustments give back, and those that they add.
        std::pair<std::uint64_t, std::uint64_t> adjusted() const {
            std::int64_t least = 0;
            std::int64_t most = 0;
            for (const Adjustment& adjustment : tidings.adjustments) {
                least = std::min(least, adjustment.units);
                most = std::max(most, adjustment.units);
            }
            return {static_cast<std::uint64_t>(-least), static_cast<std::uint64_t>(most)};
        }

        Line* line;
        Tidings tidings;
        QuotaQueue asking;
        std::int64_t count = 0;            ///< of those who ask
        std::vector<WindowState> granted;  ///< what the last one that is granted leaves
        std::vector<WindowState> refused;  ///< what the others find
    };

    void take(const redis::AcquireResults& results);
    void note_settled() const;
    void take_in(Item& item, const Acquired& acquired, const LockedZone& zone, SteadyTime now);
    void tell(Item& item, const Acquired& acquired);
    void refuse(Item& item, std::string_view message);
    void disappoint(Item& item);
    void restore(const Item& item);
    void fail() noexcept;
    void resubmit();

    Acquirer& acquirer_;
    SteadyTime sent_;
    std::vector<Item> items_;
    std::vector<Acquire> acquires_;  ///< one an item
};

}  // namespace tollgate::http
