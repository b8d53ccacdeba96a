// A request of tollgate_admin: a line with the method and the target, a line with the
// Idempotency-Key, and the body.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/key_index.hpp"
#include "module/management/usage_history.hpp"
#include "module/text/percent_encoding.hpp"
#include "module/text/rfc3339.hpp"
#include "t/fuzz/admin_response.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using namespace std::chrono_literals;
using namespace management;
using redis::Value;

Value entry_of(const std::string& place, const std::string& id) {
    Value entry = array_of({place, ""});
    entry.elements.back() = array_of({"actor", "key:a", "action", "issue", "id", id});
    return entry;
}

/// Two ids, each with the same key, a group, and what else Redis may know of them.
GivenReplies database() {
    static const GivenReplies::Given given = [] {
        Value entries{.kind = Value::Kind::kArray};
        entries.elements = {entry_of("1700000000000-0", "k1"), entry_of("1700000000000-1", "k2")};
        return GivenReplies::Given{
            {"TIME", {array_of({"1700000000", "0"})}},
            {"ZRANGE ids", {array_of({"k1", "1000", "k2", "1000.5"}), array_of({})}},
            {"ZRANK ids", {value_of(0)}},
            {"ZSCORE ids", {Value{.kind = Value::Kind::kText, .text = "1000"}}},
            {"SMEMBERS id", {array_of({"digest"})}},
            {"HGETALL key",
             {array_of({"id", "k1", "name", "Fest & Co", "plan", "free", "state", "active",
                        "created", "1000", "expires", "1800000000", "meta", R"({"a":1})"})}},
            {"PTTL key", {value_of(-1)}},
            {"HGETALL quota", {array_of({"60.number", "28333333", "60.count", "7"})}},
            {"HGETALL history", {array_of({"api:19000", "5"})}},
            {"HGETALL ban", {array_of({"until", "1800000000000", "level", "1"})}},
            {"ZRANGEBYLEX groups", {array_of({"acme"}), array_of({})}},
            {"HGETALL group", {array_of({"id", "acme", "plan", "free"})}},
            {"ZRANGEBYLEX index",
             {array_of({"name:fest & co\nk1", "meta:a=1\n000000001000:k1", "x"}), array_of({})}},
            {"ZSCORE index", {array_of({"0"}).elements.front()}},
            {"HSCAN history", {page_of({"api:19000", "5"})}},
            {"HMGET quota", {array_of({"19001", "3"})}},
            {"XRANGE audit", {entries, array_of({})}},
        };
    }();
    return GivenReplies(given);
}

const PlanTable& table() {
    static const PlanTable table = [] {
        PlanTable api;
        api.name = "api";
        api.plans.push_back({.name = "free", .rates = {{60, 60s}}});
        api.history = std::chrono::days(30);
        return api;
    }();
    return table;
}

std::string_view take_line(std::string_view& text) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

AdminRequest request_in(std::string_view input) {
    AdminRequest request{.actor = "key:a"};
    auto line = take_line(input);
    const auto method = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(method.size() + 1, line.size()));
    request.method = method;
    const auto path = line.substr(0, line.find('?'));
    // nginx refuses a URI that is not encoded properly.
    request.path = ResourcePath::below("/", "/" + std::string(path))
                       .value_or(ResourcePath::of_decoded("improper"));
    request.query = line.substr(std::min(path.size() + 1, line.size()));
    if (!input.empty()) {
        request.idempotency_key = take_line(input);
    }
    request.body = input;
    return request;
}

bool matches(const ResourcePath& path, std::string_view pattern) {
    for (const auto& segment : path.segments()) {
        const auto wanted = pattern.substr(0, pattern.find('/'));
        if (wanted.empty() || (wanted != "{id}" && wanted != segment)) {
            return false;
        }
        pattern.remove_prefix(std::min(wanted.size() + 1, pattern.size()));
    }
    return pattern.empty();
}

bool is_served(const ResourcePath& path) {
    return find_endpoint([&](const Endpoint& endpoint) { return matches(path, endpoint.path); }) !=
           nullptr;
}

void check_request(const AdminRequest& request) {
    auto redis = database();
    const auto response = response_to(redis, {&table()}, request);
    const auto body = check_response(response);
    require(response.status != 201 && response.status != 204);
    if (response.status == 404) {
        require((body["code"] == "not_found") == !is_served(request.path));
    } else {
        require(is_served(request.path));
    }
    require(response.status != 405 || response.fields.size() == 1);
    if (response.status == 200 && request.path.text() == "keys" && body["next"].is_string()) {
        const auto next = body["next"].get<std::string>();
        require(ListCursor::of_cursor(next) || IndexedName::of_cursor(next));
    }
}

void check_idempotency_key(const AdminRequest& request) {
    const auto& key = request.idempotency_key;
    const bool is_valid =
        !key || (!key->empty() && key->size() <= 255 &&
                 std::ranges::all_of(*key, [](char c) { return c > 32 && c < 127; }));
    try {
        const IdempotentRequest idempotent(request);
        require(is_valid && idempotent.name().size() == (key ? 64 : 0));
        require(is_valid_key_id(idempotent.new_id()));
        require(!key || idempotent.new_id() == IdempotentRequest(request).new_id());
        AdminRequest other = request;
        other.body += "x";
        require(!key ||
                (IdempotentRequest(other).name() != idempotent.name() &&
                 IdempotentRequest(other).name_without_body() == idempotent.name_without_body()));
    } catch (const OperationError& error) {
        require(!is_valid && error.reason() == Reason::kInvalid);
    }
}

void check_encoding(std::string_view text) {
    const auto encoded = percent_encode(text);
    require(encoded.find_first_of("&=+% ") == encoded.find('%'));
    const std::array parameters{QueryParameter{text}};
    require(Query(encoded + "=" + encoded, parameters).find(text) == text);
}

void check_query(const std::string& query) {
    using Form = QueryParameter::Form;
    static constexpr std::array kParameters{
        QueryParameter{"limit", Form::kNumber, {}, 1, 100, 50}, QueryParameter{"after"},
        QueryParameter{"state", Form::kChoice, kStates},
        QueryParameter{"expires_before", Form::kTime}, QueryParameter{"from", Form::kDay}};
    try {
        const Query read(query, kParameters);
        const auto limit = read.number("limit");
        require(limit >= 1 && limit <= 100);
        // The query of the next page is the same with another place.
        const Query next(read.with_after(query), kParameters);
        require(next.find("after") == query);
        for (const auto* name : {"limit", "state", "expires_before", "from"}) {
            require(read.find(name) == next.find(name));
        }
    } catch (const OperationError& error) {
        require(error.reason() == Reason::kInvalid);
    }
}

void check_place(const ListCursor& place) {
    const auto again = ListCursor::of_cursor(place.cursor());
    require(again && *again == place);
}

void check_cursors(std::string_view text) {
    if (const auto place = ListCursor::of_cursor(text)) {
        require(std::isfinite(place->created) && is_valid_key_id(place->id));
        check_place(*place);
    }
    double created = 0;
    if (text.size() >= sizeof(created)) {
        std::memcpy(&created, text.data(), sizeof(created));
        if (std::isfinite(created)) {
            check_place({.created = created, .id = "k1"});
        }
    }
}

void check_times(std::string_view text) {
    if (const auto time = parse_rfc3339(text)) {
        const auto written = format_time(*time);
        require(written.size() == 20 && parse_rfc3339(written) == time);
    }
    if (const auto day = parse_day(text)) {
        require(format_day(*day) == text);
    }
}

}  // namespace

void check(std::string_view input) {
    const AdminRequest request = request_in(input);
    check_request(request);
    check_idempotency_key(request);
    check_encoding(input);
    check_query(request.query);
    const auto value =
        request.query.substr(std::min(request.query.find('=') + 1, request.query.size()));
    for (const auto text : {input, std::string_view(value)}) {
        check_cursors(text);
        check_times(text);
    }
}

}  // namespace tollgate::fuzz
