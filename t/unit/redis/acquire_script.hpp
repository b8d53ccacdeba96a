#pragma once

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>

#include "module/redis/protocol/acquire_codec.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

using namespace std::chrono_literals;

// Long periods, so that a window rarely ends during a test. Each divides the next.
inline constexpr std::chrono::seconds kHour = 360'000s;
inline constexpr std::chrono::seconds kDay = 8'640'000s;
inline constexpr std::chrono::seconds kWeek = 25'920'000s;

/// A redis-server in a folder of its own, and a connection to it.
class RedisProcess {
  public:
    RedisProcess() {
        std::string folder = (std::filesystem::temp_directory_path() / "redis-XXXXXX").string();
        folder_ = mkdtemp(folder.data());
        const std::string socket = folder_ / "redis.sock";
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // the server ends if the test crashes
            execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket.c_str(),
                   "--save", "", "--logfile", "/dev/null", nullptr);
            _exit(127);
        }
        const auto deadline = std::chrono::steady_clock::now() + 30s;
        while (!context_ || context_->err != 0) {
            if (std::chrono::steady_clock::now() > deadline) {
                kill(process_, SIGKILL);
                waitpid(process_, nullptr, 0);
                throw std::runtime_error("redis-server does not answer within 30 s");
            }
            std::this_thread::sleep_for(10ms);
            context_.reset(redisConnectUnix(socket.c_str()));
        }
    }
    ~RedisProcess() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        std::filesystem::remove_all(folder_);
    }
    RedisProcess(const RedisProcess&) = delete;
    RedisProcess& operator=(const RedisProcess&) = delete;

    ReplyPtr run(const Words& words) {
        std::string command;
        append_command(command, words);
        redisAppendFormattedCommand(context_.get(), command.data(), command.size());
        void* reply = nullptr;
        redisGetReply(context_.get(), &reply);
        return ReplyPtr(static_cast<redisReply*>(reply));
    }
    std::string text(const Words& words) { return std::string(text_of(*run(words))); }
    long long integer(const Words& words) { return run(words)->integer; }

  private:
    struct ContextDeleter {
        void operator()(redisContext* context) const noexcept { redisFree(context); }
    };
    std::filesystem::path folder_;
    pid_t process_;
    std::unique_ptr<redisContext, ContextDeleter> context_;
};

/// A script for which the values of the keys `seconds` and `microseconds` are Redis's clock. Throws
/// std::logic_error if a use of Redis's own clock remains.
inline std::string with_given_clock(const std::string& script) {
    const std::regex time(R"(redis\.call\('TIME'\))");
    const std::regex rest(R"(redis\.pcall\('PTTL', ([^()]+)\))");
    auto text = std::regex_replace(script, time, "redis.call('MGET', 'seconds', 'microseconds')");
    text = std::regex_replace(text, rest, "(redis.call('PEXPIRETIME', $1) - now)");
    if (text.find("'TIME'") != std::string::npos ||
        text.find("pcall('PTTL'") != std::string::npos) {
        throw std::logic_error("a script uses the clock of Redis in another way");
    }
    return text;
}

/// Runs the script of an acquire in a real Redis, with the encoding and decoding of the gateway.
class AcquireScript : public testing::Test {
  protected:
    static void SetUpTestSuite() { redis_ = std::make_unique<RedisProcess>(); }
    static void TearDownTestSuite() { redis_.reset(); }
    void SetUp() override {
        redis_->run({"FLUSHALL"});
        start_ = now();
        // The tests take the numbers of windows from `start_`, so no window may end within a test.
        for (const auto period : {kHour, kDay, kWeek}) {
            while (window_number(start_ + 5s, period) != window_number(start_, period)) {
                std::this_thread::sleep_for(100ms);
                start_ = now();
            }
        }
    }

    /// The elements of the script's reply.
    std::span<const redisReply* const> run(std::span<const Acquire> acquires) {
        const auto call = acquire_call(acquires, keys_, context_);
        Words words{"EVAL", clock_ ? text_with_clock() : call.script->text};
        words.add(call.keys.size());
        words.add(call.keys);
        words.add("token");
        words.add(call.arguments);
        reply_ = redis_->run(words);
        return elements_of(*reply_);
    }
    /// The key of the reports of an acquire's first table.
    std::string report_key(const Acquire& acquire) const {
        return keys_.report("k", "api", "", context_.node, layout_name(acquire.quotas->front()));
    }
    /// The decisions of the script. Fails if the reply is an error.
    std::vector<AcquireResult> decide(std::vector<Acquire> acquires) {
        for (Acquire& acquire : acquires) {
            acquire.report_numbers.resize(acquire.quotas->size());
        }
        const auto elements = run(acquires);
        EXPECT_FALSE(elements.empty()) << text_of(*reply_);
        EXPECT_EQ(elements.empty() ? "" : text_of(*elements[0]), "token");
        auto results = read_acquired(elements.subspan(elements.empty() ? 0 : 1), acquires);
        EXPECT_TRUE(results);
        return results ? results->of_ids : std::vector<AcquireResult>(acquires.size());
    }
    Acquired decide(const Acquire& acquire) {
        auto results = decide(std::vector{acquire});
        EXPECT_TRUE(std::holds_alternative<Acquired>(results[0]));
        return std::get<Acquired>(results[0]);
    }

    /// Sets the clock of the script.
    void set_clock(Instant time) {
        clock_ = time;
        const auto ms = time.time_since_epoch().count();
        redis_->run({"MSET", "seconds", std::to_string(ms / 1000), "microseconds",
                     std::to_string(ms % 1000 * 1000)});
    }
    /// The same to the microsecond.
    void set_exact_clock(ExactInstant time) {
        clock_ = std::chrono::floor<std::chrono::milliseconds>(time);
        const auto us = time.time_since_epoch().count();
        redis_->run({"MSET", "seconds", std::to_string(us / 1'000'000), "microseconds",
                     std::to_string(us % 1'000'000)});
    }
    /// The script, with the clock of set_clock() instead of Redis's.
    static const std::string& text_with_clock() {
        static const std::string text = with_given_clock(acquire_script().text);
        return text;
    }

    static TableQuota table(std::string name, std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota;
        quota.table = std::move(name);
        quota.rates = std::move(rates);
        quota.sliding = sliding;
        return quota;
    }
    static Acquire acquire_of(Quotas quotas) {
        Acquire acquire;
        acquire.id = "k";
        acquire.quotas = std::make_shared<const Quotas>(std::move(quotas));
        return acquire;
    }
    static Acquire acquire_of(std::vector<Rate> rates, bool sliding = false) {
        return acquire_of(Quotas{table("api", std::move(rates), sliding)});
    }

    std::string field(const std::string& name, const std::string& table = "api") {
        return redis_->text({"HGET", keys_.quota("k", table), name});
    }
    std::int64_t count(std::chrono::seconds period, const std::string& table = "api") {
        const auto text = field(std::to_string(period.count()) + ".count", table);
        return text.empty() ? -1 : std::stoll(text);
    }
    /// Stores the count of a window that is `ago` windows before the current one.
    void put(std::chrono::seconds period, std::int64_t ago, std::int64_t count,
             std::optional<std::int64_t> previous = std::nullopt) {
        const auto start = std::to_string(period.count());
        Words words{"HSET",
                    keys_.quota("k", "api"),
                    start + ".number",
                    std::to_string(number(period) - ago),
                    start + ".count",
                    std::to_string(count)};
        if (previous) {
            words.add(start + ".previous");
            words.add(*previous);
        }
        redis_->run(words);
    }
    Instant now() {
        const auto time = redis_->run({"TIME"});
        return Instant(
            std::chrono::seconds(std::stoll(std::string(text_of(*time->element[0])))) +
            std::chrono::milliseconds(std::stoll(std::string(text_of(*time->element[1]))) / 1000));
    }
    std::int64_t number(std::chrono::seconds period) const { return window_number(start_, period); }
    Instant expiry(const std::string& key) {
        return Instant(std::chrono::milliseconds(redis_->integer({"PEXPIRETIME", key})));
    }
    std::string ban(const std::string& name) {
        return redis_->text({"HGET", keys_.ban("k"), name});
    }
    /// The number of writes that Redis has executed.
    long long dirty() {
        const std::string info = redis_->text({"INFO", "persistence"});
        const auto at = info.find("rdb_changes_since_last_save:");
        return std::stoll(info.substr(at + 28));
    }

    static inline std::unique_ptr<RedisProcess> redis_;
    Keys keys_{"t:"};
    AcquireContext context_{.node = "n1", .deadline = {}};
    std::optional<Instant> clock_;  ///< see set_clock
    Instant start_;                 ///< of the test, by the clock of Redis
    ReplyPtr reply_;                ///< the last, into which errors are views
};

}  // namespace tollgate::redis
