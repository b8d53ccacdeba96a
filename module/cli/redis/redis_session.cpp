#include "module/cli/redis/redis_session.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Sends the commands, after ASKING if the route needs it: with MULTI, it applies up to EXEC.
std::vector<RedisReply> send_over(const Route& route, std::span<const RedisCommand> commands) {
    if (!route.asking) {
        return route.master->ask_all(commands);
    }
    std::vector<RedisCommand> with_asking{{"ASKING"}};
    std::ranges::copy(commands, std::back_inserter(with_asking));
    auto replies = route.master->ask_all(with_asking);
    require_success(replies.front());
    replies.erase(replies.begin());
    return replies;
}

/// The first error reply. A transaction that has one was not executed.
const std::string* error_in(const std::vector<RedisReply>& replies) {
    const auto error = std::ranges::find_if(replies, &RedisReply::is_error);
    return error == replies.end() ? nullptr : &error->text;
}

redis::CallRetries new_retries() {
    return redis::CallRetries(Clock::now() + kPatience);
}

std::optional<std::string_view> first_key(std::span<const RedisCommand> commands) {
    for (const auto& command : commands) {
        if (const auto key = key_of(command)) {
            return key;
        }
    }
    return std::nullopt;
}

/// The reply to EXEC. Empty if a watched key has changed.
std::optional<std::vector<RedisReply>> executed(std::vector<RedisReply> replies) {
    std::ranges::for_each(replies, require_success);
    if (replies.back().is_nil()) {
        return std::nullopt;
    }
    return std::move(replies.back().elements);
}

}  // namespace

void RedisSession::reconnect() {
    watch_.reset();
    watch_retries_.reset();
    changed_.clear();
    masters_->reconnect();
}

/// Sends the commands, which are one command or one transaction, until a server executes them or
/// the error is the answer.
RedisSession::Answer RedisSession::send(std::optional<std::string_view> key,
                                        std::span<const RedisCommand> commands) {
    auto retries = new_retries();
    Route route = masters_->route(key);
    while (true) {
        auto replies = send_over(route, commands);
        const auto* const error = error_in(replies);
        const auto next =
            error == nullptr ? std::nullopt : masters_->next_route(route, key, *error, retries);
        if (!next) {
            return {.route = route, .replies = std::move(replies)};
        }
        route = *next;
    }
}

RedisReply RedisSession::run(const RedisCommand& command) {
    auto replies = send(key_of(command), {&command, 1}).replies;
    require_success(replies.front());
    return std::move(replies.front());
}

std::optional<RedisReply> RedisSession::run_if_accepted(const RedisCommand& command) {
    auto replies = send(key_of(command), {&command, 1}).replies;
    return replies.front().is_error() ? std::nullopt : std::optional(std::move(replies.front()));
}

std::vector<RedisReply> RedisSession::run_all(std::span<const RedisCommand> commands) {
    const auto first = first_key(commands);
    std::map<RedisConnection*, std::vector<std::size_t>> sent;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const auto key = key_of(commands[i]);
        auto* const master = masters_->route(key ? key : first).master;
        master->append(commands[i]);
        sent[master].push_back(i);
    }
    std::vector<RedisReply> replies(commands.size());
    for (const auto& [master, indexes] : sent) {
        for (const auto i : indexes) {
            replies[i] = copy_of(*master->receive());
        }
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
        // A part of the keys may have moved.
        if (replies[i].is_error() &&
            redis::error_action(replies[i].text) != redis::ErrorAction::kNone) {
            replies[i] = std::move(send(key_of(commands[i]), commands.subspan(i, 1)).replies[0]);
        }
        require_success(replies[i]);
    }
    return replies;
}

Instant RedisSession::time(const std::string& key) {
    const RedisCommand command{"TIME"};
    const auto replies = send(key, {&command, 1}).replies;
    require_success(replies.front());
    return time_of_reply(replies.front());
}

std::optional<std::int64_t> RedisSession::key_count() {
    std::int64_t keys = 0;
    for (auto* const master : masters_->all()) {
        const auto size = master->ask({"DBSIZE"});
        if (size.is_error()) {
            return std::nullopt;
        }
        keys += size.integer;
    }
    return keys;
}

void RedisSession::watch(const std::string& key) {
    const RedisCommand command{"WATCH", key};
    const auto answer = send(key, {&command, 1});
    require_success(answer.replies.front());
    watch_ = Watch{.route = answer.route, .key = key};
}

void RedisSession::unwatch() {
    if (const auto watch = std::exchange(watch_, std::nullopt)) {
        require_success(watch->route.master->ask({"UNWATCH"}));
    }
}

std::optional<std::vector<RedisReply>> RedisSession::run_atomically(
    std::vector<RedisCommand> commands) {
    commands.insert(commands.begin(), RedisCommand{"MULTI"});
    commands.push_back(RedisCommand{"EXEC"});
    if (watch_) {
        return run_watched(commands);
    }
    auto answer = send(first_key(commands), commands);
    changed_.insert(answer.route.master);
    return executed(std::move(answer.replies));
}

/// The transaction must run where the key is watched. If the key is no longer served there, the
/// caller watches it again.
std::optional<std::vector<RedisReply>> RedisSession::run_watched(
    const std::vector<RedisCommand>& commands) {
    const auto [route, key] = *std::exchange(watch_, std::nullopt);
    auto replies = send_over(route, commands);
    if (const auto* const error = error_in(replies)) {
        watch_retries_ = watch_retries_.value_or(new_retries());
        if (masters_->next_route(route, key, *error, *watch_retries_)) {
            return std::nullopt;
        }
    } else {
        watch_retries_.reset();
    }
    changed_.insert(route.master);
    return executed(std::move(replies));
}

std::vector<std::string> RedisSession::scan(ScanPosition& position, const std::string& pattern,
                                            std::size_t count) {
    const auto masters = masters_->all();
    const auto address_of = [](const RedisConnection* master) { return master->endpoint().text(); };
    auto master = std::ranges::find(masters, position.master, address_of);
    if (master == masters.end()) {
        // The first call, or the master has left the cluster: begin with the first one.
        master = masters.begin();
        position = {};
    }
    const auto reply =
        (*master)->ask({"SCAN", position.cursor, "MATCH", pattern, "COUNT", std::to_string(count)});
    require_success(reply);
    position = {.master = address_of(*master), .cursor = reply.elements.at(0).text};
    if (position.cursor == "0") {
        ++master;
        position.master = master == masters.end() ? std::string() : address_of(*master);
    }
    return reply.elements.at(1).texts();
}

Replication RedisSession::await_replicas() {
    for (auto* const master : std::exchange(changed_, {})) {
        const auto role = master->ask({"ROLE"});
        if (role.is_error()) {
            return Replication::kForbidden;
        }
        const bool is_master = role.elements.size() == 3 && role.elements.front().text == "master";
        if (is_master && role.elements.back().elements.empty()) {
            continue;
        }
        const auto confirmed = master->ask({"WAIT", "1", "1000"});
        if (is_master && confirmed.is_error()) {
            return Replication::kForbidden;
        }
        if (confirmed.integer < 1) {
            return Replication::kUnconfirmed;
        }
    }
    return Replication::kConfirmed;
}

}  // namespace tollgate::cli
