#include "module/management/task.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "module/management/database.hpp"

namespace tollgate::management {
namespace {

/// Answers each transaction with nothing, at once or when it is told to.
class SimulatedDatabase final : public Database {
  public:
    explicit SimulatedDatabase(bool answers_at_once) : answers_at_once_(answers_at_once) {}

    void execute(std::vector<Transaction> transactions, Done done) override {
        if (answers_at_once_) {
            done(std::vector<Replies>(transactions.size(), std::vector<redis::Value>(1)));
        } else {
            pending_ = std::move(done);
        }
    }
    void wait(std::chrono::milliseconds /*time*/, Done done) override { done({}); }
    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return true;
    }
    Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }
    void answer(Outcome outcome) { std::exchange(pending_, nullptr)(std::move(outcome)); }
    bool is_asked() const { return static_cast<bool>(pending_); }

  private:
    bool answers_at_once_;
    Done pending_;
};

Task<int> ask_twice(Database& database, int& steps) {
    redis::Command first{"PING"};
    co_await run(database, std::move(first));
    ++steps;
    redis::Command second{"PING"};
    co_await run(database, std::move(second));
    co_return ++steps;
}

TEST(TaskTest, RunsToItsEndIfTheDatabaseBlocks) {
    SimulatedDatabase database(true);
    int steps = 0;
    EXPECT_EQ(run_to_end(ask_twice(database, steps)), 2);
}

TEST(TaskTest, WaitsForEachAnswer) {
    SimulatedDatabase database(false);
    int steps = 0;
    auto task = ask_twice(database, steps);
    EXPECT_FALSE(database.is_asked()) << "a task begins when it is started";
    task.start();
    EXPECT_EQ(steps, 0);
    const std::vector<Replies> answer(1, std::vector<redis::Value>(1));
    database.answer(answer);
    EXPECT_EQ(steps, 1);
    EXPECT_FALSE(task.is_done());
    database.answer(answer);
    ASSERT_TRUE(task.is_done());
    EXPECT_EQ(task.result(), 2);
}

TEST(TaskTest, ThrowsWhatTheDatabaseReports) {
    SimulatedDatabase database(false);
    int steps = 0;
    auto task = ask_twice(database, steps);
    task.start();
    database.answer(std::make_exception_ptr(std::runtime_error("lost")));
    ASSERT_TRUE(task.is_done());
    EXPECT_THROW(task.result(), std::runtime_error);
    EXPECT_EQ(steps, 0);
}

TEST(TaskTest, IsDestroyedWhileItWaits) {
    SimulatedDatabase database(false);
    int steps = 0;
    {
        const auto task = ask_twice(database, steps);
        task.start();
    }
    EXPECT_TRUE(database.is_asked()) << "the answer comes too late and is not read";
}

}  // namespace
}  // namespace tollgate::management
