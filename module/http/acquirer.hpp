#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "module/core/acquire.hpp"
#include "module/core/quota_state.hpp"
#include "module/http/nginx.hpp"
#include "module/store/id_hash.hpp"

namespace tollgate::http {

class RedisClient;

/// Whose quotas, and what a request wants of them.
struct QuotaRequest {
    std::string id;
    IdHash id_hash{};
    std::shared_ptr<const Quotas> quotas;
    Demand demand;
};

/// A request as Redis decided it.
struct Decided {
    LocalAnswer answer;  ///< never kAsk
    std::vector<WindowState> windows;
    Instant now;           ///< Redis's clock
    Instant banned_until;  ///< when banned
};

/// Waits for the quotas of a request. May go at any time: then nothing more is heard of it.
class QuotaWaiter {
  public:
    QuotaWaiter() = default;
    virtual ~QuotaWaiter() { leave(); }
    QuotaWaiter(const QuotaWaiter&) = delete;
    QuotaWaiter& operator=(const QuotaWaiter&) = delete;

    virtual void on_decided(Decided decided) noexcept = 0;
    /// What was asked for others of this id may have brought what this one needs: to be decided
    /// again.
    virtual void on_retry() noexcept = 0;
    virtual void on_unavailable() noexcept = 0;

    bool waits() const { return waits_; }
    void leave() noexcept {
        if (std::exchange(waits_, false)) {
            ngx_queue_remove(&link_);
        }
    }

  private:
    friend class Acquirer;

    /// A place in a queue of nginx's, and who stands there.
    struct Link : ngx_queue_t {
        QuotaWaiter* waiter;
    };

    static QuotaWaiter& at(ngx_queue_t* link) { return *static_cast<Link*>(link)->waiter; }

    Link link_{{}, this};
    bool waits_ = false;
};

/// Asks Redis for the quotas of a worker's requests, in as few calls as can be: while it is asked
/// for an id, further requests for that id wait, and then go together; what all ids of one turn of
/// the event loop need goes in one call. Tells Redis too what the node owes it, and gives back
/// leases.
class Acquirer {
  public:
    explicit Acquirer(RedisClient& client);
    ~Acquirer();
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
    /// Requests that are alike, of one id.
    struct Line {
        QuotaRequest request;
        ngx_queue_t waiting{};
        bool scheduled = false;  ///< in `turn_`
        bool in_flight = false;
    };
    struct Key {
        std::string id;
        const Quotas* quotas;
        std::int64_t cost;
        bool refusals_strike;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return std::hash<std::string>()(key.id) ^ std::hash<const Quotas*>()(key.quotas);
        }
    };
    using Lines = std::unordered_map<Key, Line, KeyHash>;
    class Flight;

    static Key key_of(const QuotaRequest& request);
    Line& line_of(const QuotaRequest& request);
    void schedule(Line& line);
    void depart();
    void send(std::span<Line* const> lines);
    void land(Line& line);
    void settle();
    void settle_in(ngx_msec_t delay);

    /// nginx's view of a member function.
    template <void (Acquirer::*Method)()>
    static void handle(ngx_event_t* event) noexcept;

    RedisClient& client_;
    Lines lines_;
    std::vector<Line*> turn_;  ///< to be asked for at the end of this turn of the event loop
    Lines::size_type most_a_call_ = 32;
    std::unordered_map<Key, QuotaRequest, KeyHash> to_settle_;
    bool returns_all_ = false;
    ngx_connection_t ident_{};  ///< an event's data must be shaped as one
    ngx_event_t departure_{};
    ngx_event_t settlement_{};
};

}  // namespace tollgate::http
