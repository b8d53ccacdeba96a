// A rotation without overlap replaces the key of an id between two calls of a reader; or the key
// changes between all of them.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/key_operation.hpp"
#include "module/management/key_reader.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;

/// The parameter is the number of calls before the rotation.
class ConcurrentRotationTest : public testing::TestWithParam<int> {
  protected:
    ConcurrentRotationTest() {
        issue(database_, "acme", "first");
        database_.calls_before = GetParam();
        database_.before_call = [this] {
            auto rotation = new_operation();
            run_to_end(rotation.rotate("acme", "second", 0s, {}));
            run_to_end(rotation.confirm("second", "acme"));
        };
    }

    KeyOperation new_operation() {
        return {database_, keys_, {.actor = "a", .action = "x", .id = "acme"}};
    }

    static void expect_one(const KeysOfId& keys) {
        ASSERT_EQ(keys.keys.size(), 1U);
        EXPECT_TRUE(keys.keys.front().is_current());
    }

    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    KeyReader reader_{database_, keys_};
};

TEST_P(ConcurrentRotationTest, AReaderFindsAKey) {
    expect_one(run_to_end(reader_.find("acme")));
}

TEST_P(ConcurrentRotationTest, APageHasTheKey) {
    std::vector<std::string> ids{"acme"};
    expect_one(run_to_end(reader_.keys_of(std::move(ids))).front());
}

INSTANTIATE_TEST_SUITE_P(AfterCalls, ConcurrentRotationTest, testing::Range(0, 10));

TEST(ConcurrentReading, AnIdThatChangesAllTheTimeIsNotReadForEver) {
    MemoryDatabase database;
    const redis::Keys keys = MemoryDatabase::keys();
    issue(database, "acme", "first");
    KeyReader reader(database, keys);
    int changes = 0;
    const std::function<void()> change_again = [&] {
        database.data.hashes["t:key:first"]["name"] = std::to_string(++changes);
        database.calls_before = 0;
        database.before_call = change_again;
    };
    database.before_call = change_again;
    try {
        run_to_end(reader.find("acme"));
        FAIL() << "a snapshot of an id that changes between all reads";
    } catch (const OperationError& error) {
        EXPECT_EQ(error.reason(), Reason::kConcurrentChange);
    }
    EXPECT_LT(changes, 100);
    database.before_call = nullptr;
    EXPECT_EQ(run_to_end(reader.find("acme")).keys.size(), 1U);
}

}  // namespace
}  // namespace tollgate::management
