#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/database.hpp"
#include "t/unit/management/memory_database.hpp"

namespace tollgate::management {

/// Executes operations against one MemoryDatabase at the same time. The test decides the order of
/// their transactions: other clients of Redis see an operation between any two of them, also of one
/// call. An operation that is executed again from the same data takes the same steps, so that a
/// search can repeat a prefix of an order.
class Interleaving {
  public:
    using Operation = std::function<Task<void>(Database&)>;

    /// `database` must outlive the object. Each operation runs until it waits for its first reply.
    Interleaving(MemoryDatabase& database, std::vector<Operation> operations) {
        for (auto& operation : operations) {
            parts_.push_back(std::make_unique<Part>(database, std::move(operation)));
        }
    }

    bool is_done(std::size_t operation) const { return parts_[operation]->is_done(); }

    /// Executes the next transaction of an operation that is not done, or ends its wait.
    void step(std::size_t operation) { parts_[operation]->step(); }

    /// Executes the rest of an operation, of which no other one is a part.
    void finish(std::size_t operation) {
        constexpr int kMostSteps = 10'000;
        int steps = 0;
        for (; !is_done(operation) && steps < kMostSteps; ++steps) {
            step(operation);
        }
        EXPECT_LT(steps, kMostSteps) << "the operation does not end";
    }

    /// Why an operation that is done has failed. Empty if it has succeeded.
    std::optional<Reason> failure(std::size_t operation) const {
        return parts_[operation]->failure();
    }

  private:
    /// The database as one of the operations sees it.
    class Part final : public Database {
      public:
        Part(MemoryDatabase& database, Operation operation)
            : database_(database), operation_(std::move(operation)), task_(operation_(*this)) {
            task_.start();
        }

        void execute(std::vector<Transaction> transactions, Done done) override {
            waiting_ = std::move(transactions);
            replies_.clear();
            done_ = std::move(done);
        }
        void wait(std::chrono::milliseconds /*time*/, Done done) override {
            execute({}, std::move(done));
        }
        bool may_span(std::string_view key, std::string_view other) const override {
            return database_.may_span(key, other);
        }
        Task<Durability> acknowledge() override { return database_.acknowledge(); }

        bool is_done() const { return task_.is_done(); }

        void step() {
            if (replies_.size() < waiting_.size()) {
                std::exception_ptr error;
                std::vector<Transaction> one(1, waiting_[replies_.size()]);
                database_.execute(std::move(one), [&](Outcome outcome) {
                    if (auto* const replies = std::get_if<std::vector<Replies>>(&outcome)) {
                        replies_.push_back(std::move(replies->front()));
                    } else {
                        error = std::get<std::exception_ptr>(outcome);
                    }
                });
                if (error) {
                    std::exchange(done_, nullptr)(error);
                    return;
                }
            }
            if (replies_.size() == waiting_.size()) {
                waiting_.clear();
                std::exchange(done_, nullptr)(std::exchange(replies_, {}));
            }
        }

        std::optional<Reason> failure() {
            try {
                task_.result();
            } catch (const OperationError& error) {
                return error.reason();
            }
            return std::nullopt;
        }

      private:
        MemoryDatabase& database_;
        Operation operation_;  ///< outlives its task, which may refer to it
        Task<void> task_;
        std::vector<Transaction> waiting_{};
        std::vector<Replies> replies_{};
        Done done_{};
    };

    std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace tollgate::management
