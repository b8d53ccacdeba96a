#include "module/management/key_filter.hpp"

#include <gtest/gtest.h>

#include "module/management/indexed_fields.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

class KeyFilterTest : public testing::Test {
  protected:
    static constexpr std::chrono::sys_seconds kNow{1'800'000'000s};
    KeysOfId keys_{.id = "k",
                   .keys = {{.digest = "d",
                             .record = {.id = "k",
                                        .name = "ACME (main)",
                                        .plan = "free",
                                        .limits = {},
                                        .expires = kNow + 100s}}}};

    bool matches(const KeyFilter& filter) const { return management::matches(filter, keys_, kNow); }
};

TEST_F(KeyFilterTest, WithoutValuesMatchesAll) {
    EXPECT_TRUE(matches({}));
    keys_.keys.clear();
    EXPECT_TRUE(matches({}));
}

TEST_F(KeyFilterTest, MatchesTheWholePlan) {
    EXPECT_TRUE(matches({.plan = "free"}));
    EXPECT_FALSE(matches({.plan = "fre"}));
    keys_.keys.clear();
    EXPECT_FALSE(matches({.plan = "free"}));
}

TEST_F(KeyFilterTest, MatchesTheState) {
    EXPECT_TRUE(matches({.state = "active"}));
    keys_.keys[0].record.active = false;
    EXPECT_TRUE(matches({.state = "disabled"}));
    EXPECT_FALSE(matches({.state = "active"}));
    keys_.keys.clear();
    EXPECT_TRUE(matches({.state = "none"}));
}

TEST_F(KeyFilterTest, MatchesAScope) {
    keys_.keys[0].record.scopes = "pets:read pets:write";
    EXPECT_TRUE(matches({.scope = "pets:write"}));
    EXPECT_FALSE(matches({.scope = "pets"}));
    keys_.keys.clear();
    EXPECT_FALSE(matches({.scope = "pets:write"}));
}

TEST_F(KeyFilterTest, MatchesAMemberOfTheMeta) {
    keys_.keys[0].record.meta = R"({"contract":4711,"note":"a=b","vip":true})";
    EXPECT_TRUE(matches({.meta = "contract=4711"}));
    EXPECT_TRUE(matches({.meta = "note=a=b"}));
    EXPECT_TRUE(matches({.meta = "vip=true"}));
    EXPECT_FALSE(matches({.meta = "contract=471"}));
    EXPECT_FALSE(matches({.meta = "other=4711"}));
    keys_.keys[0].record.meta = "no meta";
    EXPECT_FALSE(matches({.meta = "contract=4711"}));
}

TEST(NamePatternTest, MatchesHowANameBegins) {
    const NamePattern pattern("ACMÉ");
    EXPECT_TRUE(pattern.is_prefix());
    EXPECT_EQ(pattern.prefix(), "acmé");
    EXPECT_TRUE(pattern.matches("acmé gmbh"));
    EXPECT_EQ(NamePattern("").prefix(), "");
}

TEST(NamePatternTest, MatchesAPatternOfTheWholeName) {
    const NamePattern pattern("Acme *Shop?");
    EXPECT_FALSE(pattern.is_prefix());
    EXPECT_EQ(pattern.prefix(), "acme ");
    EXPECT_TRUE(pattern.matches("acme shops"));
    EXPECT_TRUE(pattern.matches("acme big shops"));
    EXPECT_FALSE(pattern.matches("acme shop"));
    EXPECT_FALSE(pattern.matches("acme shops of all"));
    EXPECT_EQ(NamePattern("*acme*").prefix(), "");
    EXPECT_TRUE(NamePattern("[a-c]*").matches("acme"));
}

TEST_F(KeyFilterTest, MatchesKeysThatExpireBeforeATime) {
    EXPECT_TRUE(matches({.expires_before = kNow + 101s}));
    EXPECT_FALSE(matches({.expires_before = kNow + 100s}));
    keys_.keys[0].record.expires.reset();
    EXPECT_FALSE(matches({.expires_before = kNow + 101s}));
}

TEST_F(KeyFilterTest, AllValuesMustMatch) {
    keys_.keys[0].record.scopes = "a";
    EXPECT_TRUE(matches({.plan = "free", .state = "active", .scope = "a"}));
    EXPECT_FALSE(matches({.plan = "free", .state = "active", .scope = "b"}));
    EXPECT_FALSE(matches({.plan = "pro", .state = "active", .scope = "a"}));
}

TEST_F(KeyFilterTest, IsValidated) {
    EXPECT_NO_THROW(validate(KeyFilter{}));
    EXPECT_NO_THROW(validate(KeyFilter{.plan = "free", .state = "replaced", .name = ""}));
    EXPECT_THROW(validate(KeyFilter{.plan = ""}), OperationError);
    EXPECT_NO_THROW(validate(KeyFilter{.scope = "pets:read", .meta = "a="}));
    EXPECT_THROW(validate(KeyFilter{.scope = "a b"}), OperationError);
    for (const auto* const meta : {"", "a", "=a", "A=1"}) {
        EXPECT_THROW(validate(KeyFilter{.meta = meta}), OperationError) << meta;
    }
    EXPECT_THROW(validate(KeyFilter{.name = std::string(257, 'x')}), OperationError);
    EXPECT_THROW(validate(KeyFilter{.name = std::string(1, '\0')}), OperationError);
}

}  // namespace
}  // namespace tollgate::management
