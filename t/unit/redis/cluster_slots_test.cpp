#include "module/redis/topology/cluster_slots.hpp"

#include <gtest/gtest.h>

#include "t/unit/redis/resp.hpp"

namespace tollgate::redis {
namespace {

using namespace resp;
using Index = std::optional<std::size_t>;

ClusterSlots read(const std::string& text) {
    return read_cluster_slots(*parsed(text, kClusterSlotsLimits), "asked");
}

std::string server(const std::string& host, long long port) {
    return array({host, number(port), bulk("146825be8f3b80c0a8049c7cdb95f4f20b0b4ab8")});
}
std::string server(const char* host, long long port) {
    return server(bulk(host), port);
}

/// A reply of one range, with this master.
std::string with_master(const std::string& master) {
    return array({array({number(0), number(16383), master})});
}

std::vector<std::string> texts(const ClusterSlots& slots) {
    std::vector<std::string> all;
    for (const auto& master : slots.map->masters()) {
        all.push_back(to_text(master));
    }
    return all;
}

TEST(ClusterSlots, ReadsARepliesOfRedis7) {
    const auto slots = read(
        "*2\r\n"
        "*3\r\n:0\r\n:5000\r\n*4\r\n$0\r\n\r\n:7391\r\n"
        "$40\r\n146825be8f3b80c0a8049c7cdb95f4f20b0b4ab8\r\n*0\r\n"
        "*4\r\n:5001\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:7392\r\n"
        "$40\r\n20e8579fa660731d8d6eff255bfb5eb244d9252c\r\n"
        "*2\r\n$8\r\nhostname\r\n$6\r\nhost-1\r\n"
        "*4\r\n$9\r\n127.0.0.1\r\n:7393\r\n"
        "$40\r\n30e8579fa660731d8d6eff255bfb5eb244d9252c\r\n*0\r\n");
    ASSERT_TRUE(slots.map) << slots.error;
    EXPECT_TRUE(slots.map->is_complete());
    EXPECT_EQ(texts(slots), (std::vector<std::string>{"asked:7391", "127.0.0.1:7392"}));
    EXPECT_EQ(slots.map->master_of(5000), Index(0));
    EXPECT_EQ(slots.map->master_of(5001), Index(1));
}

TEST(ClusterSlots, ReadsARepliesOfRedis3WithoutIds) {
    const auto slots = read(with_master(array({bulk("10.0.0.1"), number(7000)})));
    ASSERT_TRUE(slots.map) << slots.error;
    EXPECT_EQ(texts(slots), std::vector<std::string>{"10.0.0.1:7000"});
}

TEST(ClusterSlots, NamesAMasterOfSeveralRangesOnce) {
    const auto slots = read(array({array({number(10), number(20), server("a", 1)}),
                                   array({number(0), number(0), server("b", 1)}),
                                   array({number(5), number(5), server("a", 1)})}));
    ASSERT_TRUE(slots.map) << slots.error;
    EXPECT_EQ(texts(slots), (std::vector<std::string>{"a:1", "b:1"}));
    EXPECT_EQ(slots.map->master_of(5), Index(0));
    EXPECT_EQ(slots.map->master_of(0), Index(1));
    EXPECT_EQ(slots.map->master_of(1), std::nullopt);
    EXPECT_FALSE(slots.map->is_complete());
}

TEST(ClusterSlots, TakesTheAskedHostForNil) {
    const auto slots = read(with_master(server(kNil, 7000)));
    ASSERT_TRUE(slots.map) << slots.error;
    EXPECT_EQ(texts(slots), std::vector<std::string>{"asked:7000"});
}

TEST(ClusterSlots, LeavesSlotsOfUnknownAddressesUncovered) {
    for (const auto& unknown : {server("?", 7000), server("", 0), server("10.0.0.1", 0)}) {
        const auto slots = read(array({array({number(0), number(99), unknown}),
                                       array({number(100), number(16383), server("b", 1)})}));
        ASSERT_TRUE(slots.map) << slots.error;
        EXPECT_EQ(slots.map->master_of(0), std::nullopt);
        EXPECT_EQ(slots.map->master_of(100), Index(0));
        EXPECT_FALSE(slots.map->is_complete());
    }
}

TEST(ClusterSlots, RefusesAMapWithoutMasters) {
    EXPECT_EQ(read(array({})).error, "no slot has a master with an address");
    EXPECT_FALSE(read(array({})).map);
    EXPECT_FALSE(read(with_master(server("?", 7000))).map);
}

TEST(ClusterSlots, RefusesTwoMastersForASlot) {
    for (const long long from : {0, 50, 100}) {
        const auto slots = read(array({array({number(0), number(100), server("a", 1)}),
                                       array({number(from), number(200), server("b", 1)})}));
        EXPECT_EQ(slots.error, "a slot has two masters") << from;
    }
}

TEST(ClusterSlots, RefusesSlotsThatDoNotExist) {
    for (const auto& [first, last] : std::vector<std::pair<long long, long long>>{{-1, 5},
                                                                                  {0, 16384},
                                                                                  {16384, 16384},
                                                                                  {6, 5},
                                                                                  {0, 65536},
                                                                                  {0, INT64_MAX},
                                                                                  {INT64_MIN, 5}}) {
        const auto slots = read(array({array({number(first), number(last), server("a", 1)})}));
        EXPECT_FALSE(slots.map) << first << "-" << last;
        EXPECT_EQ(slots.error, "a range is not within the slots 0 to 16383");
    }
}

TEST(ClusterSlots, RefusesAddressesThatAreNotValid) {
    for (const auto& master :
         {server("a b", 1), server("unix:/tmp/s", 1), server("a", 65536), server("a", -1),
          server("a", INT64_MAX), server("a\r\nb", 1), server(bulk(std::string(256, 'a')), 1)}) {
        EXPECT_EQ(read(with_master(master)).error, "a master has no valid address") << master;
    }
    EXPECT_FALSE(read_cluster_slots(*parsed(with_master(server(kNil, 7000))), "").map);
}

TEST(ClusterSlots, RefusesWrongTypes) {
    const auto good = server("a", 1);
    for (const auto& reply : {kNil,
                              number(1),
                              bulk("a"),
                              error("ERR This instance has cluster support disabled"),
                              array({kNil}),
                              array({number(1)}),
                              array({array({})}),
                              array({array({number(0)})}),
                              array({array({number(0), number(1)})}),
                              array({array({kNil, number(1), good})}),
                              array({array({bulk("0"), number(1), good})}),
                              array({array({number(0), kNil, good})}),
                              with_master(kNil),
                              with_master(number(1)),
                              with_master(bulk("a:1")),
                              with_master(array({})),
                              with_master(array({bulk("a")})),
                              with_master(array({number(1), number(1)})),
                              with_master(array({bulk("a"), bulk("1")})),
                              with_master(array({bulk("a"), kNil})),
                              with_master(array({array({}), number(1)})),
                              with_master(array({error("a"), number(1)}))}) {
        const auto slots = read(reply);
        EXPECT_FALSE(slots.map) << reply;
        EXPECT_FALSE(slots.error.empty()) << reply;
    }
}

TEST(ClusterSlots, RefusesMoreThanAThousandMasters) {
    const auto cluster_of = [](int masters) {
        std::string text = "*" + std::to_string(masters) + "\r\n";
        for (int i = 0; i < masters; ++i) {
            text += array({number(i), number(i), server("a", i + 1)});
        }
        return text;
    };
    EXPECT_TRUE(read(cluster_of(1000)).map);
    EXPECT_EQ(read(cluster_of(1001)).error, "too many masters");
}

TEST(ClusterSlots, ReadsAClusterInWhichEachSlotIsARange) {
    std::string text = "*16384\r\n";
    for (int i = 0; i < kSlots; ++i) {
        const auto port = i % 1000 + 1;
        const std::string host = "redis-0123456789.redis-headless.production.svc.cluster.local";
        text += array({number(i), number(i), server(bulk(host), port), server(bulk(host), port),
                       server(bulk(host), port)});
    }
    const auto slots = read(text);
    ASSERT_TRUE(slots.map) << slots.error;
    EXPECT_TRUE(slots.map->is_complete());
    EXPECT_EQ(slots.map->masters().size(), 1000);
    EXPECT_EQ(slots.map->master_of(16383), Index(383));
}

}  // namespace
}  // namespace tollgate::redis
