#include "module/cli/redis/sentinel_master.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/redis/masters.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::cli {

namespace {

using redis::SentinelSearch;
using Clock = std::chrono::steady_clock;

// A command waits longer for a Sentinel than a gateway does: it may be far away, and it asks
// rarely.
constexpr std::chrono::milliseconds kSentinelTimeout{1000};

/// Does what a SentinelSearch asks for.
class MasterSearch {
  public:
    explicit MasterSearch(const RedisUrl& url)
        : url_(url), search_(url.servers.size()), problems_(url.servers.size()) {}

    std::unique_ptr<RedisConnection> run() {
        const auto deadline = Clock::now() + kPatience;
        search_.start(Clock::now(), random());
        while (master_ == nullptr) {
            const auto step = search_.step();
            if (const auto* const ask = std::get_if<SentinelSearch::Ask>(&step)) {
                ask_sentinel(*ask);
            } else if (const auto* const confirm = std::get_if<SentinelSearch::Confirm>(&step)) {
                confirm_master(confirm->master);
            } else if (const auto* const wait = std::get_if<SentinelSearch::Wait>(&step)) {
                if (wait->until >= deadline || is_unknown()) {
                    fail();
                }
                std::this_thread::sleep_until(wait->until);
                search_.on_timer(Clock::now(), random());
            }
        }
        master_->select(url_.database);
        return std::move(master_);
    }

  private:
    /// The last problem with a Sentinel.
    struct Problem {
        std::string text;
        bool is_unknown_name = false;
    };

    void ask_sentinel(const SentinelSearch::Ask& ask) {
        Problem& problem = problems_[ask.sentinel];
        try {
            RedisConnection sentinel({.address = url_.servers[ask.sentinel], .service = "Sentinel"},
                                     url_.sentinel_login, url_.tls, kSentinelTimeout);
            sentinel.append(redis::sentinel_command(ask.question, url_.master));
            const auto reply = sentinel.receive();
            problem = problem_of(ask.sentinel, *reply);
            search_.on_answer(ask.sentinel, *reply, Clock::now(), random());
        } catch (const Failure& failure) {
            problem = {.text = failure.what()};
            search_.on_failure(ask.sentinel, Clock::now(), random());
        }
    }

    Problem problem_of(std::size_t sentinel, const redisReply& reply) const {
        const auto address = "Sentinel at " + to_text(url_.servers[sentinel]);
        const auto text = redis::text_of(reply);
        const bool is_error = reply.type == REDIS_REPLY_ERROR;
        if (reply.type == REDIS_REPLY_NIL || (is_error && text.starts_with("ERR No such master"))) {
            return {.text = address + " does not know this name", .is_unknown_name = true};
        }
        return is_error ? Problem{.text = address + ": " + std::string(text)} : Problem{};
    }

    void confirm_master(const redis::ServerAddress& address) {
        std::unique_ptr<RedisConnection> master;
        redis::ReplyPtr role;
        try {
            master = std::make_unique<RedisConnection>(Endpoint{.address = address}, url_.login,
                                                       url_.tls);
            master->append(redis::Command{"ROLE"});
            role = master->receive();
        } catch (const LoginRefused&) {
            throw;
        } catch (const Failure& failure) {
            server_problem_ = failure.what();
            search_.on_unreachable(Clock::now(), random());
            return;
        }
        if (redis::has_error_code(redis::text_of(*role), "NOAUTH")) {
            throw LoginRefused(ExitStatus::kRedis,
                               "Redis at " + to_text(address) +
                                   " requires a password: add USER:PASSWORD@ or password_file=");
        }
        server_problem_ = "Redis at " + to_text(address) + " says that it is not a master";
        search_.on_role(*role, Clock::now(), random());
        if (std::holds_alternative<SentinelSearch::Found>(search_.step())) {
            master_ = std::move(master);
        }
    }

    /// Whether waiting is useless: each Sentinel answered that it does not know the name.
    bool is_unknown() const { return std::ranges::all_of(problems_, &Problem::is_unknown_name); }

    [[noreturn]] void fail() const {
        std::string text = "no master \"" + url_.master + "\" is found";
        std::string separator = ": ";
        for (const auto& problem : problems_) {
            if (!problem.text.empty()) {
                text += std::exchange(separator, "; ");
                text += problem.text;
            }
        }
        if (!server_problem_.empty()) {
            text += separator;
            text += server_problem_;
        }
        throw Failure(ExitStatus::kRedis, text);
    }

    double random() { return std::uniform_real_distribution<>()(random_); }

    const RedisUrl& url_;
    SentinelSearch search_;
    std::vector<Problem> problems_;  ///< of each Sentinel; empty if it named a server
    std::string server_problem_;
    std::unique_ptr<RedisConnection> master_;  ///< set at the end
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<RedisConnection> connect_to_sentinel_master(const RedisUrl& url) {
    return MasterSearch(url).run();
}

std::unique_ptr<RedisConnection> connect_if_master(const RedisUrl& url,
                                                   const redis::ServerAddress& address) {
    try {
        auto server =
            std::make_unique<RedisConnection>(Endpoint{.address = address}, url.login, url.tls);
        server->append(redis::Command{"ROLE"});
        if (redis::read_role(*server->receive()) == redis::Role::kMaster) {
            server->select(url.database);
            return server;
        }
    } catch (const Failure&) {
        // A search finds another master, or says what is wrong with this one.
    }
    return nullptr;
}

}  // namespace tollgate::cli
