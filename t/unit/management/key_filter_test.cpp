#include "module/management/key_filter.hpp"

#include <gtest/gtest.h>

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

    bool matches(const KeyFilter& filter) const { return filter.matches(keys_, kNow); }
    bool has_name(const std::string& wanted) const { return matches({.name = wanted}); }
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

TEST_F(KeyFilterTest, MatchesAPartOfTheName) {
    EXPECT_TRUE(has_name("CME (m"));
    EXPECT_TRUE(has_name(""));
    EXPECT_FALSE(has_name("acme"));
}

TEST_F(KeyFilterTest, MatchesAPatternOfTheWholeName) {
    EXPECT_TRUE(has_name("ACME*"));
    EXPECT_TRUE(has_name("ACME ?main?"));
    EXPECT_TRUE(has_name("[A-C]*"));
    EXPECT_FALSE(has_name("CME*"));
    EXPECT_FALSE(has_name("ACME?"));
}

TEST_F(KeyFilterTest, MatchesKeysThatExpireBeforeATime) {
    EXPECT_TRUE(matches({.expires_before = kNow + 101s}));
    EXPECT_FALSE(matches({.expires_before = kNow + 100s}));
    keys_.keys[0].record.expires.reset();
    EXPECT_FALSE(matches({.expires_before = kNow + 101s}));
}

TEST_F(KeyFilterTest, AllValuesMustMatch) {
    EXPECT_TRUE(matches({.plan = "free", .state = "active", .name = "ACME"}));
    EXPECT_FALSE(matches({.plan = "free", .state = "active", .name = "other"}));
    EXPECT_FALSE(matches({.plan = "pro", .state = "active", .name = "ACME"}));
}

TEST_F(KeyFilterTest, IsValidated) {
    EXPECT_NO_THROW(validate(KeyFilter{}));
    EXPECT_NO_THROW(validate(KeyFilter{.plan = "free", .state = "replaced", .name = ""}));
    EXPECT_THROW(validate(KeyFilter{.plan = ""}), OperationError);
    EXPECT_THROW(validate(KeyFilter{.name = std::string(257, 'x')}), OperationError);
    EXPECT_THROW(validate(KeyFilter{.name = std::string(1, '\0')}), OperationError);
}

}  // namespace
}  // namespace tollgate::management
