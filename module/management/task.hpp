#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace tollgate::management {

// g++ 12 destroys temporaries of some expressions twice if these contain co_await: a condition, the
// range of a loop, an argument. Therefore co_await stands alone: `auto value = co_await …;`.

/// An operation of several steps that waits for Redis between them: a coroutine. It begins when it
/// is awaited or started, and its frame lives as long as this object. One definition of an
/// operation serves a command, which blocks, and a worker of nginx, which must not.
template <typename Result>
class [[nodiscard]] Task {
    struct Nothing {};
    using Stored = std::conditional_t<std::is_void_v<Result>, Nothing, Result>;

    struct Promise;
    using Handle = std::coroutine_handle<Promise>;

    /// Resumes the task that awaits this one.
    struct Finish {
        static bool await_ready() noexcept { return false; }
        static std::coroutine_handle<> await_suspend(Handle finished) noexcept {
            const auto next = finished.promise().awaiting;
            return next ? next : std::noop_coroutine();
        }
        static void await_resume() noexcept {}
    };

    struct PromiseBase {
        std::variant<std::monostate, Stored, std::exception_ptr> result;
        std::coroutine_handle<> awaiting = nullptr;

        static std::suspend_always initial_suspend() noexcept { return {}; }
        static Finish final_suspend() noexcept { return {}; }
        void unhandled_exception() { result = std::current_exception(); }
    };
    struct VoidPromise : PromiseBase {
        void return_void() { this->result = Nothing{}; }
    };
    struct ValuePromise : PromiseBase {
        void return_value(Stored value) { this->result = std::move(value); }
    };
    struct Promise : std::conditional_t<std::is_void_v<Result>, VoidPromise, ValuePromise> {
        Task get_return_object() { return Task(Handle::from_promise(*this)); }
    };

  public:
    using promise_type = Promise;

    Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (frame_) {
            frame_.destroy();
        }
    }

    /// Runs the task until it waits for something, or ends.
    void start() const { frame_.resume(); }
    bool is_done() const { return frame_.done(); }

    /// The result of a task that is done. Throws what the task threw.
    Result result() {
        auto& stored = frame_.promise().result;
        if (const auto* const error = std::get_if<std::exception_ptr>(&stored)) {
            std::rethrow_exception(*error);
        }
        if constexpr (!std::is_void_v<Result>) {
            return std::move(std::get<Stored>(stored));
        }
    }

    auto operator co_await() noexcept {
        struct Awaiter {
            Task& task;
            bool await_ready() const noexcept { return false; }
            // A task that ends at once does not suspend the awaiting one: a loop over such tasks
            // needs no tail calls, which compilers do not always make.
            bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
                task.frame_.resume();
                if (task.frame_.done()) {
                    return false;
                }
                task.frame_.promise().awaiting = awaiting;
                return true;
            }
            Result await_resume() { return task.result(); }
        };
        return Awaiter{*this};
    }

  private:
    explicit Task(Handle frame) : frame_(frame) {}

    Handle frame_;
};

}  // namespace tollgate::management
