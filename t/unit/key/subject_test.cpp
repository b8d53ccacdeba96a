#include "module/key/subject.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

TEST(Subject, HasAnIdAndTheNameOfAPlanOrNone) {
    EXPECT_TRUE(is_valid_subject({.id = "user-17"}));
    EXPECT_TRUE(is_valid_subject({.id = "127.0.0.1", .plan = "free"}));
    EXPECT_TRUE(is_valid_subject({.id = std::string(64, 'a'), .plan = std::string(64, 'p')}));
    for (const std::string_view id :
         {"", ".", "..", "a b", "CN=a", "a\n", "a@b", "a}b", "\xc3\xa4", "::1"}) {
        EXPECT_FALSE(is_valid_subject({.id = id})) << id;
    }
    EXPECT_FALSE(is_valid_subject({.id = std::string(65, 'a')}));
    EXPECT_FALSE(is_valid_subject({.id = "a", .plan = "a b"}));
    EXPECT_FALSE(is_valid_subject({.id = "a", .plan = std::string(65, 'p')}));
}

TEST(Subject, HasARecordThatIsAlwaysValid) {
    const KeyRecord record = record_of({.id = "a", .plan = "free"});
    EXPECT_EQ(record.id, "a");
    EXPECT_EQ(record.plan, "free");
    EXPECT_TRUE(record.scopes.empty());
    EXPECT_TRUE(record.is_valid_at(std::chrono::sys_seconds::max()));
}

TEST(Subject, HasATextThatTellsItFromOthersAndFromTokens) {
    const auto text = [](const Subject& subject) {
        return std::string(SubjectText(subject).view());
    };
    EXPECT_EQ(text({.id = "a", .plan = "b"}), std::string("\0a\0b", 4));
    EXPECT_EQ(text({.id = "a"}), std::string("\0a\0", 3));
    EXPECT_NE(text({.id = "ab", .plan = "c"}), text({.id = "a", .plan = "bc"}));
    const std::string longest(64, 'a');
    EXPECT_EQ(text({.id = longest, .plan = longest}).size(), 130U);
}

}  // namespace
}  // namespace tollgate
