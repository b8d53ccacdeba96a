#include "module/zone/changes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string>

#include "module/key/digest.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class ChangesTest : public testing::Test {
  protected:
    std::array<LatestTimes::Set, 1200> sets_{};  // zeroed: no changes
    Changes changes_{sets_};
    const KeyDigest digest_ = sha256("tg_key");
};

TEST_F(ChangesTest, TellsWhenAnIdWasChanged) {
    EXPECT_EQ(changes_.last(1, id_hash("key_1")), 0ms);
    changes_.note(1, "key_1", 5s);
    EXPECT_EQ(changes_.last(1, id_hash("key_1")), 5s);
    EXPECT_EQ(changes_.last(1, id_hash("key_2")), 0ms);
    EXPECT_EQ(changes_.last(2, id_hash("key_1")), 0ms) << "of another Redis";
    changes_.note(1, "key_1", 6s);
    changes_.note(1, "key_1", 5s);
    EXPECT_EQ(changes_.last(1, id_hash("key_1")), 6s);
}

TEST_F(ChangesTest, TellsWhenAChangeWasMadeThatIsNoticedLater) {
    const IdHash id = id_hash("key_1");
    changes_.note(1, "key_1", 60s, 20s);
    EXPECT_EQ(changes_.last(1, id), 60s);
    EXPECT_EQ(changes_.last_made(1, id), 20s);
    changes_.note(1, "key_1", 50s, 30s);
    EXPECT_EQ(changes_.last(1, id), 60s);
    EXPECT_EQ(changes_.last_made(1, id), 30s) << "the last one";
    changes_.note(1, "key_1", 70s);
    EXPECT_EQ(changes_.last_made(1, id), 70s);
    changes_.note(1, "key_1", 80s, 90s);
    EXPECT_EQ(changes_.last(1, id), 80s);
    EXPECT_EQ(changes_.last_made(1, id), 80s) << "not later than it is noticed";
    changes_.note(1, hex(digest_), 3h, 1h);
    EXPECT_EQ(changes_.last(1, digest_), 3h);
    EXPECT_EQ(changes_.last_made(1, digest_), 1h);
}

TEST_F(ChangesTest, AChangeThatIsReadAgainIsNotLaterThanItsAnnouncement) {
    const IdHash id = id_hash("key_1");
    changes_.note(1, "key_1", 20s);
    changes_.note_read(1, "key_1", 60s, 19990ms, 20050ms);
    EXPECT_EQ(changes_.last(1, id), 60s);
    EXPECT_EQ(changes_.last_made(1, id), 20s);
    changes_.note_read(1, "key_1", 70s, 20001ms, 20060ms);
    EXPECT_EQ(changes_.last_made(1, id), 20060ms) << "another change";
}

TEST_F(ChangesTest, TellsWhenADigestWasChanged) {
    EXPECT_EQ(changes_.last(1, digest_), 0ms);
    changes_.note(1, hex(digest_), 5s);
    EXPECT_EQ(changes_.last(1, digest_), 5s);
    EXPECT_EQ(changes_.last(2, digest_), 0ms);
    EXPECT_EQ(changes_.last(1, id_hash(hex(digest_))), 5s) << "an id may look like that";
}

TEST_F(ChangesTest, ATextThatIsAlmostADigestIsAnId) {
    const std::string name = hex(digest_).substr(1) + "-";
    changes_.note(1, name, 5s);
    EXPECT_EQ(changes_.last(1, id_hash(name)), 5s);
    EXPECT_EQ(changes_.last(1, digest_), 0ms);
    changes_.note(1, hex(digest_).substr(2), 5s);
    EXPECT_EQ(changes_.last(1, digest_), 0ms);
    changes_.note(1, "", 5s);
    EXPECT_EQ(changes_.last(1, id_hash("")), 5s);
}

TEST_F(ChangesTest, OtherIdsDidNotChange) {
    ASSERT_EQ(changes_.size(), 512 * 7);
    for (int i = 0; i < 500; ++i) {
        changes_.note(1, "changed_" + std::to_string(i), 5s);
    }
    int taken_for_changed = 0;
    for (int i = 0; i < 2000; ++i) {
        const IdHash id = id_hash("other_" + std::to_string(i));
        taken_for_changed += changes_.last_made(1, id) == 0ms ? 0 : 1;
    }
    EXPECT_LE(taken_for_changed, 4);
}

TEST_F(ChangesTest, NoChangeIsForgotten) {
    for (int i = 1; i <= 20000; ++i) {
        changes_.note(1, std::to_string(i), std::chrono::seconds(i));
    }
    for (int i = 1; i <= 20000; ++i) {
        ASSERT_GE(changes_.last(1, id_hash(std::to_string(i))), std::chrono::seconds(i));
        ASSERT_GE(changes_.last_made(1, id_hash(std::to_string(i))), std::chrono::seconds(i));
    }
    EXPECT_LT(changes_.last_made(1, digest_), 19000s) << "only early changes share a time";
}

TEST_F(ChangesTest, NeedsTwoSets) {
    EXPECT_THROW(Changes(std::span(sets_).first(1)), std::length_error);
    EXPECT_EQ(Changes(std::span(sets_).first(2)).size(), 7);
}

}  // namespace
}  // namespace tollgate
