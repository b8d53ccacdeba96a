// The messages that recall leases and places.

#include "module/redis/protocol/recall.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

TEST(Recall, IsReadFromItsText) {
    for (const Recall& recall : {Recall{.id = "k1"}, Recall{.id = "k1", .value = ValueDigest(17)},
                                 Recall{.id = "team", .value = ValueDigest::of_group()},
                                 Recall{.what = Recall::What::kPlaces, .id = "k1"}}) {
        const std::string text = recall.text();
        const auto read = read_recall(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->what, recall.what) << text;
        EXPECT_EQ(read->id, recall.id) << text;
        EXPECT_EQ(read->value, recall.value) << text;
    }
    EXPECT_EQ((Recall{.id = "k1"}.text()), "recall:k1");
    EXPECT_EQ((Recall{.what = Recall::What::kPlaces, .id = "k1"}.text()), "places:k1");
}

TEST(Recall, IsNoOtherMessage) {
    for (const char* message : {"", "k1", "recall", "ban:k1", "group:team", "placesk1"}) {
        EXPECT_FALSE(read_recall(message)) << message;
    }
    EXPECT_EQ(read_recall("recall:")->id, "");
}

}  // namespace
}  // namespace tollgate::redis
