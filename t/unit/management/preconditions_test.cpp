#include "module/management/admin/preconditions.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

using Result = Preconditions::Result;

const std::optional<std::string> kNoVersion;

bool strongly(std::string_view value, const std::optional<std::string>& version) {
    const auto tags = EntityTags::parse(value);
    return tags && tags->match_strongly(version);
}

bool weakly(std::string_view value, const std::optional<std::string>& version) {
    const auto tags = EntityTags::parse(value);
    return tags && tags->match_weakly(version);
}

TEST(EntityTagsTest, CompareStronglyAndWeakly) {
    EXPECT_TRUE(strongly("\"a\"", "a"));
    EXPECT_TRUE(weakly("\"a\"", "a"));
    EXPECT_FALSE(strongly("W/\"a\"", "a"));
    EXPECT_TRUE(weakly("W/\"a\"", "a"));
    EXPECT_FALSE(weakly("\"b\"", "a"));
    EXPECT_FALSE(weakly("\"a\"", kNoVersion));
    EXPECT_FALSE(weakly("\"\"", kNoVersion));
}

TEST(EntityTagsTest, AnyMatchesWhatHasNoVersion) {
    EXPECT_TRUE(strongly(" * ", kNoVersion));
    EXPECT_TRUE(weakly("*", "a"));
    EXPECT_FALSE(strongly("\"*\"", "a"));
}

TEST(EntityTagsTest, AreLists) {
    for (const auto* list : {"\"x\", \"a\"", "\"x\",\"a\"", " ,\"x\"\t, , \"a\" ,",
                             "W/\"a\", \"a\"", "\"a\",W/\"x\""}) {
        EXPECT_TRUE(strongly(list, "a")) << list;
    }
    EXPECT_TRUE(strongly("\"a,b\", \"c\"", "a,b"));
    EXPECT_FALSE(strongly("\"a,b\", \"c\"", "a"));
    EXPECT_TRUE(strongly("\"W/\"", "W/"));
    EXPECT_TRUE(strongly("\"\xff!~\"", "\xff!~"));
}

TEST(EntityTagsTest, RefuseMistakes) {
    for (const auto* value :
         {"",         " ",    ",",       "a",        "\"a",         "a\"",        "\"",
          "W/",       "W/a",  "w/\"a\"", "W/ \"a\"", "\"a\" \"b\"", "\"a\"\"b\"", "*, \"a\"",
          "\"a\", *", "*, *", "**",      "\"a b\"",  "\"a\", b",    "\"a\x7f\"",  "\"a\x1f\""}) {
        EXPECT_FALSE(EntityTags::parse(value)) << value;
    }
}

Result evaluate(std::optional<std::string> if_match, std::optional<std::string> if_none_match,
                const std::optional<std::string>& version) {
    return Preconditions(AdminRequest{.path = ResourcePath::of_decoded("keys/a"),
                                      .if_match = std::move(if_match),
                                      .if_none_match = std::move(if_none_match),
                                      .actor = "key:a"})
        .evaluate(version);
}

TEST(PreconditionsTest, AreEvaluatedInTheirOrder) {
    EXPECT_EQ(evaluate({}, {}, "a"), Result::kProceed);
    EXPECT_EQ(evaluate("\"a\"", {}, "a"), Result::kProceed);
    EXPECT_EQ(evaluate("W/\"a\"", {}, "a"), Result::kFailed);
    EXPECT_EQ(evaluate({}, "W/\"a\"", "a"), Result::kNotModified);
    EXPECT_EQ(evaluate("\"a\"", "\"a\"", "a"), Result::kNotModified);
    EXPECT_EQ(evaluate("\"b\"", "\"a\"", "a"), Result::kFailed);
    EXPECT_EQ(evaluate("*", "*", kNoVersion), Result::kNotModified);
    EXPECT_EQ(evaluate("*", "\"a\"", kNoVersion), Result::kProceed);
    EXPECT_EQ(evaluate("\"a\"", {}, kNoVersion), Result::kFailed);
    EXPECT_THROW(evaluate("a", {}, "a"), OperationError);
    EXPECT_THROW(evaluate({}, "", "a"), OperationError);
}

TEST(PreconditionsTest, AreAConditionOfAnOperation) {
    const AdminRequest none{.path = ResourcePath::of_decoded("keys/a"), .actor = "key:a"};
    EXPECT_FALSE(Preconditions(none).condition());
    AcceptsVersion accepts;
    {
        const AdminRequest request{
            .path = ResourcePath::of_decoded("keys/a"), .if_match = "\"a\"", .actor = "key:a"};
        accepts = Preconditions(request).condition();
    }
    EXPECT_TRUE(accepts("a"));
    EXPECT_FALSE(accepts("b"));
    EXPECT_FALSE(accepts(std::nullopt));
}

}  // namespace
}  // namespace tollgate::management
