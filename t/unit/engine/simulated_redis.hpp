#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/flight_call.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/node_calls.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"
#include "t/unit/engine/redis_model.hpp"

namespace tollgate::engine {

/// A Redis for the engine's calls: it takes the words of a call and replies in RESP. The acquire
/// script is RedisModel's.
class SimulatedRedis {
  public:
    /// The result of an acquire.
    struct Executed {
        Acquire acquire;
        std::string id;
        Acquired acquired;
        std::vector<std::string> report_keys;  ///< of the tables; empty: without a report
        std::vector<Adjustment> taken_back;    ///< see RedisModel
    };

    /// The reply to a call, without its token: an array, or an error.
    std::string run(const redis::Call& call, ExactInstant exact_now) {
        executed.clear();
        const auto keys = words_in(call.keys);
        if (call.script == &redis::lookup_script()) {
            return lookup(keys.front());
        }
        if (call.script == &redis::acquire_script()) {
            return acquire(keys, words_in(call.arguments), exact_now);
        }
        const auto now = std::chrono::floor<std::chrono::milliseconds>(exact_now);
        if (call.script == &redis::heartbeat_script()) {
            return beat(words_in(call.arguments), now);
        }
        if (call.script == &redis::changes_script()) {
            return read_changes(words_in(call.arguments), now);
        }
        if (call.script == &redis::use_script()) {
            return note_uses(keys, words_in(call.arguments), now);
        }
        if (call.script == &redis::budget_script()) {
            return share_budgets(keys, words_in(call.arguments));
        }
        if (call.script == &redis::flight_script()) {
            return give_places(words_in(call.arguments), exact_now);
        }
        ++published;
        return "*1\r\n+OK\r\n";
    }

    /// See scripts/flight.lua.
    struct Places {
        std::int64_t places = 0;
        std::int64_t version = 0;
        Instant end{};
    };

    std::map<std::string, KeyRecord> records;   ///< by the key's name in Redis
    std::map<std::string, std::string> errors;  ///< by id: the error reply to its acquires
    std::vector<Executed> executed;             ///< the acquires of the last call
    std::map<std::string, Instant> nodes;       ///< by name: until when each counts
    /// The records that changed, and when; nothing: there is no such set.
    std::optional<std::vector<std::pair<std::string, Instant>>> changes;
    RedisModel counts;
    /// By the key's name in Redis and the digest: the minute of the last use.
    std::map<std::string, std::map<std::string, Instant>> uses;
    int use_calls = 0;
    int use_writes = 0;  ///< the uses in these calls
    int published = 0;
    int heartbeats = 0;
    std::map<std::string, Places> places;  ///< by `ID:TABLE` and node
    int flight_calls = 0;
    /// The fields of the hashes of budgets, by name.
    std::map<std::string, std::map<std::string, std::int64_t>> budgets;
    int budget_calls = 0;
    int changes_read = 0;

    /// What an acquire call asks for, as executed, but without a result.
    static std::vector<Executed> asked_in(const redis::Call& call) {
        Reader reader(words_in(call.keys), words_in(call.arguments));
        return reader.read();
    }

    /// The keys of a call.
    static std::vector<std::string> keys_of(const redis::Call& call) { return words_in(call.keys); }

  private:
    using Words = std::vector<std::string>;

    std::int64_t last_version_ = 0;

    static Words words_in(const redis::Words& words) {
        Words found;
        auto rest = words.bytes();
        while (!rest.empty()) {
            const auto end = rest.find("\r\n");
            const auto size =
                static_cast<std::size_t>(std::stoull(std::string(rest.substr(1, end))));
            found.emplace_back(rest.substr(end + 2, size));
            rest.remove_prefix(end + 2 + size + 2);
        }
        return found;
    }

    /// See scripts/heartbeat.lua.
    std::string beat(const Words& arguments, Instant now) {
        ++heartbeats;
        std::erase_if(nodes, [&](const auto& node) { return node.second <= now; });
        nodes[arguments[0]] = now + std::chrono::milliseconds(std::stoll(arguments[1]));
        return "*1\r\n:" + std::to_string(nodes.size()) + "\r\n";
    }

    /// See scripts/flight.lua. Recalls are not sent.
    std::string give_places(const Words& arguments, ExactInstant exact_now) {
        ++flight_calls;
        const auto now = std::chrono::floor<std::chrono::milliseconds>(exact_now);
        const std::string of_table = arguments[0] + ":" + arguments[1] + ":";
        std::erase_if(places, [&](const auto& one) { return one.second.end <= now; });
        std::int64_t others = 0;
        for (const auto& [name, one] : places) {
            others +=
                name.starts_with(of_table) && name != of_table + arguments[2] ? one.places : 0;
        }
        Places& own = places[of_table + arguments[2]];
        const auto limit = std::stoll(arguments[3]);
        const auto wanted = std::stoll(arguments[4]);
        if (arguments[6].empty()) {
            own.places = std::max<std::int64_t>(
                {own.places, std::min(wanted, limit - others), std::stoll(arguments[9])});
        } else if (arguments[6] == std::to_string(own.version)) {
            own.places = std::min<std::int64_t>(own.places, wanted);
        } else {
            return places_reply(own, others);
        }
        own.version = std::max(exact_now.time_since_epoch().count(), last_version_ + 1);
        last_version_ = own.version;
        own.end = now + std::chrono::milliseconds(std::stoll(arguments[5]));
        const std::string reply = places_reply(own, others);
        if (own.places == 0) {
            places.erase(of_table + arguments[2]);
        }
        return reply;
    }
    static std::string places_reply(const Places& own, std::int64_t others) {
        return "*4\r\n:" + std::to_string(own.places) + "\r\n" + bulk(std::to_string(own.version)) +
               ":" + std::to_string(others) + "\r\n:0\r\n";
    }

    /// See scripts/use.lua.
    std::string note_uses(const Words& keys, const Words& arguments, Instant now) {
        ++use_calls;
        for (std::size_t i = 0; i < keys.size(); i += 2) {
            const std::chrono::milliseconds age(std::stoll(arguments[i + 3]));
            const auto minute = std::chrono::floor<std::chrono::minutes>(now - age);
            auto& last = uses[keys[i]][arguments[i + 2]];
            last = std::max<Instant>(last, minute);
            ++use_writes;
        }
        return "*1\r\n+OK\r\n";
    }

    /// See scripts/budget.lua.
    std::string share_budgets(const Words& keys, const Words& arguments) {
        ++budget_calls;
        std::size_t windows = 0;
        std::string totals;
        auto argument = arguments.begin();
        for (const std::string& key : keys) {
            const std::int64_t count = std::stoll(argument[1]);
            argument += 2;
            for (std::int64_t i = 0; i < count; ++i, argument += 5) {
                const std::int64_t current = std::stoll(argument[2]);
                std::int64_t& number = budgets[key][argument[0]];
                std::int64_t& total = budgets[key][argument[1]];
                const bool is_ahead =
                    number > current && number <= current + std::stoll(argument[3]);
                if (!is_ahead) {
                    total = (number == current ? total : 0) + std::stoll(argument[4]);
                    number = current;
                }
                totals += ":" + std::to_string(is_ahead ? -1 : total) + "\r\n";
                ++windows;
            }
        }
        return "*" + std::to_string(windows) + "\r\n" + totals;
    }

    /// See changed_names.cpp.
    std::string read_changes(const Words& arguments, Instant now) {
        ++changes_read;
        const std::chrono::milliseconds back(std::stoll(arguments[0]));
        const Instant first = arguments[1].empty()
                                  ? now - back
                                  : Instant(std::chrono::milliseconds(std::stoll(arguments[1])));
        std::multimap<Instant, std::string> sorted;
        for (const auto& [name, at] :
             changes.value_or(std::vector<std::pair<std::string, Instant>>())) {
            sorted.emplace(at, name);
        }
        std::string names;
        std::string next;
        int count = 0;
        for (auto it = sorted.lower_bound(first); it != sorted.end() && count < 400; ++it) {
            const auto age = std::max(now - it->first, std::chrono::milliseconds(0));
            names += bulk(it->second) + ":" + std::to_string(age.count()) + "\r\n";
            next = bulk(std::to_string(it->first.time_since_epoch().count()));
            ++count;
        }
        const bool has_more = count == 400;
        return (has_more ? "*3\r\n:" : "*2\r\n:") + std::string(changes ? "1" : "0") + "\r\n*" +
               std::to_string(2 * count) + "\r\n" + names + (has_more ? next : "");
    }

    std::string lookup(const std::string& key) const {
        const auto fields = redis::record_fields();
        std::string reply = "*" + std::to_string(fields.size() + 2) + "\r\n";
        const auto record = records.find(key);
        if (record == records.end()) {
            for (std::size_t i = 0; i <= fields.size(); ++i) {
                reply += "$-1\r\n";
            }
            return reply + ":-2\r\n";
        }
        const KeyRecord& found = record->second;
        for (const auto& field : fields) {
            reply += bulk(redis::stored_text(field, found));
        }
        reply += found.retiring ? "$-1\r\n:1000\r\n" : "$-1\r\n:-1\r\n";
        return reply;
    }

    static std::string bulk(std::string_view text) {
        return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
    }

    /// Reads the words of an acquire call: see acquire_script.cpp.
    class Reader {
      public:
        Reader(Words keys, Words arguments)
            : keys_(std::move(keys)), arguments_(std::move(arguments)) {}

        std::vector<Executed> read() {
            std::vector<Executed> found;
            for (std::size_t at = number_at(2); at < arguments_.size() + 2;) {
                const std::int64_t further = integer_at(at + 2);
                if (further == 1) {  // Ids that are alike, each with a lease.
                    for (std::string_view rest = arguments_[at + 1]; !rest.empty();
                         rest.remove_prefix(sizeof(std::int64_t))) {
                        found.push_back(read_id(at));
                        found.back().acquire.lease = unpacked(rest);
                    }
                    at += 4;
                    continue;
                }
                // Below 0: so many ids that follow are alike.
                for (std::int64_t ids = std::min<std::int64_t>(further, 0); ids <= 0; ++ids) {
                    found.push_back(read_id(at));
                }
                at += 3 + static_cast<std::size_t>(std::max<std::int64_t>(further, 0));
            }
            return found;
        }
        /// The node that sent the call.
        const std::string& node() const { return arguments_[kNode - 2]; }
        /// The number of the call; 0: it asks for no lease.
        std::uint64_t call() const { return std::stoull(arguments_[kNode + 1 - 2]); }

      private:
        static constexpr std::size_t kNode = 4;  ///< of ARGV

        std::size_t number_at(std::size_t argv) const {
            return static_cast<std::size_t>(integer_at(argv));
        }
        /// The number at the begin of these bytes.
        static std::int64_t unpacked(std::string_view bytes) {
            std::uint64_t number = 0;
            for (std::size_t i = sizeof(number); i > 0; --i) {
                number = number << 8U | static_cast<unsigned char>(bytes[i - 1]);
            }
            return static_cast<std::int64_t>(number);
        }
        /// ARGV[1] is the token, which the transport adds.
        std::int64_t integer_at(std::size_t argv) const { return std::stoll(arguments_[argv - 2]); }

        std::chrono::milliseconds time_at(std::size_t argv) const {
            return std::chrono::milliseconds(integer_at(argv));
        }

        static Cost read_cost(const std::string& text) {
            std::vector<QuotaCost> each;
            std::istringstream costs(text);
            for (std::string cost; std::getline(costs, cost, ',');) {
                each.push_back({std::stoll(cost), cost.ends_with('s')});
            }
            return Cost(each);
        }

        Executed read_id(std::size_t at) {
            std::size_t terms = number_at(at);
            Executed one;
            one.acquire.demand.cost = read_cost(arguments_[terms++ - 2]);
            one.acquire.count = integer_at(at + 1);
            const auto strikes = integer_at(terms++);
            if (strikes != 0) {
                one.acquire.demand.ban =
                    BanPolicy{strikes, time_at(terms), time_at(terms + 1), time_at(terms + 2)};
                // A text: for each table whether its refusals are strikes.
                const std::string& strike_in = arguments_[terms + 3 - 2];
                one.acquire.demand.refusals_strike = strike_in.find('1') != std::string::npos;
                terms += 4;
                key_ += 2;  // The set of keys and the ban.
            }
            bool has_history = false;
            Quotas quotas;
            for (std::size_t tables = number_at(terms++); tables > 0; --tables) {
                quotas.push_back(read_table(terms));
                has_history = has_history || quotas.back().history > std::chrono::days(0);
            }
            key_ += has_history && strikes == 0 ? 1 : 0;
            const std::size_t history = key_;
            key_ += has_history ? 1 : 0;
            for (TableQuota& quota : quotas) {
                read_key(quota.table, one.id);
            }
            EXPECT_TRUE(!has_history || keys_[history].ends_with("history:{" + one.id + "}"));
            const std::int64_t more = integer_at(at + 2);
            if (more > 1) {
                one.acquire.lease = integer_at(at + 3);
                read_strikes(at + 4, one.acquire);
            }
            if (more > 2) {
                read_adjustments(at + 6, quotas, one);
            }
            // The counters that values share.
            key_ +=
                static_cast<std::size_t>(std::ranges::count(quotas, 1, &TableQuota::most_values));
            one.acquire.quotas = std::make_shared<const Quotas>(std::move(quotas));
            return one;
        }
        void read_strikes(std::size_t argv, Acquire& acquire) {
            const std::string& text = arguments_[argv - 2];
            const auto colon = text.find(':');
            acquire.strikes = std::stoll(text.substr(0, colon));
            if (colon != std::string::npos) {
                acquire.struck_since = -SteadyTime(std::stoll(text.substr(colon + 1)));
            }
        }
        void read_key(std::string& table, std::string& id) {
            const std::string& key = keys_[key_++];
            const auto brace = key.find("}:");
            id = key.substr(key.find('{') + 1, brace - key.find('{') - 1);
            table = key.substr(brace + 2);
        }
        TableQuota read_table(std::size_t& terms) {
            TableQuota quota;
            auto windows = integer_at(terms++);
            quota.sliding = windows < 0;
            quota.most_values = arguments_[terms - 2].find(':') == std::string::npos ? 0 : 1;
            quota.history = std::chrono::days(integer_at(terms++));
            windows = windows < 0 ? -windows : windows;
            for (std::int64_t i = 0; i < windows; ++i, terms += 2) {
                const std::int64_t length = integer_at(terms + 1);
                quota.rates.push_back(
                    {integer_at(terms),
                     length == 0 ? Period::month() : Period(std::chrono::seconds(length / 1000))});
            }
            terms += static_cast<std::size_t>(windows) * (quota.sliding ? 3 : 2);
            return quota;
        }
        void read_adjustments(std::size_t at, const Quotas& quotas, Executed& one) {
            Acquire& acquire = one.acquire;
            for (const TableQuota& quota : quotas) {
                const std::string& text = arguments_[at++ - 2];
                acquire.report_numbers.push_back(std::stoull(text));
                LostCalls& lost = acquire.lost_calls.emplace_back();
                for (auto colon = text.find(':'); colon != std::string::npos;
                     colon = text.find(':', colon + 1)) {
                    lost.add(std::stoull(text.substr(colon + 1)), {});
                }
                one.report_keys.push_back(acquire.report_numbers.back() == 0 ? std::string()
                                                                             : keys_[key_++]);
                for (std::size_t i = 0; i < quota.rates.size(); ++i, at += 3) {
                    acquire.adjustments.push_back(
                        {integer_at(at), integer_at(at + 1), integer_at(at + 2)});
                }
            }
        }

        Words keys_;
        Words arguments_;
        std::size_t key_ = 0;
    };

    static std::string packed(std::int64_t number) {
        return {reinterpret_cast<const char*>(&number), sizeof(number)};
    }

    /// The last leases of other nodes, packed.
    static std::string leases_of(const std::vector<Executed>& executed) {
        std::string leases;
        for (std::size_t id = 0; id < executed.size(); ++id) {
            const auto& last = executed[id].acquired.leased_elsewhere;
            for (std::size_t table = 0; table < last.size(); ++table) {
                if (last[table].at != Instant{}) {
                    leases += packed(static_cast<std::int64_t>(id) + 1);
                    leases += packed(static_cast<std::int64_t>(table) + 1);
                    leases += packed(last[table].at.time_since_epoch().count());
                    leases += packed(last[table].recalled.time_since_epoch().count());
                }
            }
        }
        return leases;
    }

    std::string acquire(const Words& keys, const Words& arguments, ExactInstant exact_now) {
        const auto now = std::chrono::floor<std::chrono::milliseconds>(exact_now);
        std::string numbers;
        std::string failed;
        int elements = 1;
        const auto add = [&](std::int64_t number) { numbers += packed(number); };
        add(exact_now.time_since_epoch().count());
        const std::int64_t deadline = std::stoll(arguments[1]);
        const bool is_late = deadline != 0 && now.time_since_epoch().count() > deadline;
        Reader reader(keys, arguments);
        executed = is_late ? std::vector<Executed>() : reader.read();
        for (Executed& one : executed) {
            if (const auto error = errors.find(one.id); error != errors.end()) {
                add(-1);
                failed += "-" + error->second + "\r\n";
                ++elements;
                continue;
            }
            one.acquire.id = one.id;
            counts.node = reader.node();
            counts.call = reader.call();
            one.acquired = counts.run(one.acquire, now, one.report_keys);
            one.taken_back = counts.taken_back;
            add(one.acquired.granted);
            if (one.acquire.lease > 0) {
                add(one.acquired.lease);
            }
            if (one.acquire.demand.ban) {
                add(one.acquired.limited);
                add(one.acquired.banned_until.time_since_epoch().count());
                add(one.acquired.strikes);
            }
            auto window = one.acquired.windows.begin();
            for (const TableQuota& quota : *one.acquire.quotas) {
                for (std::size_t i = 0; i < quota.rates.size(); ++i, ++window) {
                    add(window->number);
                    add(window->count);
                    if (quota.sliding) {
                        add(window->previous);
                    }
                }
            }
            for (std::size_t table = 0; table < one.acquire.lost_calls.size(); ++table) {
                if (!one.acquire.lost_calls[table].empty()) {
                    add(static_cast<std::int64_t>(one.acquired.taken_back[table]));
                }
            }
        }
        const std::string leases = leases_of(executed);
        elements += leases.empty() ? 0 : 1;
        return "*" + std::to_string(elements) + "\r\n" + bulk(numbers) + failed +
               (leases.empty() ? "" : bulk(leases));
    }
};

}  // namespace tollgate::engine
