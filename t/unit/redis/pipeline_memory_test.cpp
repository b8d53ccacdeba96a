// The pipeline when memory is short: no call is lost, and no operation is left half done.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "module/redis/protocol/pipeline.hpp"
#include "t/unit/failing_allocator.hpp"

namespace tollgate::redis {
namespace {

/// Counts the callbacks of its call.
struct Outcomes {
    int values = 0;
    int errors = 0;
    int failures = 0;
    int destroyed = 0;
};

class Counter : public ReplyHandler {
  public:
    explicit Counter(Outcomes& outcomes) : outcomes_(outcomes) {}
    ~Counter() override { ++outcomes_.destroyed; }
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;
    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {
        ++outcomes_.values;
    }
    void on_error(std::string_view /*message*/) noexcept override { ++outcomes_.errors; }
    void on_failure() noexcept override { ++outcomes_.failures; }

  private:
    Outcomes& outcomes_;
};

const Script kEchoScript{"return {ARGV[1]}", "0123456789012345678901234567890123456789"};

/// Runs `step` while its n-th allocation fails, for each n from 0 until none fails. Returns the
/// number of failures.
template <typename Step>
int with_failures(Step step) {
    for (int n = 0;; ++n) {
        allocations_left = n;
        const bool done = [&] {
            try {
                step();
                return true;
            } catch (const std::bad_alloc&) {
                return false;
            }
        }();
        allocations_left = -1;
        if (done) {
            return n;
        }
    }
}

class PipelineMemory : public testing::Test {
  protected:
    void push() {
        Call call{&kEchoScript, {std::string(100, 'k')}, {}};
        std::unique_ptr<ReplyHandler> handler = std::make_unique<Counter>(outcomes_);
        // The token is longer than what std::string holds without an allocation.
        with_failures([&] { pipeline_.push(std::move(call), std::move(handler), {}); });
        EXPECT_EQ(handler, nullptr);  // NOLINT(bugprone-use-after-move): taken, at last
    }
    ReplyPtr reply(std::string_view bytes) {
        EXPECT_TRUE(reader_.feed(bytes));
        return reader_.next();
    }

    Outcomes outcomes_;
    ReplyReader reader_;
    Pipeline pipeline_{10'000'000'000'000'000'000U, std::chrono::milliseconds(100)};
};

TEST_F(PipelineMemory, KeepsACallThatCannotBeAdded) {
    Call call{&kEchoScript, {std::string(100, 'k')}, {}};
    std::unique_ptr<ReplyHandler> handler = std::make_unique<Counter>(outcomes_);
    allocations_left = 0;
    EXPECT_THROW(pipeline_.push(std::move(call), std::move(handler), {}), std::bad_alloc);
    // NOLINTNEXTLINE(bugprone-use-after-move): a push that throws takes nothing
    EXPECT_THROW(pipeline_.push_ahead(std::move(call), std::move(handler), {}), std::bad_alloc);
    allocations_left = -1;
    // NOLINTNEXTLINE(bugprone-use-after-move): both are as before
    EXPECT_EQ(call.keys.size(), 1U);
    EXPECT_NE(handler, nullptr);
    EXPECT_TRUE(pipeline_.empty());
    EXPECT_EQ(outcomes_.destroyed, 0);
}

TEST_F(PipelineMemory, AppendsAllCallsOrNone) {
    for (int i = 0; i < 20; ++i) {
        push();
    }
    std::string out = "before";
    const int failures = with_failures([&] {
        const auto size = out.size();
        try {
            pipeline_.release(out, 0);
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(out.size(), size);
            EXPECT_TRUE(pipeline_.has_unreleased());
            throw;
        }
    });
    EXPECT_GT(failures, 0);
    EXPECT_FALSE(pipeline_.has_unreleased());
    std::size_t calls = 0;
    for (auto at = out.find("EVALSHA"); at != out.npos; at = out.find("EVALSHA", at + 1)) {
        ++calls;
    }
    EXPECT_EQ(calls, 20U);
}

TEST_F(PipelineMemory, RepeatsACallOrKeepsItWhereItIs) {
    push();
    std::string out;
    pipeline_.release(out, 0);
    const auto unknown = reply("-NOSCRIPT\r\n");
    const int failures = with_failures([&] {
        EXPECT_FALSE(pipeline_.has_unreleased());
        EXPECT_EQ(pipeline_.take(*unknown), Pipeline::Taken::kRepeated);
    });
    EXPECT_GT(failures, 0);
    EXPECT_TRUE(pipeline_.has_unreleased());
    pipeline_.fail_all();
    EXPECT_EQ(outcomes_.failures, 1);
    EXPECT_EQ(outcomes_.destroyed, 1);
}

TEST_F(PipelineMemory, FailsCallsWithoutMemory) {
    push();
    push();
    std::string out;
    pipeline_.release(out, 0);
    pipeline_.note_written(out.size(), {});
    push();
    allocations_left = 0;
    pipeline_.fail_lost({});
    pipeline_.fail_all();
    allocations_left = -1;
    EXPECT_EQ(outcomes_.failures, 3);
    EXPECT_EQ(outcomes_.destroyed, 3);
}

}  // namespace
}  // namespace tollgate::redis
