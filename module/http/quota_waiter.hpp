#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "module/http/nginx.hpp"
#include "module/quota/quota_state.hpp"
#include "module/store/id_hash.hpp"

namespace tollgate::http {

/// Whose quotas, and what a request wants of them.
struct QuotaRequest {
    std::string_view id;  ///< a text that lives as long as who asks
    IdHash id_hash{};
    std::uint64_t api_key = 0;  ///< KeyCache::Key::hash of the key that was sent
    std::shared_ptr<const Quotas> quotas;
    Demand demand;
};

/// A request as Redis decided it.
struct Decided {
    LocalAnswer answer;  ///< never kAsk
    std::vector<WindowState> windows;
    ExactInstant now;      ///< Redis's clock
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
    friend class QuotaQueue;

    /// A place in a queue of nginx's, and who stands there.
    struct Link : ngx_queue_t {
        QuotaWaiter* waiter;
    };

    Link link_{{}, this};
    bool waits_ = false;
};

/// Those who wait, in the order in which they came; any of them may leave meanwhile.
class QuotaQueue {
  public:
    QuotaQueue() { ngx_queue_init(&head_); }
    ~QuotaQueue() {
        drain([](QuotaWaiter&) {});
    }
    QuotaQueue(QuotaQueue&& other) noexcept : QuotaQueue() { take(other); }
    QuotaQueue(const QuotaQueue&) = delete;
    QuotaQueue& operator=(QuotaQueue&&) = delete;
    QuotaQueue& operator=(const QuotaQueue&) = delete;

    void push(QuotaWaiter& waiter) {
        ngx_queue_insert_tail(&head_, &waiter.link_);
        waiter.waits_ = true;
    }

    /// Takes all of another queue behind its own.
    void take(QuotaQueue& other) {
        if (!ngx_queue_empty(&other.head_)) {
            ngx_queue_add(&head_, &other.head_);
            ngx_queue_init(&other.head_);
        }
    }

    std::int64_t length() const {
        std::int64_t length = 0;
        for (auto* link = ngx_queue_head(&head_); link != ngx_queue_sentinel(&head_);
             link = ngx_queue_next(link)) {
            ++length;
        }
        return length;
    }

    /// Lets each leave, and calls `use` with it, which may wait again, elsewhere.
    template <typename Use>
    void drain(Use use) {
        while (!ngx_queue_empty(&head_)) {
            QuotaWaiter& waiter = *static_cast<QuotaWaiter::Link*>(ngx_queue_head(&head_))->waiter;
            waiter.leave();
            use(waiter);
        }
    }

  private:
    ngx_queue_t head_{};
};

}  // namespace tollgate::http
