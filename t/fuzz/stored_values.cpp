// What Redis has stored, as the operations on keys read it. The input is a stream of replies. A
// name, such as `HGETALL quota`, precedes each reply: see GivenReplies.

#include <algorithm>
#include <optional>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/key_filter.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/stored_key.hpp"
#include "module/management/stored_windows.hpp"
#include "module/management/usage_history.hpp"
#include "module/plan/units.hpp"
#include "module/redis/protocol/reply.hpp"
#include "t/fuzz/admin_response.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using namespace std::chrono_literals;
using namespace management;
using redis::Value;

void check_copy(const redisReply& reply, const Value& copy) {
    require(copy.text == redis::text_of(reply));
    require(copy.integer == (reply.type == REDIS_REPLY_INTEGER ? reply.integer : 0));
    require(copy.is_error() == (reply.type == REDIS_REPLY_ERROR));
    const auto elements = redis::elements_of(reply);
    require(copy.elements.size() == elements.size());
    require(copy.texts().size() == elements.size() && copy.fields().size() <= elements.size() / 2);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        check_copy(*elements[i], copy.elements[i]);
    }
}

void check_windows(const Value& hash) {
    for (const auto& [period, bucket] : read_buckets(hash)) {
        require(bucket.count >= 0 && bucket.previous >= 0);
    }
    for (const auto& [period, window] : read_windows(hash, BillingDay())) {
        const auto& [number, count, previous] = window.counted;
        require(number >= 0 && number <= window_number(kLatestInstant, period));
        require(count >= 0 && count <= Units::kMost);
        require(previous >= 0 && previous <= Units::kMost);
        for (const Instant now : {Instant{}, Instant(1'700'000'000s), kLatestInstant}) {
            const auto used = spent(roll(window.counted, period, now), period, window.sliding, now);
            require(used >= 0 && used <= 2 * Units::kMost);
        }
    }
}

/// A key is read as it was written.
void check_key(const Value& hash) {
    const auto key = read_stored_key("digest", hash, value_of(-1));
    const bool is_of_another_type = hash.kind == Value::Kind::kInteger;
    require(key.has_value() == (is_of_another_type || !hash.elements.empty()));
    // What is left of a revoked key, and what is no hash, is never written again.
    if (!key || is_of_another_type || !key->revoked_of.empty()) {
        return;
    }
    for (const auto time : {key->created, key->record.expires.value_or(key->created)}) {
        require(time.time_since_epoch() >= 0s && time <= kLatestInstant);
    }
    const auto set = write_stored_key("key", *key).front();
    Value written{.kind = Value::Kind::kArray};
    for (auto word = set.begin() + 2; word != set.end(); ++word) {
        written.elements.push_back({.kind = Value::Kind::kText, .text = *word});
    }
    const auto again = read_stored_key("digest", written, value_of(-1));
    require(again && again->record == key->record && again->replaced == key->replaced);
    require(again->operation == key->operation && again->request == key->request);
}

/// What the transaction script returns.
void check_script_values(const Value& value) {
    const Transaction plain{.commands = {{"PING"}, {"PING"}}};
    const Transaction conditional{.conditions = {{}}, .commands = {{"PING"}}};
    for (const auto* transaction : {&plain, &conditional}) {
        try {
            const auto replies = replies_of(value.elements, *transaction);
            require(replies ? replies->size() == transaction->commands.size()
                            : !transaction->conditions.empty());
            require(!replies || std::ranges::none_of(*replies, &Value::is_error));
        } catch (const OperationError& error) {
            require(error.reason() == Reason::kUnavailable);
        }
    }
}

void check_time(const Value& value) {
    try {
        const auto time = time_of_reply(value);
        require(time >= Instant{} && time <= kLatestInstant);
    } catch (const OperationError& error) {
        require(error.reason() == Reason::kUnavailable);
    }
}

GivenReplies::Given given_in(std::string_view stream) {
    redis::ReplyReader reader;
    reader.feed(stream);
    GivenReplies::Given given;
    while (const redis::ReplyPtr name = reader.next()) {
        const redis::ReplyPtr reply = reader.next();
        if (!reply) {
            break;
        }
        Value value = redis::copy_of(*reply);
        check_copy(*reply, value);
        check_windows(value);
        check_key(value);
        check_script_values(value);
        check_time(value);
        given[std::string(redis::text_of(*name))].push_back(std::move(value));
    }
    return given;
}

const std::vector<PlanTable>& tables() {
    static const std::vector<PlanTable> tables = [] {
        PlanTable api;
        api.name = "api";
        api.plans.push_back({.name = "free", .rates = {{60, 60s}, {1000, 24h}}});
        api.plans.push_back({.name = "own", .kind = Plan::Kind::kCustom, .sliding = true});
        api.default_plan = "free";
        api.history = std::chrono::days(30);
        PlanTable search;
        search.name = "search";
        search.plans.push_back(
            {.name = "free", .rates = {{1'000'000'000'000, Period::month()}}, .sliding = true});
        return std::vector{api, search};
    }();
    return tables;
}

/// The body of a response to this request. It is empty if the response is an error.
nlohmann::json body_of(const GivenReplies::Given& given, std::string_view method,
                       std::string_view path, std::string query = {}, std::string body = {}) {
    GivenReplies database(given);
    const auto response = response_to(database, known_tables(tables()).known,
                                      {.method = std::string(method),
                                       .path = ResourcePath::of_decoded(path),
                                       .query = std::move(query),
                                       .body = std::move(body),
                                       .idempotency_key = "once",
                                       .actor = "key:a"});
    auto json = check_response(response);
    return response.status == 200 ? json : nlohmann::json::object();
}

void check_usage(const nlohmann::json& usage) {
    for (const auto& window : usage.value("windows", nlohmann::json::array())) {
        const auto used = window["used"].get<std::int64_t>();
        require(used >= 0 && used <= 2 * Units::kMost);
        if (window["limit"].is_number()) {
            const auto remaining = window["remaining"].get<std::int64_t>();
            require(remaining ==
                    std::max<std::int64_t>(window["limit"].get<std::int64_t>() - used, 0));
        }
        require(window["seconds"].get<std::int64_t>() > 0);
    }
}

void check_history(const nlohmann::json& history) {
    std::string last;
    for (const auto& day : history.value("days", nlohmann::json::array())) {
        require(day["units"].get<std::int64_t>() > 0);
        const auto text = day["day"].get<std::string>();
        const auto read = parse_day(text);
        require(read && format_day(*read) == text && text >= last);
        last = text;
    }
}

}  // namespace

void check(std::string_view input) {
    const auto given = given_in(input);
    body_of(given, "GET", "keys", "limit=2");
    body_of(given, "GET", "keys", "limit=2&after=1000:k1&name=*a*b*&state=active");
    body_of(given, "GET", "keys/k1");
    check_usage(body_of(given, "GET", "keys/k1/usage"));
    check_history(body_of(given, "GET", "keys/k1/history"));
    body_of(given, "GET", "keys/k1/ban");
    body_of(given, "GET", "audit", "limit=2");
    body_of(given, "GET", "audit", "limit=2&id=k1&after=1-0");
    body_of(given, "POST", "keys", {}, R"({"plan":"free"})");
    body_of(given, "PATCH", "keys/k1", {}, R"({"meta":{"a":1}})");
    body_of(given, "POST", "keys/k1/rotate");
    body_of(given, "DELETE", "keys/k1");
    body_of(given, "DELETE", "keys/k1/ban");
}

}  // namespace tollgate::fuzz
