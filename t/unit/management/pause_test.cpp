#include <gtest/gtest.h>

#include <coroutine>
#include <string>
#include <utility>
#include <vector>

#include "module/management/admin/resources.hpp"
#include "module/management/history_reader.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

/// Defers a task each time that it asks.
class DeferringDatabase final : public Database {
  public:
    explicit DeferringDatabase(Database& database) : database_(database) {}

    void execute(std::vector<Transaction> transactions, Done done) override {
        database_.execute(std::move(transactions), std::move(done));
    }
    void wait(std::chrono::milliseconds time, Done done) override {
        database_.wait(time, std::move(done));
    }
    bool defer(std::coroutine_handle<> task) override {
        deferred_ = task;
        return true;
    }
    bool may_span(std::string_view key, std::string_view other) const override {
        return database_.may_span(key, other);
    }
    Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }

    /// Runs a task to its end. Returns how often it was deferred.
    template <typename Result>
    int run(const Task<Result>& task) {
        int times = 0;
        for (task.start(); !task.is_done(); ++times) {
            std::exchange(deferred_, nullptr).resume();
        }
        return times;
    }

  private:
    Database& database_;
    std::coroutine_handle<> deferred_;
};

void write_id(JsonWriter& json, const std::string& id) {
    json.member("id", id);
}

TEST(PauseTest, LetsOtherWorkGoOnAfterEachWrittenEntry) {
    GivenReplies replies({});
    DeferringDatabase database(replies);
    std::vector<std::string> entries{"a", "b", "c"};
    auto written = written_objects(database, std::move(entries), write_id);
    EXPECT_EQ(database.run(written), 3);
    EXPECT_EQ(written.result(), R"({"id":"a"},{"id":"b"},{"id":"c"})");
}

TEST(PauseTest, LetsOtherWorkGoOnWhileHistoriesAreRead) {
    GivenReplies replies({{"HGETALL history", {array_of({"api:20000", "7"})}}});
    DeferringDatabase database(replies);
    const auto keys = GivenReplies::keys();
    CountingTables tables;
    tables.found = {"api"};
    HistoryReader reader(database, keys, tables);
    std::vector<std::string> ids(20, "acme");
    auto read = reader.read(std::move(ids));
    EXPECT_GE(database.run(read), 20);
    const auto histories = read.result();
    ASSERT_EQ(histories.size(), 20U);
    ASSERT_EQ(histories.back().size(), 1U);
    EXPECT_EQ(histories.back().front().units, 7);
}

}  // namespace
}  // namespace tollgate::management
