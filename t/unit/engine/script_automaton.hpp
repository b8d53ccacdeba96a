#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::engine {

/// The states of a Redis that executes the real scripts. What a call does depends on the data, the
/// call and the time, and on nothing else: so a real redis-server executes each of these once, and
/// a search returns to any state. Only the clock is given, and messages are collected. The time
/// must be later than that of the computer, or redis-server would drop what has a lifetime.
class ScriptAutomaton {
  public:
    /// A hash. Scripts of the nodes store nothing else.
    struct Hash {
        std::map<std::string, std::string> fields{};
        std::int64_t ends = -1;  ///< ms; -1: never
        bool operator==(const Hash&) const = default;
    };
    using Data = std::map<std::string, Hash>;
    /// The first state is 0: without data.
    using State = std::size_t;
    /// What a call leads to.
    struct Result {
        State state = 0;
        std::size_t reply = 0;                ///< see reply()
        std::vector<std::string> messages{};  ///< that were published
    };

    /// A text in a script, and what takes its place.
    using Mutant = std::pair<std::string, std::string>;

    /// With a mutant, the scripts have a defect.
    explicit ScriptAutomaton(Mutant mutant = {}) : mutant_(std::move(mutant)) { state_of({}); }

    const Data& data(State state) const { return *states_[state]; }
    /// The state with this data.
    State state_of(Data data) {
        const auto [place, is_new] = numbers_.try_emplace(text_of(data), states_.size());
        if (is_new) {
            states_.push_back(std::make_unique<Data>(std::move(data)));
        }
        return place->second;
    }
    /// The values of a reply after the token. The same values have the same number.
    redis::ReplyValues reply(std::size_t number) const {
        return redis::elements_of(*replies_[number]).subspan(1);
    }
    /// How many calls were executed.
    std::size_t executed() const { return results_.size(); }

    /// The data that has not expired.
    State at(State state, Instant now) {
        Data left = data(state);
        std::erase_if(left, [&](const auto& one) {
            return one.second.ends >= 0 && one.second.ends <= now.time_since_epoch().count();
        });
        return left.size() == data(state).size() ? state : state_of(std::move(left));
    }

    /// Executes a call at this time of Redis's clock.
    const Result& run(State from, const redis::Call& call, ExactInstant now) {
        const State state = at(from, std::chrono::floor<std::chrono::milliseconds>(now));
        std::string words(call.keys.bytes());
        words.append(call.arguments.bytes());
        const auto [place, is_new] = results_.try_emplace(
            {state, call.script, now.time_since_epoch().count(), std::move(words)});
        if (is_new) {
            place->second = execute(state, call, now);
        }
        return place->second;
    }

  private:
    using Question = std::tuple<State, const redis::Script*, std::int64_t, std::string>;

    Result execute(State state, const redis::Call& call, ExactInstant now) {
        restore(state, now);
        redis::Words words{"EVALSHA", sha_of(*call.script)};
        words.add(call.keys.size());
        words.add(call.keys);
        words.add("token");
        words.add(call.arguments);
        auto reply = redis_.run(words);
        EXPECT_EQ(reply->type, REDIS_REPLY_ARRAY) << redis::text_of(*reply);
        Result result;
        const auto [place, is_new] = reply_numbers_.try_emplace(text_of(*reply), replies_.size());
        if (is_new) {
            replies_.push_back(std::move(reply));
        }
        result.reply = place->second;
        result.state = read(result.messages);
        return result;
    }

    /// Redis has this data, and this time.
    void restore(State state, ExactInstant now) {
        constexpr std::string_view kRestore = R"lua(
            redis.call('FLUSHALL')
            redis.call('MSET', 'seconds', ARGV[1], 'microseconds', ARGV[2])
            for i = 3, #ARGV, 4 do
                redis.call('HSET', ARGV[i], ARGV[i + 2], ARGV[i + 3])
                if ARGV[i + 1] ~= '-1' then
                    redis.call('PEXPIREAT', ARGV[i], ARGV[i + 1])
                end
            end)lua";
        const auto us = now.time_since_epoch().count();
        redis::Words words{"EVAL", kRestore, "0", std::to_string(us / 1'000'000),
                           std::to_string(us % 1'000'000)};
        for (const auto& [name, hash] : data(state)) {
            for (const auto& [field, value] : hash.fields) {
                words.add(name);
                words.add(hash.ends);
                words.add(field);
                words.add(value);
            }
        }
        EXPECT_EQ(redis_.run(words)->type, REDIS_REPLY_NIL);
    }

    /// The data that Redis has now.
    State read(std::vector<std::string>& messages) {
        constexpr std::string_view kRead = R"lua(
            local found = {redis.call('LRANGE', 'published', 0, -1)}
            for _, name in ipairs(redis.call('KEYS', '*')) do
                if name ~= 'seconds' and name ~= 'microseconds' and name ~= 'published' then
                    found[#found + 1] = {name, redis.call('PEXPIRETIME', name), redis.call('HGETALL', name)}
                end
            end
            return found)lua";
        const auto reply = redis_.run({"EVAL", kRead, "0"});
        const auto found = redis::elements_of(*reply);
        EXPECT_FALSE(found.empty()) << redis::text_of(*reply);
        Data data;
        for (std::size_t i = 1; i < found.size(); ++i) {
            const auto parts = redis::elements_of(*found[i]);
            Hash& hash = data[std::string(redis::text_of(*parts[0]))];
            hash.ends = parts[1]->integer;
            const auto fields = redis::elements_of(*parts[2]);
            for (std::size_t field = 0; field < fields.size(); field += 2) {
                hash.fields.emplace(redis::text_of(*fields[field]),
                                    redis::text_of(*fields[field + 1]));
            }
        }
        if (!found.empty()) {
            for (const redisReply* message : redis::elements_of(*found[0])) {
                messages.emplace_back(redis::text_of(*message));
            }
        }
        return state_of(std::move(data));
    }

    /// Of the script with the given clock.
    const std::string& sha_of(const redis::Script& script) {
        auto& sha = shas_[&script];
        if (sha.empty()) {
            std::string text = redis::with_given_clock(script.text);
            replace(text, "redis.pcall('PUBLISH', channel, text)",
                    "redis.pcall('RPUSH', 'published', text)");
            if (!mutant_.first.empty()) {
                replace(text, mutant_.first, mutant_.second);
            }
            sha = redis_.text({"SCRIPT", "LOAD", text});
        }
        return sha;
    }
    static void replace(std::string& text, std::string_view what, std::string_view with) {
        for (auto at = text.find(what); at != std::string::npos;
             at = text.find(what, at + with.size())) {
            text.replace(at, what.size(), with);
        }
    }

    static void append(std::string& text, std::string_view part) {
        text.append(std::to_string(part.size())).append(1, ':').append(part);
    }
    static std::string text_of(const Data& data) {
        std::string text;
        for (const auto& [name, hash] : data) {
            append(text, name);
            text.append(std::to_string(hash.ends)).append(1, '(');
            for (const auto& [field, value] : hash.fields) {
                append(text, field);
                append(text, value);
            }
            text.append(1, ')');
        }
        return text;
    }
    static std::string text_of(const redisReply& reply) {
        std::string text(1, static_cast<char>('0' + reply.type));
        text.append(std::to_string(reply.integer)).append(1, ' ');
        append(text, redis::text_of(reply));
        for (const redisReply* element : redis::elements_of(reply)) {
            text.append(1, '(').append(text_of(*element)).append(1, ')');
        }
        return text;
    }

    Mutant mutant_;
    redis::RedisProcess redis_;
    std::map<const redis::Script*, std::string> shas_;
    std::map<std::string, State> numbers_;
    std::vector<std::unique_ptr<Data>> states_;  ///< their addresses are stable
    std::map<Question, Result> results_;
    std::map<std::string, std::size_t> reply_numbers_;
    std::vector<redis::ReplyPtr> replies_;
};

}  // namespace tollgate::engine
