#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/engine/in_flight/flights.hpp"
#include "module/plan/limits.hpp"

namespace tollgate::engine {

/// The places of one request: one in each plan table that limits the requests in flight.
class FlightPlaces {
  public:
    /// The request needs a place in each of these tables that has `in_flight` and in which it costs
    /// something (see QuotaCost::room). It only shows the others. `flights` must outlive it.
    FlightPlaces(Flights& flights, std::string_view id, const IdHash& id_hash,
                 std::shared_ptr<const Quotas> quotas, Cost cost)
        : flights_(flights),
          id_(id),
          id_hash_(id_hash),
          quotas_(std::move(quotas)),
          cost_(std::move(cost)) {}
    ~FlightPlaces() { leave(); }
    FlightPlaces(const FlightPlaces&) = delete;
    FlightPlaces& operator=(const FlightPlaces&) = delete;

    bool are_required() const;

    /// Takes the places that the request does not have yet. kAsk: the waiter gets the answer for
    /// the next one of them. Throws std::bad_alloc.
    FlightAnswer enter(FlightWaiter& waiter);
    /// The waiter got a place: the request has it.
    void entered() noexcept { ++next_; }
    /// The table whose place the request takes next; after kFull: the one that has refused it.
    const TableQuota& next() const { return (*quotas_)[next_]; }
    /// Takes them while Redis is unreachable: see Flights::enter_alone. Throws std::bad_alloc.
    FlightAnswer enter_alone(bool without_limit);
    /// Gives all places back.
    void leave() noexcept;

    /// The limits of the tables. Throws std::bad_alloc.
    std::vector<FlightState> states() const;

  private:
    bool takes_place_in(std::size_t table) const {
        return (*quotas_)[table].in_flight != 0 && cost_.of(table).room() > 0;
    }
    FlightKey key_of(const TableQuota& quota) const;
    template <typename Enter>
    FlightAnswer enter_each(Enter enter);

    Flights& flights_;
    std::string id_;
    IdHash id_hash_;
    std::shared_ptr<const Quotas> quotas_;
    Cost cost_;
    std::size_t next_ = 0;  ///< the request has the places of the quotas before this one
};

/// Whether a request of a key with these quotas needs places.
bool need_places(const Quotas& quotas);

}  // namespace tollgate::engine
