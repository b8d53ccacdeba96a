#include "module/cli/redis/redis_session.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <thread>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/topology/key_slot.hpp"

namespace tollgate::cli {

namespace {

using management::Answer;
using management::Durability;
using Clock = std::chrono::steady_clock;

std::string address_of(const RedisConnection* master) {
    return master->server().text();
}

redis::Value send_over(const Route& route, const redis::Command& command) {
    if (!route.asking) {
        return route.master->ask(command);
    }
    route.master->append(redis::Command{"ASKING"});
    route.master->append(command);
    require_success(redis::copy_of(*route.master->receive()));
    return redis::copy_of(*route.master->receive());
}

/// The key of a command: its first argument, or of EVAL and EVALSHA the first key. Empty for a
/// command without a key: one of a single word, such as TIME, and one of kWithoutKey.
std::optional<std::string_view> key_of(const redis::Command& command) {
    constexpr std::array<std::string_view, 2> kWithoutKey{"PUBLISH", "WAIT"};
    const std::string_view name = command.front();
    if (command.size() < 2 || std::ranges::find(kWithoutKey, name) != kWithoutKey.end()) {
        return std::nullopt;
    }
    if (name == "XREADGROUP") {
        return command.at(command.size() - 2);  // of one stream
    }
    constexpr std::array<std::pair<std::string_view, std::size_t>, 4> kOthers{
        {{"EVAL", 3}, {"EVALSHA", 3}, {"XGROUP", 2}, {"XINFO", 2}}};
    const auto* const other =
        std::ranges::find(kOthers, name, [](const auto& o) { return o.first; });
    return command.at(other == kOthers.end() ? 1 : other->second);
}

/// The keys by which commands are sent. A command without a key goes to the master of the first
/// key.
std::vector<std::optional<std::string_view>> keys_of(std::span<const redis::Command> commands) {
    std::vector<std::optional<std::string_view>> keys(commands.size());
    std::ranges::transform(commands, keys.begin(), key_of);
    const auto first = std::ranges::find_if(keys, [](const auto& key) { return key.has_value(); });
    for (auto& key : keys) {
        if (!key && first != keys.end()) {
            key = *first;
        }
    }
    return keys;
}

/// The command that calls a script. The token, which identifies a reply in a pipeline with others,
/// is empty.
redis::Command eval(std::string name, const std::string& script,
                    const management::ScriptCall& call) {
    redis::Command command{std::move(name), script, std::to_string(call.keys.size())};
    command.insert(command.end(), call.keys.begin(), call.keys.end());
    command.emplace_back();
    command.insert(command.end(), call.arguments.begin(), call.arguments.end());
    return command;
}

}  // namespace

void RedisSession::reconnect() {
    used_.clear();
    is_in_step_ = false;  // Until this succeeds, the connections are the old ones.
    has_moved_ = masters_->reconnect() || has_moved_;
    is_in_step_ = true;
}

/// Calls a function that sends commands and receives all replies. If an earlier one has failed, its
/// replies may still come, and would be taken for the replies to these commands: replaces the
/// connections before. What the old ones were used for is then not confirmed.
template <typename Ask>
auto RedisSession::exchange(const Ask& ask) {
    if (!is_in_step_) {
        has_moved_ = has_moved_ || !used_.empty();
        reconnect();
    }
    is_in_step_ = false;
    auto result = ask();
    is_in_step_ = true;
    return result;
}

/// Sends the command until a server executes it or the error is the answer.
redis::Value RedisSession::send(std::optional<std::string_view> key, const redis::Command& command,
                                Use use) {
    return exchange([&] {
        redis::CallRetries retries(Clock::now() + kSearchTime);
        Route route = masters_->route(key);
        while (true) {
            auto reply = send_over(route, command);
            const auto next = reply.is_error()
                                  ? masters_->next_route(route, key, reply.text, retries)
                                  : std::nullopt;
            if (!next) {
                if (use == Use::kNoted) {
                    note_use(route, key);
                }
                return reply;
            }
            route = *next;
        }
    });
}

/// Also for a command that only reads: an operation depends on what it has read. After ASKING, the
/// server is not the master of the slot yet.
void RedisSession::note_use(const Route& route, std::optional<std::string_view> key) {
    auto& slots = used_[route.master];
    if (key && !route.asking) {
        slots.insert(redis::key_slot(*key));
    }
}

redis::Value RedisSession::run(const redis::Command& command) {
    auto reply = send(key_of(command), command);
    require_success(reply);
    return reply;
}

std::optional<redis::Value> RedisSession::run_if_accepted(const redis::Command& command) {
    auto reply = send(key_of(command), command, Use::kNotNoted);
    return reply.is_error() ? std::nullopt : std::optional(std::move(reply));
}

std::vector<redis::Value> RedisSession::run_all(std::span<const redis::Command> commands) {
    auto replies = answers_to(commands);
    std::ranges::for_each(replies, require_success);
    return replies;
}

/// Calls redis::transaction_script(). Each call has a key. The values that the script returns after
/// the token are in the order of the calls.
std::vector<std::vector<redis::Value>> RedisSession::call(
    std::span<const management::ScriptCall> calls) {
    const auto& script = redis::transaction_script();
    std::vector<redis::Command> commands;
    commands.reserve(calls.size());
    for (const auto& each : calls) {
        commands.push_back(eval("EVALSHA", script.sha1, each));
    }
    auto replies = answers_to(commands);
    std::vector<std::vector<redis::Value>> values;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (replies[i].is_error() && replies[i].text.starts_with("NOSCRIPT")) {
            const auto in_full = eval("EVAL", script.text, calls[i]);
            replies[i] = std::move(answers_to({&in_full, 1}).front());
        }
        if (replies[i].is_error()) {
            require_success(replies[i]);
        }
        auto& elements = replies[i].elements;
        elements.erase(elements.begin(), elements.begin() + (elements.empty() ? 0 : 1));
        values.push_back(std::move(elements));
    }
    return values;
}

std::vector<redis::Value> RedisSession::answers_to(std::span<const redis::Command> commands) {
    const auto keys = keys_of(commands);
    std::vector<Route> routes;
    routes.reserve(keys.size());
    auto replies = exchange([&] {
        // A route may need the slot map, which is read over one of these connections: no command
        // is appended before all routes are known.
        for (const auto& key : keys) {
            routes.push_back(masters_->route(key));
        }
        std::map<RedisConnection*, std::vector<std::size_t>> sent;
        for (std::size_t i = 0; i < commands.size(); ++i) {
            routes[i].master->append(commands[i]);
            sent[routes[i].master].push_back(i);
        }
        std::vector<redis::Value> received(commands.size());
        for (const auto& [master, indexes] : sent) {
            for (const auto i : indexes) {
                received[i] = redis::copy_of(*master->receive());
            }
        }
        return received;
    });
    for (std::size_t i = 0; i < commands.size(); ++i) {
        // A part of the keys may have moved.
        if (replies[i].is_error() &&
            redis::error_action(replies[i].text) != redis::ErrorAction::kNone) {
            replies[i] = send(keys[i], commands[i]);
        } else {
            note_use(routes[i], keys[i]);
        }
    }
    return replies;
}

std::optional<std::int64_t> RedisSession::key_count() {
    std::int64_t keys = 0;
    for (const auto& [address, size] : ask_masters({"DBSIZE"})) {
        if (size.is_error()) {
            return std::nullopt;
        }
        keys += size.integer;
    }
    return keys;
}

std::map<std::string, redis::Value> RedisSession::ask_masters(const redis::Command& command) {
    return exchange([&] {
        std::map<std::string, redis::Value> replies;
        for (auto* const master : masters_->all()) {
            replies.emplace(address_of(master), master->ask(command));
        }
        return replies;
    });
}

std::map<std::string, std::string> RedisSession::info() {
    std::map<std::string, std::string> accepted;
    for (auto& [address, reply] : ask_masters({"INFO"})) {
        if (!reply.is_error()) {
            accepted.emplace(address, std::move(reply.text));
        }
    }
    return accepted;
}

std::vector<std::string> RedisSession::scan(ScanPosition& position, const std::string& pattern,
                                            std::size_t count) {
    const auto reply = exchange([&] {
        const auto masters = masters_->all();
        auto master = std::ranges::find(masters, position.master, address_of);
        if (master == masters.end()) {
            // The first call, or the master has left the cluster: begin with the first one.
            master = masters.begin();
            position = {};
        }
        position.master = address_of(*master);
        return (*master)->ask(
            {"SCAN", position.cursor, "MATCH", pattern, "COUNT", std::to_string(count)});
    });
    require_success(reply);
    position.cursor = reply.elements.at(0).text;
    if (position.cursor == "0") {
        position = next_master(position);
    }
    return reply.elements.at(1).texts();
}

RedisSession::ScanPosition RedisSession::next_master(const ScanPosition& position) {
    const auto masters = masters_->all();
    const auto master = std::ranges::find(masters, position.master, address_of);
    const bool is_last = master == masters.end() || master + 1 == masters.end();
    return {.master = is_last ? std::string() : address_of(*(master + 1)), .cursor = "0"};
}

/// Asks over the connections that executed the changes, so that WAIT waits for them. Blocks.
class RedisSession::UsedMasters final : public management::AskedDeployment {
  public:
    explicit UsedMasters(RedisSession& session) : session_(session) {
        for (const auto& [master, slots] : session.used_) {
            masters_.push_back(master);
        }
    }

    std::size_t used_servers() const override { return masters_.size(); }
    management::Task<Answer> ask_role(std::size_t server) override {
        co_return ask(server, {"ROLE"});
    }
    management::Task<Answer> await_replica(std::size_t server) override {
        co_return ask(server, {"WAIT", "1", std::to_string(management::kReplicaTimeout.count())});
    }
    management::Electors electors() override { return session_.masters_->electors(); }
    management::Task<std::optional<Presence>> ask_presence(bool is_last) override {
        co_return session_.masters_->ask_presence(session_.used_, is_last);
    }

  private:
    /// A server that loses its role closes the connections of all clients.
    Answer ask(std::size_t server, const redis::Command& command) const {
        try {
            return masters_[server]->ask(command);
        } catch (const Failure&) {
            return management::NoAnswer::kLinkLost;
        }
    }

    RedisSession& session_;
    std::vector<RedisConnection*> masters_;
};

management::Task<Durability> RedisSession::acknowledge() {
    UsedMasters deployment(*this);
    auto durability = co_await management::acknowledge_changes(*this, deployment);
    if (durability == Durability::kUndone) {
        reconnect();
    } else if (has_moved_) {
        durability = Durability::kUndone;
    }
    if (durability == Durability::kConfirmed || durability == Durability::kUndone) {
        used_.clear();
    }
    has_moved_ = false;
    co_return durability;
}

void RedisSession::execute(std::vector<management::Transaction> transactions, Done done) {
    Outcome outcome;
    try {
        outcome = execute_all(transactions);
    } catch (const std::exception&) {
        outcome = std::current_exception();
    }
    done(std::move(outcome));
}

void RedisSession::wait(std::chrono::milliseconds time, Done done) {
    std::this_thread::sleep_for(time);
    done(std::vector<management::Replies>());
}

/// Single commands are sent as they are: a script costs Redis more.
std::vector<management::Replies> RedisSession::execute_all(
    const std::vector<management::Transaction>& transactions) {
    std::vector<management::Replies> replies;
    replies.reserve(transactions.size());
    if (std::ranges::all_of(transactions, &management::Transaction::is_plain)) {
        std::vector<redis::Command> commands;
        commands.reserve(transactions.size());
        for (const auto& transaction : transactions) {
            commands.push_back(management::plain_command(transaction.commands.front()));
        }
        auto answers = answers_to(commands);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            auto value =
                management::plain_reply(transactions[i].commands.front(), std::move(answers[i]));
            require_success(value);
            replies.emplace_back().emplace().push_back(std::move(value));
        }
        return replies;
    }
    std::vector<management::ScriptCall> calls;
    calls.reserve(transactions.size());
    for (const auto& transaction : transactions) {
        calls.push_back(call_of(transaction, keys_));
    }
    auto values = call(calls);
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        replies.push_back(replies_of(std::move(values[i]), transactions[i]));
    }
    return replies;
}

std::string escape_glob(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) {
            pattern += '\\';
        }
        pattern += c;
    }
    return pattern;
}

}  // namespace tollgate::cli
