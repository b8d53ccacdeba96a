#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "module/management/durability.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/task.hpp"
#include "module/management/transaction.hpp"
#include "module/plan/window.hpp"

namespace tollgate::management {

/// What executes the transactions of operations: the masters of a Redis deployment.
class Database {
  public:
    /// What became of a call: its value, or why there is none.
    template <typename Value>
    using OutcomeOf = std::variant<Value, std::exception_ptr>;
    /// What became of some transactions: the replies to each.
    using Outcome = OutcomeOf<std::vector<Replies>>;
    using Done = std::function<void(Outcome)>;

    Database() = default;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    virtual ~Database() = default;

    /// Executes the transactions, in any order, and calls `done` once: before this returns, or
    /// later. A transaction that no server executed is sent again for some time.
    virtual void execute(std::vector<Transaction> transactions, Done done) = 0;
    /// Calls `done` after this time, without replies.
    virtual void wait(std::chrono::milliseconds time, Done done) = 0;
    /// Lets other work of the process go on, if the operation has taken the processor for long: the
    /// task is resumed after it. Returns false if the task may go on at once.
    virtual bool defer(std::coroutine_handle<> /*task*/) { return false; }
    /// The time since the request arrived whose operation this executes. 0 if it is no request.
    virtual std::chrono::milliseconds elapsed() const { return {}; }
    /// Whether one transaction may change both keys, in any state of the deployment.
    virtual bool may_span(std::string_view key, std::string_view other) const = 0;
    /// Determines whether the changes since the last Durability::kConfirmed survive a failover.
    /// What was read since then must be from the present masters, too. After Durability::kUndone,
    /// the next transactions go to the present masters, as soon as they are known. Throws
    /// OperationError.
    virtual Task<Durability> acknowledge() = 0;
};

/// Awaits an outcome. `begin` receives the function to call with it.
template <typename Value, typename Begin>
class [[nodiscard]] Awaited {
  public:
    explicit Awaited(Begin begin) : begin_(std::move(begin)) {}

    static bool await_ready() noexcept { return false; }
    /// Returns false, which resumes the task at once, if the outcome is there already.
    bool await_suspend(std::coroutine_handle<> task) {
        begin_([this, task](Database::OutcomeOf<Value> outcome) {
            outcome_ = std::move(outcome);
            if (is_suspended_) {
                task.resume();
            }
        });
        is_suspended_ = !outcome_;
        return is_suspended_;
    }
    Value await_resume() {
        if (const auto* const error = std::get_if<std::exception_ptr>(&*outcome_)) {
            std::rethrow_exception(*error);
        }
        return std::move(std::get<Value>(*outcome_));
    }

  private:
    Begin begin_;
    std::optional<Database::OutcomeOf<Value>> outcome_;
    bool is_suspended_ = false;
};

/// Makes an Awaited, whose type contains that of `begin`.
template <typename Value, typename Begin>
auto await(Begin begin) {
    return Awaited<Value, Begin>(std::move(begin));
}

/// Executes transactions and awaits their replies, in the order of the transactions.
inline auto execute(Database& database, std::vector<Transaction> transactions) {
    return await<std::vector<Replies>>(
        [&database, transactions = std::move(transactions)](auto done) mutable {
            database.execute(std::move(transactions), std::move(done));
        });
}

/// Executes one transaction.
Task<Replies> execute(Database& database, Transaction transaction);

/// Executes one command.
Task<redis::Value> run(Database& database, redis::Command command);

/// Executes commands, each of which may have a different slot.
Task<std::vector<redis::Value>> run_all(Database& database, std::vector<redis::Command> commands);

/// The time in a reply to TIME, in whole milliseconds. Throws OperationError with
/// Reason::kUnavailable if the value is no such reply, or a time later than kLatestInstant.
Instant time_of_reply(const redis::Value& time);

/// Waits.
inline auto wait(Database& database, std::chrono::milliseconds time) {
    return await<std::vector<Replies>>(
        [&database, time](auto done) { database.wait(time, std::move(done)); });
}

/// Awaited after each of many elements: lets other work of the process go on, if it is time.
class [[nodiscard]] Pause {
  public:
    explicit Pause(Database& database) : database_(database) {}

    static bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> task) { return database_.defer(task); }
    static void await_resume() noexcept {}

  private:
    Database& database_;
};

/// Runs a task to its end with a database that calls `done` before it returns.
template <typename Result>
Result run_to_end(Task<Result> task) {
    task.start();
    return task.result();
}

}  // namespace tollgate::management
