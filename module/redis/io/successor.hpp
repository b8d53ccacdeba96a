#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "module/redis/io/event.hpp"
#include "module/redis/io/link.hpp"
#include "module/redis/io/probe.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::redis {

/// Is notified of the progress of a successor.
class SuccessorOwner : public Interface {
  public:
    /// The successor's link can be taken now, or can no longer be taken: see Successor::is_usable.
    /// The successor must not be destroyed before this function returns.
    virtual void on_successor_change() noexcept = 0;
};

/// A second link, to a new address, while the old one is still in use. It connects, and tests that
/// Redis accepts writes. If that fails, it tries each address in turn, again and again, until it is
/// destroyed.
class Successor : private LinkOwner, private ProbeOwner {
  public:
    /// Starts to connect at once. All arguments must outlive the successor.
    Successor(const Access& access, const SocketAddresses& addresses, const std::string& probe_key,
              ReplyLimits limits, SuccessorOwner& owner);
    /// Closes the link; no callback follows.
    ~Successor() override = default;
    Successor(const Successor&) = delete;
    Successor& operator=(const Successor&) = delete;

    /// Whether the link is ready and Redis accepts writes.
    bool is_usable() const noexcept { return is_usable_; }
    /// The address of the current attempt.
    const std::optional<SocketAddress>& address() const noexcept { return link_->address(); }
    /// Redis's clock, if the link is usable and the probe could read it.
    const std::optional<ObservedTime>& time() const noexcept { return time_; }

    /// Gives the usable link away. Afterwards the successor can only be destroyed.
    std::unique_ptr<Link> take_link() noexcept { return std::move(link_); }

  private:
    void on_ready() override;
    void on_written(std::uint64_t /*bytes*/) noexcept override {}
    void on_reply(const redisReply& reply) override;
    void on_lost(std::string_view reason) noexcept override;
    void on_accepted(const std::optional<ObservedTime>& time) noexcept override;
    void on_not_accepted(std::string_view reason) noexcept override;
    void on_timer() noexcept;

    const Access access_;
    const SocketAddresses& addresses_;
    const std::string& probe_key_;
    SuccessorOwner& owner_;
    std::unique_ptr<Link> link_;
    Pipeline pipeline_;  ///< of the probe
    bool is_usable_ = false;
    bool is_logged_ = false;
    std::size_t failures_ = 0;
    std::optional<ObservedTime> time_;
    Event timer_;
};

}  // namespace tollgate::redis
