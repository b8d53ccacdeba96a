#include "module/management/admin/admin_request.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

using Form = QueryParameter::Form;

constexpr std::array<std::string_view, 3> kColors{"red", "green", "blue"};
constexpr std::array kParameters{
    QueryParameter{"limit", Form::kNumber, {}, 1, 100, 50},
    QueryParameter{"after"},
    QueryParameter{"name"},
    QueryParameter{"color", Form::kChoice, kColors},
    QueryParameter{"until", Form::kTime},
    QueryParameter{"day", Form::kDay},
};

Query read(std::string_view query) {
    return {query, kParameters};
}

std::string refusal(std::string_view query) {
    try {
        read(query);
        return "";
    } catch (const OperationError& error) {
        return error.what();
    }
}

TEST(QueryTest, IsDecoded) {
    const auto query = read("after=1%3a2&name=x+y&&limit=100");
    EXPECT_EQ(query.find("after"), "1:2");
    EXPECT_EQ(query.find("name"), "x y");
    EXPECT_EQ(query.number("limit"), 100);
    EXPECT_EQ(query.find("day"), std::nullopt);
    EXPECT_EQ(read("name").find("name"), "");
    EXPECT_EQ(read("").number("limit"), 50) << "without the parameter";
    EXPECT_EQ(read("until=2027-01-01T01:00:00%2b01:00").find("until"), "2027-01-01T00:00:00Z");
}

TEST(QueryTest, RefusesMistakes) {
    EXPECT_EQ(refusal("name=1&name=2"), "the parameter \"name\" is given twice");
    EXPECT_EQ(refusal("name=%4"), "the query is not percent-encoded properly");
    EXPECT_EQ(refusal("%zz=1"), "the query is not percent-encoded properly");
    EXPECT_EQ(refusal("x=1"), "\"x\" is not a parameter of this resource");
    for (const auto* number : {"0", "101", "", "1x"}) {
        EXPECT_EQ(refusal(std::string("limit=") + number),
                  "the parameter \"limit\" is not a number from 1 to 100");
    }
    EXPECT_EQ(refusal("color=pink"), "color: use red, green or blue");
    EXPECT_EQ(refusal("until=soon"), "until: use a time such as 2027-01-01T00:00:00Z");
    EXPECT_EQ(refusal("day=2027-02-29"), "day: use a day such as 2027-01-31");
    EXPECT_EQ(refusal("day=2027-02-28T00:00:00Z"), "day: use a day such as 2027-01-31");
    EXPECT_EQ(refusal("limit=1&color=red&until=2027-01-01&day=2027-01-01"), "");
}

TEST(QueryTest, OfTheNextPage) {
    EXPECT_EQ(read("").with_after("1:a"), "after=1%3Aa&limit=50");
    EXPECT_EQ(read("name=a+b&after=0&limit=2").with_after("1"), "after=1&limit=2&name=a%20b");
}

constexpr std::chrono::sys_seconds kLongAgo{};

AdminRequest a_request(const std::optional<std::string>& key, const std::string& body) {
    return {.method = "POST",
            .path = ResourcePath::of_decoded("keys"),
            .body = body,
            .idempotency_key = key,
            .actor = "key:portal"};
}

KeysOfId keys_made_by(const IdempotentRequest& request, const std::string& operation = "") {
    StoredKey key{.digest = "d"};
    key.request = request.name();
    key.operation = operation;
    return {.id = "i", .keys = {key}};
}

TEST(IdempotentRequestTest, KnowsTheKeyThatItMade) {
    const IdempotentRequest request(a_request("k", "{}"));
    EXPECT_TRUE(request.has_made(keys_made_by(request), kLongAgo));
    EXPECT_FALSE(request.has_made({.id = "i", .keys = {}}, kLongAgo));
    EXPECT_FALSE(request.has_made(keys_made_by(request, "running"), kLongAgo))
        << "an unfinished key was not shown";
    EXPECT_EQ(request.new_id(), IdempotentRequest(a_request("k", "{ }")).new_id());
}

TEST(IdempotentRequestTest, ForgetsAnOldKey) {
    using namespace std::chrono_literals;
    const IdempotentRequest request(a_request("k", "{}"));
    auto made = keys_made_by(request);
    made.keys.front().created = std::chrono::sys_seconds(1000s);
    EXPECT_TRUE(request.has_made(made, std::chrono::sys_seconds(1000s)));
    EXPECT_FALSE(request.has_made(made, std::chrono::sys_seconds(1001s)));
    const IdempotentRequest other(a_request("k", "{ }"));
    EXPECT_FALSE(other.has_made(made, std::chrono::sys_seconds(1001s))) << "nothing is reused";
}

TEST(IdempotentRequestTest, RefusesAnotherBody) {
    const IdempotentRequest first(a_request("k", "{}"));
    const IdempotentRequest other(a_request("k", "{ }"));
    EXPECT_THROW(static_cast<void>(other.has_made(keys_made_by(first), kLongAgo)), OperationError);
}

TEST(IdempotentRequestTest, OfOtherCallersAndNamesIsAnotherOne) {
    const IdempotentRequest first(a_request("k", "{}"));
    auto by_other = a_request("k", "{}");
    by_other.actor = "key:other";
    EXPECT_FALSE(IdempotentRequest(by_other).has_made(keys_made_by(first), kLongAgo));
    EXPECT_FALSE(IdempotentRequest(a_request("l", "{}")).has_made(keys_made_by(first), kLongAgo));
    EXPECT_NE(IdempotentRequest(by_other).new_id(), first.new_id());
}

TEST(IdempotentRequestTest, NeedsAName) {
    const IdempotentRequest none(a_request(std::nullopt, "{}"));
    EXPECT_EQ(none.name(), "");
    EXPECT_FALSE(none.has_made(keys_made_by(none), kLongAgo));
    EXPECT_NE(none.new_id(), none.new_id());
    EXPECT_THROW(IdempotentRequest(a_request("", "{}")), OperationError);
    EXPECT_THROW(IdempotentRequest(a_request("a b", "{}")), OperationError);
    EXPECT_THROW(IdempotentRequest(a_request(std::string(256, 'a'), "{}")), OperationError);
    EXPECT_NO_THROW(IdempotentRequest(a_request(std::string(255, 'a'), "{}")));
}

TEST(RequestName, IsThatOfTheCallerOrTheTrace) {
    const std::string trace(32, 'a');
    const std::string parent = "00-" + trace + "-00f067aa0ba902b7-01";
    EXPECT_EQ(request_name("r-1", parent), "r-1");
    EXPECT_EQ(request_name(std::nullopt, parent), trace);
    EXPECT_EQ(request_name(std::nullopt, std::nullopt), "");
    EXPECT_EQ(request_name(std::string(128, 'x'), std::nullopt), std::string(128, 'x'));
    for (const auto& id :
         {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\n")}) {
        EXPECT_EQ(request_name(id, parent), trace) << id;
    }
    for (const auto& none : {std::string(), "00-" + trace, "00-" + std::string(32, '0') + "-1",
                             "00-" + std::string(32, 'G') + "-1"}) {
        EXPECT_EQ(request_name(std::nullopt, none), "") << none;
    }
}

}  // namespace
}  // namespace tollgate::management
