#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "module/http/nginx.hpp"
#include "module/http/quota_waiter.hpp"
#include "module/redis/io/event.hpp"
#include "module/store/place_hash.hpp"

namespace tollgate::http {

class RedisClient;

/// Asks Redis for the quotas of a worker's requests, in as few calls as can be: while it is asked
/// for an id, further requests for that id wait, and then go together; what all ids of one turn of
/// the event loop need goes in one call.
class Acquirer {
  public:
    explicit Acquirer(RedisClient& client);
    /// Waiters hear nothing more.
    ~Acquirer() = default;
    Acquirer(const Acquirer&) = delete;
    Acquirer& operator=(const Acquirer&) = delete;

    /// The waiter hears of it later, once. Throws std::bad_alloc; it then does not wait.
    void submit(QuotaWaiter& waiter, const QuotaRequest& request);

    /// Tells Redis what it does not know of these quotas, and gives back leases that are of no use,
    /// though no request waits. Throws std::bad_alloc.
    void settle(const QuotaRequest& request);

    /// Sends what was submitted, which else happens at the end of this turn of the event loop.
    void depart() noexcept;

  private:
    /// A request that outlives who asked, and its id with it.
    struct KeptRequest : QuotaRequest {
        explicit KeptRequest(const QuotaRequest& request)
            : QuotaRequest(request), own_id(request.id) {
            id = own_id;
        }
        ~KeptRequest() = default;
        KeptRequest(const KeptRequest&) = delete;
        KeptRequest& operator=(const KeptRequest&) = delete;

        std::string own_id;
    };
    /// Requests that are alike, of one id.
    struct Line {
        explicit Line(const QuotaRequest& first) : request(first) {}

        KeptRequest request;
        QuotaQueue waiting;
        bool scheduled = false;  ///< in `turn_`
        bool in_flight = false;
        bool was_late = false;       ///< Redis refused the last call for its deadline
        bool settles_again = false;  ///< once more when it has landed
    };
    /// What they are alike in.
    struct Key {
        IdHash id;
        const Quotas* quotas;
        std::int64_t cost;
        bool refusals_strike;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return place_hash(std::span(key.id).first<sizeof(std::uint64_t)>(), 0) ^
                   std::hash<const Quotas*>()(key.quotas);
        }
    };
    class Flight;

    static Key key_of(const QuotaRequest& request);
    Line& line_of(const QuotaRequest& request);
    void schedule(Line& line);
    void schedule_or_give_up(Line& line) noexcept;
    void send(std::span<Line* const> lines) noexcept;
    void land(Line& line) noexcept;
    void give_up(Line& line) noexcept;

    RedisClient& client_;
    std::string node_;  ///< see report_node
    std::unordered_map<Key, Line, KeyHash> lines_;
    std::vector<Line*> turn_;  ///< to be asked for at the end of this turn of the event loop
    std::size_t most_a_call_ = 32;
    redis::Event departure_;
};

}  // namespace tollgate::http
