#include "module/management/admin/admin_request.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "module/management/admin/idempotent_request.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

TEST(QueryParametersTest, AreDecoded) {
    QueryParameters parameters("a=1%3a2&b=x+y&&c");
    EXPECT_EQ(parameters.take("a"), "1:2");
    EXPECT_EQ(parameters.take("b"), "x y");
    EXPECT_EQ(parameters.take("c"), "");
    EXPECT_EQ(parameters.take("a"), std::nullopt);
    EXPECT_NO_THROW(parameters.require_empty());
}

TEST(QueryParametersTest, RefuseMistakes) {
    EXPECT_THROW(QueryParameters("a=1&a=2"), OperationError);
    EXPECT_THROW(QueryParameters("a=%4"), OperationError);
    EXPECT_NO_THROW(QueryParameters("1&2&3&4&5&6&7&8&9&a&b&c&d&e&f&g"));
    EXPECT_THROW(QueryParameters("1&2&3&4&5&6&7&8&9&a&b&c&d&e&f&g&h"), OperationError);
    EXPECT_THROW(QueryParameters("a=%zz"), OperationError);
    EXPECT_THROW(QueryParameters("a=1").require_empty(), OperationError);
    EXPECT_THROW(QueryParameters("n=101").take_number("n", 1, 100), OperationError);
    EXPECT_THROW(QueryParameters("n=").take_number("n", 1, 100), OperationError);
    EXPECT_EQ(QueryParameters("n=100").take_number("n", 1, 100), 100);
}

constexpr std::chrono::sys_seconds kLongAgo{};

AdminRequest a_request(const std::optional<std::string>& key, const std::string& body) {
    return {.method = Method::kPost,
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

}  // namespace
}  // namespace tollgate::management
