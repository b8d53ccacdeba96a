#include "module/management/admin/caller_queue.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "module/management/admin/admin_api.hpp"

namespace tollgate::management {
namespace {

class CallerQueueTest : public testing::Test {
  protected:
    /// The request is the name of its caller and a number.
    bool push(const std::string& caller, int number = 0) {
        std::string request = caller + std::to_string(number);
        return queue_.push(caller, request);
    }
    /// The requests that begin now.
    std::vector<std::string> take() {
        std::vector<std::string> taken;
        while (auto request = queue_.take()) {
            taken.push_back(*request);
        }
        return taken;
    }

    using Taken = std::vector<std::string>;
    CallerQueue<std::string> queue_{{.places = 8, .waiting = 16}};
};

TEST_F(CallerQueueTest, OneCallerHasAQuarterOfThePlaces) {
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(push("a", i));
    }
    EXPECT_FALSE(push("a", 4)) << "a quarter of those that wait";
    EXPECT_EQ(take(), (Taken{"a0", "a1"}));
    EXPECT_TRUE(push("a", 5));
    EXPECT_TRUE(push("b"));
    EXPECT_EQ(take(), Taken{"b0"});
    queue_.leave("a");
    EXPECT_EQ(take(), Taken{"a2"}) << "the requests of a caller keep their order";
}

TEST_F(CallerQueueTest, CallersTakeTurns) {
    for (const auto* caller : {"a", "b", "c", "d"}) {
        push(caller, 0);
        push(caller, 1);
        push(caller, 2);
    }
    EXPECT_EQ(take(), (Taken{"a0", "b0", "c0", "d0", "a1", "b1", "c1", "d1"}));
    push("e");
    queue_.leave("c");
    EXPECT_EQ(take(), Taken{"c2"}) << "e came after the last turn of c";
    push("c", 3);
    queue_.leave("c");
    EXPECT_EQ(take(), Taken{"e0"}) << "whoever had the last place comes last";
    queue_.leave("d");
    EXPECT_EQ(take(), Taken{"d2"}) << "the last turn of d was before that of c";
    queue_.leave("d");
    EXPECT_EQ(take(), Taken{"c3"});
}

TEST_F(CallerQueueTest, ManyCallersFillTheQueue) {
    for (int i = 0; i < 16; ++i) {
        EXPECT_TRUE(push("caller" + std::to_string(i)));
    }
    EXPECT_FALSE(push("last"));
    queue_.remove_if([](const std::string& request) { return request == "caller30"; });
    EXPECT_TRUE(queue_.has_waiting());
    queue_.remove_if([](const std::string&) { return true; });
    EXPECT_FALSE(queue_.has_waiting());
    EXPECT_TRUE(push("last"));
}

TEST_F(CallerQueueTest, AnOpenQueueHasRoomForEachCaller) {
    CallerQueue<std::string> open({.places = 1, .waiting = 4, .is_open_to_all = true});
    for (int i = 0; i < 100; ++i) {
        std::string request = "x";
        EXPECT_TRUE(open.push("caller" + std::to_string(i), request));
        EXPECT_FALSE(open.push("caller" + std::to_string(i), request)) << "its share";
    }
}

TEST(LaneTest, EndingsAndReadsOfOneIdDoNotWaitForOthers) {
    const auto lane = [](const std::string& method, const std::string& path,
                         const std::string& body = "") {
        return lane_of({.method = method,
                        .path = ResourcePath::of_decoded(path),
                        .body = body,
                        .actor = "key:a"});
    };
    EXPECT_EQ(lane("DELETE", "keys/a"), Lane::kEndings);
    EXPECT_EQ(lane("PATCH", "keys/a", R"({"name":"x","state":"disabled"})"), Lane::kEndings);
    EXPECT_EQ(lane("PATCH", "keys/a", R"({"name":"state"})"), Lane::kChanges);
    EXPECT_EQ(lane("PATCH", "keys/a", R"({"state":"disabled")"), Lane::kChanges) << "not valid";
    EXPECT_EQ(lane("PATCH", "groups/a", R"({"state":"disabled"})"), Lane::kChanges);
    EXPECT_EQ(lane("POST", "keys:batch"), Lane::kBatches);
    EXPECT_EQ(lane("DELETE", "keys/a/usage"), Lane::kChanges);
    EXPECT_EQ(lane("GET", "keys/a"), Lane::kReads);
    EXPECT_EQ(lane("POST", "keys/lookup"), Lane::kReads);
    EXPECT_EQ(lane("GET", "me"), Lane::kReads);
    EXPECT_EQ(lane("GET", "keys"), Lane::kLists);
    EXPECT_EQ(lane("GET", "keys/a/history"), Lane::kLists);
    EXPECT_EQ(lane("GET", "nothing"), Lane::kReads);
    EXPECT_TRUE(room_of(Lane::kEndings).is_open_to_all);
    EXPECT_TRUE(room_of(Lane::kReads).is_open_to_all);
    EXPECT_FALSE(room_of(Lane::kLists).is_open_to_all);
}

}  // namespace
}  // namespace tollgate::management
