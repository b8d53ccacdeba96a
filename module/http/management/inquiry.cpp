#include "module/http/management/inquiry.hpp"

#include <exception>
#include <string_view>
#include <utility>

namespace tollgate::http {

/// One of the servers.
class Inquiry::Asked final : private redis::QueryOwner {
  public:
    Asked(Inquiry& inquiry, std::size_t index)
        : inquiry_(inquiry),
          index_(index),
          left_(inquiry.commands_.size()),
          query_(inquiry.access_, inquiry.servers_[index], inquiry.commands_, inquiry.timeout_,
                 static_cast<redis::QueryOwner&>(*this), inquiry.limits_) {}

  private:
    void on_reply(const redisReply& reply) noexcept override {
        try {
            inquiry_.take_(index_, reply);
        } catch (const std::exception& e) {
            ngx_log_error(NGX_LOG_CRIT, inquiry_.access_.log, 0, "tollgate: %s", e.what());
        }
        if (--left_ == 0) {
            inquiry_.note_end();
        }
    }
    void on_no_reply(std::string_view /*reason*/) noexcept override { inquiry_.note_end(); }

    Inquiry& inquiry_;
    std::size_t index_;
    std::size_t left_;  ///< number of replies
    redis::Query query_;
};

Inquiry::Inquiry(redis::Access access, std::vector<redis::SocketAddresses> servers,
                 std::vector<redis::Words> commands, std::chrono::milliseconds timeout, Take take,
                 redis::ReplyLimits limits)
    : access_(access),
      servers_(std::move(servers)),
      commands_(std::move(commands)),
      timeout_(timeout),
      take_(std::move(take)),
      limits_(limits),
      ended_(redis::Event::calling<&Inquiry::finish>(this, access.log)) {}

Inquiry::~Inquiry() = default;

void Inquiry::begin(management::Database::Done done) {
    done_ = std::move(done);
    // One more is pending until all are asked.
    pending_ = 1;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        asked_.push_back(std::make_unique<Asked>(*this, i));
        ++pending_;
    }
    note_end();
}

void Inquiry::note_end() noexcept {
    if (--pending_ == 0) {
        ended_.post();
    }
}

/// Not within a query's callback, because the task that goes on may destroy the queries.
void Inquiry::finish() noexcept {
    const auto done = std::move(done_);
    done(std::vector<management::Replies>());
}

}  // namespace tollgate::http
