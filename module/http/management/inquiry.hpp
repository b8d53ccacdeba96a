#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "module/http/redis/redis_client.hpp"
#include "module/management/database.hpp"
#include "module/redis/io/event.hpp"
#include "module/redis/io/query.hpp"

namespace tollgate::http {

/// Sends the same commands to several servers at once, over links of their own.
class Inquiry {
  public:
    /// Receives each reply: the index of the server, and the reply to its next command.
    using Take = std::function<void(std::size_t server, const redisReply& reply)>;

    /// A server that does not answer all commands within `timeout` is left out. What `access` and
    /// `take` refer to must outlive the object.
    Inquiry(redis::Access access, std::vector<redis::SocketAddresses> servers,
            std::vector<redis::Words> commands, std::chrono::milliseconds timeout, Take take,
            redis::ReplyLimits limits = {});
    ~Inquiry();
    Inquiry(const Inquiry&) = delete;
    Inquiry& operator=(const Inquiry&) = delete;

    /// Asks, and ends when no server has a reply left. Call it once. The object must outlive it.
    auto ask() {
        return management::await<std::vector<management::Replies>>(
            [this](auto done) { begin(std::move(done)); });
    }

  private:
    class Asked;

    void begin(management::Database::Done done);
    void note_end() noexcept;
    void finish() noexcept;

    redis::Access access_;
    std::vector<redis::SocketAddresses> servers_;
    std::vector<redis::Words> commands_;
    std::chrono::milliseconds timeout_;
    Take take_;
    redis::ReplyLimits limits_;
    management::Database::Done done_;
    std::size_t pending_ = 0;  ///< servers
    redis::Event ended_;
    std::vector<std::unique_ptr<Asked>> asked_;
};

}  // namespace tollgate::http
