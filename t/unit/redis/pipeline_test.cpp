#include "module/redis/protocol/pipeline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using Results = std::vector<std::string>;
using Taken = Pipeline::Taken;

/// Records the callbacks of its call.
class Recorder : public ReplyHandler {
  public:
    Recorder(std::string name, Results& results) : name_(std::move(name)), results_(results) {}
    void on_values(std::span<const redisReply* const> values) noexcept override {
        std::string text = name_ + "=";
        for (const auto* value : values) {
            text += text_of(*value);
        }
        results_.push_back(text);
    }
    void on_error(std::string_view message) noexcept override {
        results_.push_back(name_ + ": " + std::string(message));
    }
    void on_failure() noexcept override { results_.push_back(name_ + " failed"); }
    void on_unsent() noexcept override { results_.push_back(name_ + " unsent"); }

  private:
    std::string name_;
    Results& results_;
};

/// Awaits a late reply.
class Patient : public Recorder {
  public:
    using Recorder::Recorder;
    bool on_timeout() noexcept override { return true; }
};

const Script kScript{"return", "5ac"};

/// Makes another call when its own fails.
class Again : public ReplyHandler {
  public:
    Again(Pipeline& pipeline, Results& results) : pipeline_(pipeline), results_(results) {}
    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {}
    void on_error(std::string_view /*message*/) noexcept override {}
    void on_failure() noexcept override {
        pipeline_.push({&kScript, {}, {}}, std::make_unique<Recorder>("again", results_), {});
    }

  private:
    Pipeline& pipeline_;
    Results& results_;
};

std::string text(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

class PipelineTest : public testing::Test {
  protected:
    void push(const std::string& name, int now = 0) {
        pipeline_.push({&kScript, {name}, {}}, std::make_unique<Recorder>(name, results_), at(now));
    }
    void push_ahead(const std::string& name, int now = 0) {
        pipeline_.push_ahead({&kScript, {}, {"x"}}, std::make_unique<Recorder>(name, results_),
                             at(now));
    }

    std::string release() {
        std::string out;
        pipeline_.release(out, position_);
        position_ += out.size();
        return out;
    }
    /// The socket has taken all that was released.
    void write(int now) { pipeline_.note_written(position_, at(now)); }
    int first_deadline() const {
        return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                    pipeline_.first_deadline().time_since_epoch())
                                    .count());
    }

    Taken take(std::string_view bytes) {
        ReplyReader reader;
        EXPECT_TRUE(reader.feed(bytes));
        const auto reply = reader.next();
        EXPECT_NE(reply, nullptr);
        return pipeline_.take(*reply);
    }
    Taken answer(std::string_view token, std::string_view value) {
        return take("*2\r\n" + text(token) + text(value));
    }

    Results results_;
    std::uint64_t position_ = 0;
    Pipeline pipeline_{41, std::chrono::milliseconds(100)};
};

TEST_F(PipelineTest, CallsScriptsByTheirDigestWithATokenEach) {
    push("a");
    push("b");
    EXPECT_EQ(release(), "*5\r\n" + text("EVALSHA") + text("5ac") + text("1") + text("a") +
                             text("42") + "*5\r\n" + text("EVALSHA") + text("5ac") + text("1") +
                             text("b") + text("43"));
    EXPECT_EQ(release(), "");
    EXPECT_FALSE(pipeline_.has_unreleased());
}

TEST_F(PipelineTest, PutsTheTokenAheadOfTheArguments) {
    pipeline_.push({&kScript, {}, {"x"}}, std::make_unique<Recorder>("a", results_), at(0));
    EXPECT_EQ(release(),
              "*5\r\n" + text("EVALSHA") + text("5ac") + text("0") + text("42") + text("x"));
}

TEST_F(PipelineTest, SendsTheTextOfACallThatIsPushedAhead) {
    push_ahead("a");
    EXPECT_EQ(release(),
              "*5\r\n" + text("EVAL") + text("return") + text("0") + text("42") + text("x"));
}

TEST_F(PipelineTest, ReleasesAtMostAsManyCallsAsAskedFor) {
    push("b");
    push_ahead("a");
    std::string out;
    pipeline_.release(out, 0, 1);
    const auto size = out.size();
    EXPECT_TRUE(pipeline_.has_released());
    EXPECT_TRUE(pipeline_.has_unreleased());
    pipeline_.release(out, size, 1);
    EXPECT_EQ(out.size(), size) << "one is released already";
    EXPECT_EQ(answer("43", "1"), Taken::kValues);
    EXPECT_FALSE(pipeline_.has_released());
    EXPECT_EQ(answer("42", "2"), Taken::kMismatched) << "not released";
    pipeline_.release(out, size, 1);
    EXPECT_GT(out.size(), size);
    EXPECT_EQ(answer("42", "2"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a=1", "b=2"}));
}

TEST_F(PipelineTest, HandsEachCallTheValuesBehindItsToken) {
    push("a");
    push("b");
    release();
    EXPECT_EQ(answer("42", "one"), Taken::kValues);
    EXPECT_EQ(answer("43", "two"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a=one", "b=two"}));
    EXPECT_TRUE(pipeline_.empty());
}

TEST_F(PipelineTest, RejectsRepliesWithAnotherToken) {
    push("a");
    push("b");
    release();
    EXPECT_EQ(answer("43", "two"), Taken::kMismatched);
    EXPECT_EQ(take("*0\r\n"), Taken::kMismatched);
    EXPECT_EQ(take("*1\r\n:42\r\n"), Taken::kMismatched);
    EXPECT_EQ(take("+42\r\n"), Taken::kMismatched);
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, RejectsUnsolicitedReplies) {
    EXPECT_EQ(take("-ERR max number of clients reached\r\n"), Taken::kMismatched);
    push("a");
    EXPECT_EQ(answer("42", "early"), Taken::kMismatched);
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, HandsErrorsToTheirCall) {
    push("a");
    push("b");
    release();
    EXPECT_EQ(take("-OOM\r\n"), Taken::kError);
    EXPECT_EQ(answer("43", "two"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a: OOM", "b=two"}));
}

TEST_F(PipelineTest, SendsTheScriptInFullIfRedisDoesNotKnowIt) {
    push("a");
    release();
    EXPECT_EQ(take("-NOSCRIPT No matching script\r\n"), Taken::kRepeated);
    EXPECT_EQ(release(),
              "*5\r\n" + text("EVAL") + text("return") + text("1") + text("a") + text("43"));
    EXPECT_EQ(answer("43", "one"), Taken::kValues);
    EXPECT_EQ(results_, Results{"a=one"});
}

TEST_F(PipelineTest, SendsTheScriptInFullButOnce) {
    push("a");
    release();
    take("-NOSCRIPT\r\n");
    release();
    EXPECT_EQ(take("-NOSCRIPT\r\n"), Taken::kError);
    EXPECT_EQ(results_, Results{"a: NOSCRIPT"});
}

TEST_F(PipelineTest, AnswersCallsInOrderIfOneIsRepeated) {
    push("a");
    push("b");
    release();
    take("-NOSCRIPT\r\n");
    release();
    answer("43", "two");
    answer("44", "one");
    EXPECT_EQ(results_, (Results{"b=two", "a=one"}));
}

TEST_F(PipelineTest, FailsWrittenCallsAndKeepsTheRest) {
    push("a");
    release();
    write(0);
    push("b", 20);
    const auto b = release();
    pipeline_.note_written(position_ - 1, at(30));
    push("c", 40);
    pipeline_.fail_lost(at(50));
    EXPECT_EQ(results_, Results{"a failed"});
    EXPECT_EQ(first_deadline(), 120);
    position_ = 0;
    push_ahead("probe", 50);
    EXPECT_NE(release().find(b), std::string::npos);
    write(60);
    EXPECT_EQ(answer("45", "1"), Taken::kValues);
    EXPECT_EQ(answer("43", "2"), Taken::kValues);
    EXPECT_EQ(answer("44", "3"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a failed", "probe=1", "b=2", "c=3"}));
}

TEST_F(PipelineTest, FailsACallThatWasPushedAheadInAnyCase) {
    push("a");
    push_ahead("probe");
    release();
    pipeline_.fail_lost(at(50));
    EXPECT_EQ(results_, Results{"probe unsent"});
    release();
    EXPECT_EQ(answer("42", "1"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"probe unsent", "a=1"}));
}

TEST_F(PipelineTest, FailsLateCallsThatWereNotWritten) {
    push("a", 0);
    push("b", 20);
    release();
    pipeline_.fail_lost(at(100));
    EXPECT_EQ(results_, Results{"a unsent"});
    EXPECT_EQ(first_deadline(), 120);
}

TEST_F(PipelineTest, SendsAskingAgainOnAnotherConnection) {
    pipeline_.push({&kScript, {"a"}, {}, true}, std::make_unique<Recorder>("a", results_), at(0));
    release();
    EXPECT_EQ(take("+OK\r\n"), Taken::kAsking);  // ... before the call itself is written
    pipeline_.fail_lost(at(50));
    EXPECT_NE(release().find("ASKING"), std::string::npos);
    EXPECT_EQ(take("+OK\r\n"), Taken::kAsking);
    EXPECT_EQ(answer("42", "1"), Taken::kValues);
    EXPECT_EQ(results_, Results{"a=1"});
}

TEST_F(PipelineTest, FailsAll) {
    push("a");
    release();
    write(0);
    push("b");
    release();
    push("c");
    pipeline_.fail_all();
    EXPECT_EQ(results_, (Results{"a failed", "b unsent", "c unsent"}));
    EXPECT_TRUE(pipeline_.empty());
}

TEST_F(PipelineTest, CallsNoHandlerWhenItIsDestroyed) {
    {
        Pipeline pipeline{1, std::chrono::milliseconds(100)};
        pipeline.push({&kScript, {}, {}}, std::make_unique<Recorder>("a", results_), at(0));
    }
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, CountsTheTimeOfACallThatWaitsFromItsPush) {
    push("a", 10);
    push("b", 20);
    EXPECT_EQ(first_deadline(), 110);
    release();
    EXPECT_EQ(first_deadline(), 110);
}

TEST_F(PipelineTest, CountsTheTimeOfACallFromWhenItWasWritten) {
    push("a", 10);
    release();
    write(90);
    EXPECT_EQ(first_deadline(), 190);
}

TEST_F(PipelineTest, WaitsForNoReplyToACallThatIsNotWrittenYet) {
    push("a", 10);
    push("b", 20);
    push("c", 30);
    const auto ab = release();
    const auto first = ab.size() / 3;
    pipeline_.note_written(first, at(90));  // a, but neither b nor c: the socket takes no more
    EXPECT_EQ(first_deadline(), 120);
    pipeline_.note_written(2 * first + 1, at(95));  // b, and a part of c
    EXPECT_EQ(first_deadline(), 130);
    pipeline_.note_written(3 * first, at(99));
    EXPECT_EQ(first_deadline(), 190);
}

TEST_F(PipelineTest, CountsTheTimeOfARepeatedCallFromWhenItWasWrittenAgain) {
    push("a", 0);
    push("b", 40);
    release();
    write(50);
    take("-NOSCRIPT\r\n");
    EXPECT_EQ(first_deadline(), 150);
    release();
    write(80);
    answer("43", "two");
    EXPECT_EQ(first_deadline(), 180);
}

TEST_F(PipelineTest, KnowsTheDeadlineOfCallsBehindOneThatWasPushedAhead) {
    push("a", 0);
    push_ahead("probe", 60);
    EXPECT_EQ(first_deadline(), 100);
    release();
    write(70);
    EXPECT_EQ(first_deadline(), 170);
}

TEST_F(PipelineTest, RestartsTheTimeoutOfEachCallAfterAStall) {
    push("a", 0);
    release();
    write(0);
    pipeline_.postpone(at(300));
    EXPECT_EQ(first_deadline(), 400);
    push("b", 350);
    pipeline_.postpone(at(700));
    EXPECT_EQ(first_deadline(), 400);
    take("-ERR\r\n");
    EXPECT_EQ(first_deadline(), 800);
}

TEST_F(PipelineTest, GivesAwayTheCallsThatWereWritten) {
    push("a");
    pipeline_.push({&kScript, {"b"}, {}}, std::make_unique<Patient>("b", results_), at(0));
    pipeline_.push({&kScript, {"c"}, {}}, std::make_unique<Patient>("c", results_), at(0));
    release();
    write(0);
    push("d");
    release();
    Pipeline late = pipeline_.split_written();
    EXPECT_FALSE(pipeline_.has_released());
    EXPECT_TRUE(pipeline_.has_unreleased()) << "it is sent on another connection";
    late.time_out();
    EXPECT_EQ(results_, (Results{"a failed"}));
    EXPECT_TRUE(late.has_handlers());
    std::swap(pipeline_, late);
    EXPECT_EQ(answer("42", "one"), Taken::kValues);
    EXPECT_EQ(answer("43", "two"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a failed", "b=two"}));
    EXPECT_EQ(take("-NOSCRIPT\r\n"), Taken::kRepeated);
    pipeline_.fail_unreleased();
    EXPECT_EQ(results_, (Results{"a failed", "b=two", "c unsent"}));
    EXPECT_FALSE(pipeline_.has_handlers());
}

TEST_F(PipelineTest, MakesFurtherCallsFromWithinAFailure) {
    push("a");
    release();
    pipeline_.push({&kScript, {}, {}}, std::make_unique<Again>(pipeline_, results_), at(0));
    pipeline_.fail_all();
    EXPECT_EQ(results_, (Results{"a unsent"}));
    EXPECT_TRUE(pipeline_.has_unreleased());
    pipeline_.fail_all();
    EXPECT_EQ(results_, (Results{"a unsent", "again unsent"}));
}

}  // namespace
}  // namespace tollgate::redis
