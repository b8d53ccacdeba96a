#include "module/zone/flight_records.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tollgate {
namespace {

class FlightRecordsTest : public testing::Test {
  protected:
    static FlightKey key(unsigned char number) { return {.id = {number}, .redis = 1, .table = 2}; }
    static FlightName name(unsigned char number) {
        return {key(number), IdText("k" + std::to_string(number))};
    }

    struct Returns final : PlaceReturns {
        bool can_return(const FlightKey& of) const noexcept override { return of == returned; }
        FlightKey returned{};
    };

    Returns returns_;
    std::vector<FlightRecord> memory_ = std::vector<FlightRecord>(8);
    FlightRecords records_{std::as_writable_bytes(std::span(memory_))};
};

TEST_F(FlightRecordsTest, CountTheRequestsOfEachWorker) {
    EXPECT_EQ(records_.find(key(1)).node(), nullptr);
    EXPECT_TRUE(records_.find_or_make(name(1)).add(100, 2));
    EXPECT_TRUE(records_.find(key(1)).add(101, 1));
    EXPECT_TRUE(records_.find_or_make(name(2)).add(100, 5));
    EXPECT_EQ(records_.find(key(1)).requests(), 3);
    records_.find(key(1)).drop([](std::uint32_t process) { return process == 100; });
    EXPECT_EQ(records_.find(key(1)).requests(), 1);
    EXPECT_TRUE(records_.find(key(1)).add(101, -1));
    EXPECT_EQ(records_.find(key(1)).requests(), 0);
}

TEST_F(FlightRecordsTest, HaveFurtherRecordsForManyWorkers) {
    for (std::uint32_t process = 1; process <= 20; ++process) {
        EXPECT_TRUE(records_.find_or_make(name(1)).add(process, 1)) << process;
    }
    EXPECT_EQ(records_.find(key(1)).requests(), 20);
    records_.find(key(1)).node()->places = 7;
    EXPECT_EQ(records_.find(key(1)).node()->places, 7) << "the same record";
    int keys = 0;
    records_.for_each([&](const Flight& flight) {
        ++keys;
        EXPECT_EQ(flight.name().key, key(1));
        EXPECT_EQ(flight.name().id.view(), "k1");
        EXPECT_EQ(flight.requests(), 20);
    });
    EXPECT_EQ(keys, 1);
}

TEST_F(FlightRecordsTest, AreFreeAgain) {
    for (unsigned char number = 0; number < 8; ++number) {
        EXPECT_TRUE(records_.find_or_make(name(number)).add(1, 1));
    }
    Displacement displacement{.now = SteadyTime(5000), .process = 1, .returns = returns_};
    EXPECT_EQ(records_.find_or_make(name(9), displacement).node(), nullptr) << "no room";
    records_.find(key(3)).add(1, -1);
    EXPECT_EQ(records_.find_or_make(name(8)).node(), nullptr) << "none is free";
    EXPECT_NE(records_.find_or_make(name(8), displacement).node(), nullptr)
        << "in place of one without requests";
    EXPECT_FALSE(displacement.held);
    EXPECT_EQ(records_.find(key(3)).node(), nullptr);
    records_.find(key(8)).free();
    EXPECT_EQ(records_.find(key(3)).node(), nullptr);
    EXPECT_NE(records_.find_or_make(name(9)).node(), nullptr);
}

TEST_F(FlightRecordsTest, WithPlacesAreDisplacedOnlyByWhoReturnsThem) {
    for (unsigned char number = 0; number < 8; ++number) {
        NodePlaces& node = *records_.find_or_make(name(number)).node();
        node.places = 1;
        node.version = 10 + number;
        node.until = SteadyTime(6000);
    }
    Displacement displacement{.now = SteadyTime(5000), .process = 1, .returns = returns_};
    EXPECT_EQ(records_.find_or_make(name(9), displacement).node(), nullptr);
    returns_.returned = key(4);
    EXPECT_NE(records_.find_or_make(name(9), displacement).node(), nullptr);
    ASSERT_TRUE(displacement.held);
    EXPECT_EQ(displacement.held->name.key, key(4));
    EXPECT_EQ(displacement.held->name.id.view(), "k4");
    EXPECT_EQ(displacement.held->version, 14);
    Displacement later{.now = SteadyTime(6000), .process = 1, .returns = returns_};
    EXPECT_NE(records_.find_or_make(name(8), later).node(), nullptr) << "they have ended";
    EXPECT_FALSE(later.held);
}

TEST_F(FlightRecordsTest, OfIdsWithoutRequestsMakeRoomForFurtherWorkers) {
    for (unsigned char number = 0; number < 8; ++number) {
        records_.find_or_make(name(number));
    }
    for (std::uint32_t process = 1; process <= 5; ++process) {
        EXPECT_TRUE(records_.find(key(1)).add(process, 1));
    }
    EXPECT_FALSE(records_.find(key(1)).add(6, 1));
    Displacement known{.now = SteadyTime(5000), .process = 5, .returns = returns_};
    EXPECT_TRUE(records_.find_or_make(name(1), known).add(5, 1));
    EXPECT_FALSE(records_.find(key(1)).add(6, 1))
        << "a worker with a place needs no further record";
    Displacement displacement{.now = SteadyTime(5000), .process = 6, .returns = returns_};
    EXPECT_TRUE(records_.find_or_make(name(1), displacement).add(6, 1));
    EXPECT_EQ(records_.find(key(1)).requests(), 7);
}

TEST_F(FlightRecordsTest, OfRequestsThatWaitAreNotDisplaced) {
    for (unsigned char number = 0; number < 8; ++number) {
        records_.find_or_make(name(number)).node()->asked = SteadyTime(4000);
    }
    Displacement displacement{.now = SteadyTime(5000), .process = 1, .returns = returns_};
    EXPECT_EQ(records_.find_or_make(name(9), displacement).node(), nullptr);
    records_.find(key(4)).node()->asked = {};
    EXPECT_NE(records_.find_or_make(name(9), displacement).node(), nullptr);
}

TEST_F(FlightRecordsTest, AreNeverBelowZero) {
    records_.find_or_make(name(1)).add(1, -1);
    EXPECT_EQ(records_.find(key(1)).requests(), 0);
    EXPECT_FALSE(records_.find(key(2)).add(1, 1)) << "it has no record";
}

}  // namespace
}  // namespace tollgate
