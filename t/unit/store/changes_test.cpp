#include "module/store/changes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "module/key/digest.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;

class ChangesTest : public testing::Test {
  protected:
    std::array<SteadyTime, 5000> slots_{};  // zeroed: no changes
    Changes changes_{slots_};
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

TEST_F(ChangesTest, UsesAPowerOfTwo) {
    EXPECT_EQ(changes_.size(), 4096);
    std::array<SteadyTime, 1> one{};
    Changes changes(one);
    changes.note(1, "a", 5s);
    EXPECT_EQ(changes.last(2, id_hash("b")), 5s) << "all share the slot";
    EXPECT_THROW(Changes({}), std::length_error);
}

}  // namespace
}  // namespace tollgate
