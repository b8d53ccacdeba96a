#include "module/redis/pipeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tollgate::redis {
namespace {

using Results = std::vector<std::string>;
using Taken = Pipeline::Taken;

/// Writes down what became of its call.
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

  private:
    std::string name_;
    Results& results_;
};

const Script kScript{"return", "5ac"};

std::string text(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

class PipelineTest : public testing::Test {
  protected:
    void push(const std::string& name, Pipeline::Milliseconds deadline = 0) {
        pipeline_.push({&kScript, {name}, {}}, std::make_unique<Recorder>(name, results_),
                       deadline);
    }
    void push_ahead(const std::string& name) {
        pipeline_.push_ahead({&kScript, {}, {"x"}}, std::make_unique<Recorder>(name, results_), 0);
    }

    std::string release() {
        std::string out;
        pipeline_.release(out);
        return out;
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
    Pipeline pipeline_{41};
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
    push_ahead("a");
    EXPECT_EQ(release(),
              "*5\r\n" + text("EVALSHA") + text("5ac") + text("0") + text("42") + text("x"));
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

TEST_F(PipelineTest, BelievesNoAnswerWithAnotherToken) {
    push("a");
    push("b");
    release();
    EXPECT_EQ(answer("43", "two"), Taken::kMismatched);
    EXPECT_EQ(take("*0\r\n"), Taken::kMismatched);
    EXPECT_EQ(take("*1\r\n:42\r\n"), Taken::kMismatched);
    EXPECT_EQ(take("+42\r\n"), Taken::kMismatched);
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, TakesNothingThatNoCallAwaits) {
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

TEST_F(PipelineTest, SendsTheScriptInFullWhereRedisDoesNotKnowIt) {
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

TEST_F(PipelineTest, KeepsTheDeadlineOfACallThatIsRepeated) {
    push("a", 10);
    push("b", 20);
    release();
    take("-NOSCRIPT\r\n");
    EXPECT_EQ(pipeline_.first_deadline(), 10U);
    release();
    answer("43", "two");
    answer("44", "one");
    EXPECT_EQ(results_, (Results{"b=two", "a=one"}));
}

TEST_F(PipelineTest, FailsWhatWasReleasedAndKeepsTheRest) {
    push("a");
    release();
    push("b");
    pipeline_.fail_released();
    EXPECT_EQ(results_, Results{"a failed"});
    EXPECT_TRUE(pipeline_.has_unreleased());
    push_ahead("probe");
    release();
    EXPECT_EQ(answer("44", "1"), Taken::kValues);
    EXPECT_EQ(answer("43", "2"), Taken::kValues);
    EXPECT_EQ(results_, (Results{"a failed", "probe=1", "b=2"}));
}

TEST_F(PipelineTest, FailsAll) {
    push("a");
    release();
    push("b");
    pipeline_.fail_all();
    EXPECT_EQ(results_, (Results{"a failed", "b failed"}));
    EXPECT_TRUE(pipeline_.empty());
}

TEST_F(PipelineTest, TellsTheEarliestDeadlineAcrossTheWrapOfMilliseconds) {
    push("a", static_cast<Pipeline::Milliseconds>(-5));
    push("b", 5);
    release();
    take("-NOSCRIPT\r\n");
    EXPECT_EQ(pipeline_.first_deadline(), static_cast<Pipeline::Milliseconds>(-5));
}

}  // namespace
}  // namespace tollgate::redis
