// Deployments with one master, which serves all keys: a server, or what Sentinels watch.

#include <algorithm>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include "module/cli/redis/masters.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::cli {

namespace {

using redis::SentinelSearch;
using Clock = std::chrono::steady_clock;
using Connection = std::unique_ptr<RedisConnection>;

class OneMaster : public Masters {
  public:
    Route route(std::optional<std::string_view> /*key*/) override { return {master_.get()}; }
    std::optional<Route> next_route(const Route& /*asked*/, std::optional<std::string_view> /*key*/,
                                    const std::string& /*error*/,
                                    redis::CallRetries& /*retries*/) override {
        return std::nullopt;
    }
    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return true;
    }
    std::vector<RedisConnection*> all() override { return {master_.get()}; }

  protected:
    OneMaster(RedisUrl url, Connection master) : url_(std::move(url)), master_(std::move(master)) {}

    const RedisUrl& url() const { return url_; }
    const redis::ServerAddress& address() const { return master_->server().address; }
    /// Returns whether it is another server.
    bool replace(Connection master) {
        const bool differs = !(master->server().address == address());
        master_ = std::move(master);
        return differs;
    }

  private:
    RedisUrl url_;
    Connection master_;
};

Connection connect_to_server(const RedisUrl& url) {
    const auto address = url.servers.empty() ? redis::ServerAddress() : url.servers.front();
    auto server = std::make_unique<RedisConnection>(
        NamedServer{.address = address, .path = url.path}, url.login, url.tls);
    server->select(url.database);
    return server;
}

/// One Redis that is always the master.
class SingleServer final : public OneMaster {
  public:
    explicit SingleServer(const RedisUrl& url) : OneMaster(url, connect_to_server(url)) {}
    management::Electors electors() const override { return management::Electors::kNone; }
    std::optional<Presence> ask_presence(const SlotsByMaster& /*used*/, bool /*is_last*/) override {
        return Presence::kPresent;
    }
    bool reconnect() override { return replace(connect_to_server(url())); }
};

RedisConnection connect_to_sentinel(const RedisUrl& url, const redis::ServerAddress& sentinel) {
    return {
        {.address = sentinel, .service = "Sentinel"}, url.sentinel_login, url.tls, kWitnessTimeout};
}

/// Does what a SentinelSearch asks for. Searches for kSearchTime, and asks each Sentinel at least
/// once.
class MasterSearch {
  public:
    explicit MasterSearch(const RedisUrl& url)
        : url_(url), search_(url.servers.size()), problems_(url.servers.size()) {}

    /// Throws LoginRefused if the master refuses the password, and Failure with what each Sentinel
    /// and the last server answered if no server is the master.
    Connection run() {
        const auto deadline = Clock::now() + kSearchTime;
        search_.start(Clock::now(), random());
        while (master_ == nullptr) {
            const auto step = search_.step();
            if (const auto* const ask = std::get_if<SentinelSearch::Ask>(&step)) {
                ask_sentinel(*ask);
            } else if (const auto* const confirm = std::get_if<SentinelSearch::Confirm>(&step)) {
                confirm_master(confirm->master);
            } else if (const auto* const wait = std::get_if<SentinelSearch::Wait>(&step)) {
                // Waiting is useless if each Sentinel answered that it does not know the name.
                if (wait->until >= deadline ||
                    std::ranges::all_of(problems_, &Problem::is_unknown_name)) {
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
            auto sentinel = connect_to_sentinel(url_, url_.servers[ask.sentinel]);
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
        Connection master;
        redis::ReplyPtr role;
        try {
            master = std::make_unique<RedisConnection>(NamedServer{.address = address}, url_.login,
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

    [[noreturn]] void fail() const {
        std::string text = "no master \"" + url_.master + "\" is found";
        std::string separator = ": ";
        for (const auto& problem : problems_) {
            if (!problem.text.empty()) {
                text += std::exchange(separator, "; ");
                text += problem.text;
            }
        }
        throw Failure(ExitStatus::kRedis,
                      server_problem_.empty() ? text : text + separator + server_problem_);
    }

    double random() { return std::uniform_real_distribution<>()(random_); }

    const RedisUrl& url_;
    SentinelSearch search_;
    std::vector<Problem> problems_;  ///< of each Sentinel; empty if it named a server
    std::string server_problem_;
    Connection master_;  ///< set at the end
    std::minstd_rand random_{std::random_device{}()};
};

/// The state and the address: see redis::agree_on_master(). Nothing if the Sentinel is down.
std::optional<redis::MasterState> ask_sentinel(const RedisUrl& url,
                                               const redis::ServerAddress& address) {
    try {
        auto sentinel = connect_to_sentinel(url, address);
        sentinel.append(sentinel_command(SentinelSearch::Question::kState, url.master));
        sentinel.append(sentinel_command(SentinelSearch::Question::kAddress, url.master));
        auto state = redis::read_master_state(*sentinel.receive());
        auto named = redis::read_master_address(*sentinel.receive());
        if (state && named) {
            state->address = std::move(*named);
            return state;
        }
    } catch (const Failure&) {
        return std::nullopt;
    }
    return std::nullopt;
}

/// The master that Sentinels name.
class SentinelMaster final : public OneMaster {
  public:
    explicit SentinelMaster(const RedisUrl& url) : OneMaster(url, MasterSearch(url).run()) {}

    management::Electors electors() const override { return management::Electors::kSentinels; }
    std::optional<Presence> ask_presence(const SlotsByMaster& /*used*/, bool /*is_last*/) override {
        std::vector<redis::MasterState> answers;
        for (const auto& sentinel : url().servers) {
            if (auto answer = ask_sentinel(url(), sentinel)) {
                answers.push_back(std::move(*answer));
            }
        }
        auto agreement = redis::agree_on_master(answers, url().servers.size(), address());
        named_ = std::move(agreement.other);
        return agreement.presence;
    }

    bool reconnect() override {
        auto master = named_ ? connect_to_named() : nullptr;
        return replace(master != nullptr ? std::move(master) : MasterSearch(url()).run());
    }

  private:
    /// The Sentinel that a search asks first may not know the new master yet. Returns nullptr if
    /// the server does not say that it is the master: a search finds another one, or says what is
    /// wrong with this one.
    Connection connect_to_named() {
        try {
            auto server = std::make_unique<RedisConnection>(
                NamedServer{.address = *std::exchange(named_, {})}, url().login, url().tls);
            server->append(redis::Command{"ROLE"});
            if (redis::read_role(*server->receive()) == redis::Role::kMaster) {
                server->select(url().database);
                return server;
            }
        } catch (const Failure&) {
            return nullptr;
        }
        return nullptr;
    }

    std::optional<redis::ServerAddress> named_;  ///< instead of the master, by the last failover
};

}  // namespace

std::unique_ptr<Masters> connect_to_masters(const RedisUrl& url) {
    switch (url.kind) {
        case RedisUrl::Kind::kCluster:
            return connect_to_cluster(url);
        case RedisUrl::Kind::kSentinel:
            return std::make_unique<SentinelMaster>(url);
        case RedisUrl::Kind::kServer:
            break;
    }
    return std::make_unique<SingleServer>(url);
}

}  // namespace tollgate::cli
