#include "module/redis/pipeline.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tollgate::redis {
namespace {

using Results = std::vector<std::string>;

/// Writes down what became of its command.
class Recorder : public ReplyHandler {
  public:
    Recorder(std::string name, Results& results) : name_(std::move(name)), results_(results) {}
    void on_reply(const redisReply& reply) noexcept override {
        results_.push_back(name_ + "=" + std::string(text_of(reply)));
    }
    void on_failure() noexcept override { results_.push_back(name_ + " failed"); }

  private:
    std::string name_;
    Results& results_;
};

class PipelineTest : public testing::Test {
  protected:
    void push(const std::string& name) {
        pipeline_.push(std::array<std::string, 2>{"GET", name},
                       std::make_unique<Recorder>(name, results_), 0);
    }

    /// Takes replies off these bytes; the last one's fate.
    Pipeline::Taken take(std::string_view bytes) {
        ReplyReader reader;
        EXPECT_TRUE(reader.feed(bytes));
        auto taken = Pipeline::Taken::kHeld;
        while (auto reply = reader.next()) {
            taken = pipeline_.take(reply);
        }
        return taken;
    }

    Pipeline pipeline_{41};
    Results results_;
    std::string out_;
};

TEST_F(PipelineTest, ClosesWhatIsReleasedTogetherWithOneFence) {
    push("a");
    push("b");
    pipeline_.release(out_);
    EXPECT_EQ(out_,
              "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
              "*2\r\n$4\r\nECHO\r\n$2\r\n42\r\n");
}

TEST_F(PipelineTest, HoldsRepliesBackUntilTheirFence) {
    push("a");
    push("b");
    pipeline_.release(out_);
    EXPECT_EQ(take("+1\r\n+2\r\n"), Pipeline::Taken::kHeld);
    EXPECT_EQ(results_, Results{});
    EXPECT_EQ(take("$2\r\n42\r\n"), Pipeline::Taken::kSettled);
    EXPECT_EQ(results_, (Results{"a=1", "b=2"}));
    EXPECT_TRUE(pipeline_.empty());
}

TEST_F(PipelineTest, TrustsNoReplyOfAStreamThatHasOneTooMany) {
    push("a");
    push("b");
    pipeline_.release(out_);
    EXPECT_EQ(take("+1\r\n+1\r\n+2\r\n"), Pipeline::Taken::kMismatched);
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, TrustsNoReplyOfAStreamThatHasOneTooFew) {
    push("a");
    push("b");
    pipeline_.release(out_);
    EXPECT_EQ(take("+1\r\n$2\r\n42\r\n"), Pipeline::Taken::kHeld);
    push("c");
    pipeline_.release(out_);
    EXPECT_EQ(take("+3\r\n"), Pipeline::Taken::kMismatched);
    EXPECT_EQ(results_, Results{});
}

TEST_F(PipelineTest, RefusesWhatNobodyAskedFor) {
    EXPECT_EQ(take("+stray\r\n"), Pipeline::Taken::kMismatched);
}

TEST_F(PipelineTest, KeepsWhatIsNotReleasedForAnotherConnection) {
    push("a");
    pipeline_.release(out_);
    push("b");
    pipeline_.fail_released();
    EXPECT_EQ(results_, Results{"a failed"});
    out_.clear();
    pipeline_.release(out_);
    EXPECT_EQ(out_, "*2\r\n$3\r\nGET\r\n$1\r\nb\r\n*2\r\n$4\r\nECHO\r\n$2\r\n43\r\n");
    EXPECT_EQ(take("+2\r\n$2\r\n43\r\n"), Pipeline::Taken::kSettled);
    EXPECT_EQ(results_, (Results{"a failed", "b=2"}));
}

TEST_F(PipelineTest, ForgetsRepliesThatItHeldWhenItFails) {
    push("a");
    push("b");
    pipeline_.release(out_);
    take("+1\r\n");
    pipeline_.fail_all();
    EXPECT_EQ(results_, (Results{"a failed", "b failed"}));
    EXPECT_FALSE(pipeline_.has_unreleased());
}

}  // namespace
}  // namespace tollgate::redis
