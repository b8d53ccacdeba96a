#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "module/http/nginx.hpp"
#include "module/http/quota_waiter.hpp"
#include "module/redis/event.hpp"
#include "module/store/place_hash.hpp"

namespace tollgate::http {

class RedisClient;

/// Asks Redis for the quotas of a worker's requests, in as few calls as can be: while it is asked
/// for an id, further requests for that id wait, and then go together; what all ids of one turn of
/// the event loop need goes in one call. Tells Redis too what the node owes it, and gives back
/// leases.
class Acquirer {
  public:
    explicit Acquirer(RedisClient& client);
    ~Acquirer() = default;
    Acquirer(const Acquirer&) = delete;
    Acquirer& operator=(const Acquirer&) = delete;

    /// The waiter hears of it later, once.
    void submit(QuotaWaiter& waiter, const QuotaRequest& request);

    /// The node holds a lease, owes something, or has untold strikes: Redis is to be told when no
    /// request does it.
    void settle_later(const QuotaRequest& request);
    /// Gives back all leases now: the worker shuts down.
    void settle_all();

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
    void depart();
    void send(std::span<Line* const> lines);
    void land(Line& line);
    void settle();
    void settle_in(ngx_msec_t delay);

    /// What a member function throws is logged.
    template <void (Acquirer::*Method)()>
    void call() noexcept;

    RedisClient& client_;
    std::unordered_map<Key, Line, KeyHash> lines_;
    std::vector<Line*> turn_;  ///< to be asked for at the end of this turn of the event loop
    std::size_t most_a_call_ = 32;
    std::unordered_map<Key, KeptRequest, KeyHash> to_settle_;
    bool returns_all_ = false;
    redis::Event departure_;
    redis::Event settlement_;
};

}  // namespace tollgate::http
