#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/batch_body.hpp"
#include "module/management/forwarding_database.hpp"
#include "module/management/key_operation.hpp"
#include "module/management/operation_error.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/test_rights.hpp"

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class BatchTest : public testing::Test {
  protected:
    /// Makes keys of so many ids, `i0` and so on.
    void make_keys(int number) {
        for (int i = 0; i < number; ++i) {
            KeyRecord record;
            record.id = "i" + std::to_string(i);
            record.plan = "free";
            const std::string digest = "of " + record.id;
            KeyOperation operation(database_, keys_,
                                   {.actor = "a", .action = "x", .id = record.id});
            StoredKey key{.digest = digest, .record = record};
            run_to_end(operation.create(std::move(key)));
            run_to_end(operation.confirm(digest, record.id));
        }
    }

    static json operation(const std::string& method, const std::string& path) {
        return {{"method", method}, {"path", path}};
    }
    /// The operations that reset the counts of so many ids.
    static std::vector<json> resets(int number) {
        std::vector<json> operations;
        operations.reserve(static_cast<std::size_t>(number));
        for (int i = 0; i < number; ++i) {
            operations.push_back(operation("DELETE", "keys/i" + std::to_string(i) + "/usage"));
        }
        return operations;
    }

    AdminResponse response_to(const std::vector<json>& operations,
                              std::optional<std::string> idempotency_key = std::nullopt) {
        database_.elapsed_time = 0ms;
        AdminRequest request{.method = "POST",
                             .path = ResourcePath::of_decoded("keys:batch"),
                             .body = json{{"operations", operations}}.dump(),
                             .idempotency_key = std::move(idempotency_key),
                             .actor = "key:portal"};
        return run_to_end(handle(database_, keys_, {&table_}, rights_, std::move(request)));
    }
    std::vector<int> statuses_of(const std::vector<json>& operations,
                                 std::optional<std::string> idempotency_key = std::nullopt) {
        const auto response = response_to(operations, std::move(idempotency_key));
        EXPECT_EQ(response.status, 200);
        const auto body = json::parse(response.body);
        std::vector<int> statuses;
        for (const auto& result : body["results"]) {
            statuses.push_back(result["status"]);
        }
        return statuses;
    }

    TestRights rights_;
    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    PlanTable table_ = [] {
        PlanTable table;
        table.name = "api";
        return table;
    }();
};

TEST_F(BatchTest, EndsWithTheRightsOfItsCaller) {
    make_keys(4);
    rights_.left = 3;  // the batch, and two operations
    EXPECT_EQ(statuses_of(resets(4), "once"), (std::vector<int>{204, 204, 401, 401}));
    EXPECT_EQ(database_.published.size(), 4) << "leases are recalled together";
    rights_.left = 10;
    EXPECT_EQ(statuses_of(resets(4), "once"), (std::vector<int>(4, 204)))
        << "the repetition executes the others";
}

/// Counts how often a task lets other work go on.
class PauseCounter final : public ForwardingDatabase {
  public:
    using ForwardingDatabase::ForwardingDatabase;
    bool defer(std::coroutine_handle<> /*task*/) override {
        ++pauses;
        return false;
    }
    int pauses = 0;
};

TEST_F(BatchTest, ReadsALongBodyInTurns) {
    PauseCounter database(database_);
    const auto pauses = [&](const std::string& body) {
        database.pauses = 0;
        const AdminRequest request{.path = {}, .body = body, .actor = "key:portal"};
        EXPECT_THROW(run_to_end(read_batch(database, request)), OperationError);
        return database.pauses;
    };
    auto body = json{{"operations", resets(1000)}}.dump();
    body.back() = '!';
    EXPECT_EQ(pauses(body), 1000) << "the mistake is at the end";
    EXPECT_EQ(pauses(json{{"operations", resets(1001)}}.dump()), 1000);
    EXPECT_EQ(pauses(R"({"operations":[)" + std::string(1000000, '[')), 0);
}

TEST_F(BatchTest, DoesNotBeginWithoutRights) {
    rights_.left = 0;
    EXPECT_EQ(response_to(resets(1)).status, 401);
}

TEST_F(BatchTest, ResetsWaitForLeasesTogether) {
    make_keys(200);
    EXPECT_EQ(statuses_of(resets(200)), std::vector<int>(200, 204));
    EXPECT_EQ(database_.elapsed_time, 4 * 300ms);
    EXPECT_EQ(database_.published.size(), 200);
}

TEST_F(BatchTest, ResetsAmongOtherOperationsWaitTogether) {
    make_keys(3);
    std::vector<json> operations;
    for (const auto& reset : resets(3)) {
        operations.push_back(operation("DELETE", "keys/nobody"));
        operations.push_back(reset);
    }
    EXPECT_EQ(statuses_of(operations), (std::vector<int>{404, 204, 404, 204, 404, 204}));
    EXPECT_EQ(database_.elapsed_time, 300ms);
    EXPECT_EQ(database_.published,
              (std::vector<std::string>{"recall:i0", "recall:i1", "recall:i2"}));
}

TEST_F(BatchTest, ALateResetRecallsAgain) {
    make_keys(2);
    database_.time_of_call = 1001ms;
    EXPECT_EQ(statuses_of(resets(2)), (std::vector<int>{204, 204}));
    EXPECT_EQ(std::ranges::count(database_.published, "recall:i1"), 2);
}

TEST_F(BatchTest, ARepetitionGoesOnAfterTheTimeLimit) {
    make_keys(100);
    const auto operations = resets(100);
    database_.time_of_call = 200ms;
    const auto first = statuses_of(operations, "once");
    const auto executed = std::ranges::count(first, 204);
    EXPECT_GT(executed, 10);
    EXPECT_LT(executed, 100);
    EXPECT_EQ(std::ranges::count(first, 503), 100 - executed);
    for (int repetitions = 1; executed * repetitions < 100 && repetitions < 10; ++repetitions) {
        const auto statuses = statuses_of(operations, "once");
        EXPECT_GT(std::ranges::count(statuses, 204), executed * repetitions);
    }
    EXPECT_EQ(statuses_of(operations, "once"), std::vector<int>(100, 204));
    const auto calls = database_.published.size();
    EXPECT_EQ(statuses_of(operations, "once"), std::vector<int>(100, 204));
    EXPECT_EQ(database_.published.size(), calls) << "nothing is executed again";
    EXPECT_EQ(response_to(resets(99), "once").status, 422) << "another batch";
}

TEST_F(BatchTest, ARepetitionThatExecutesNothingKeepsTheResults) {
    make_keys(100);
    const auto operations = resets(100);
    database_.time_of_call = 200ms;
    const auto executed = std::ranges::count(statuses_of(operations, "once"), 204);
    database_.time_of_call = 25s;
    EXPECT_EQ(response_to(operations, "once").status, 503);
    database_.time_of_call = 200ms;
    EXPECT_GT(std::ranges::count(statuses_of(operations, "once"), 204), executed);
}

}  // namespace
}  // namespace tollgate::management
