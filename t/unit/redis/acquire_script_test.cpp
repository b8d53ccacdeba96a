// Runs the script in a real Redis, with the encoding and decoding of the gateway.

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include "module/quota/bucket.hpp"
#include "module/redis/protocol/acquire_codec.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"
#include "t/unit/gateway/redis_model.hpp"
#include "t/unit/quota/gcra_model.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

// Long periods, so that a window rarely ends during a test. Each divides the next.
constexpr std::chrono::seconds kHour = 360'000s;
constexpr std::chrono::seconds kDay = 8'640'000s;
constexpr std::chrono::seconds kWeek = 25'920'000s;

/// A redis-server in a folder of its own, and a connection to it.
class Redis {
  public:
    Redis() {
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
    ~Redis() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        std::filesystem::remove_all(folder_);
    }
    Redis(const Redis&) = delete;
    Redis& operator=(const Redis&) = delete;

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

class AcquireScript : public testing::Test {
  protected:
    static void SetUpTestSuite() { redis_ = std::make_unique<Redis>(); }
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
        static const std::string text = [] {
            constexpr std::string_view kTime = "redis.call('TIME')";
            constexpr std::string_view kTtl = "redis.call('PTTL', name)";
            std::string changed = acquire_script().text;
            changed.replace(changed.find(kTime), kTime.size(),
                            "redis.call('MGET', 'seconds', 'microseconds')");
            for (auto at = changed.find(kTtl); at != std::string::npos; at = changed.find(kTtl)) {
                changed.replace(at, kTtl.size(), "(redis.call('PEXPIRETIME', name) - now)");
            }
            return changed;
        }();
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

    static std::unique_ptr<Redis> redis_;
    Keys keys_{"t:"};
    AcquireContext context_{.node = "n1", .deadline = {}};
    std::optional<Instant> clock_;  ///< see set_clock
    Instant start_;                 ///< of the test, by the clock of Redis
    ReplyPtr reply_;                ///< the last, into which errors are views
};
std::unique_ptr<Redis> AcquireScript::redis_;

TEST_F(AcquireScript, GrantsUntilAWindowIsExhausted) {
    Acquire acquire = acquire_of({{3, kHour}});
    acquire.count = 2;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_EQ(acquired.windows, (WindowCounts{{number(kHour), 2, 0}}));
    EXPECT_GE(acquired.now, start_);
    EXPECT_LE(acquired.now, now());
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 1);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.windows[0].count, 3);
    const auto before = dirty();
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.limited, 2);
    EXPECT_EQ(acquired.windows[0].count, 3);
    EXPECT_EQ(dirty(), before);
    EXPECT_EQ(count(kHour), 3);
}

TEST_F(AcquireScript, CountsInEveryWindowOfEveryTable) {
    Acquire acquire =
        acquire_of(Quotas{table("api", {{10, kHour}, {100, kDay}}), table("search", {{4, kDay}})});
    acquire.count = 7;
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 4);
    EXPECT_EQ(acquired.limited, 3);
    EXPECT_EQ(acquired.windows,
              (WindowCounts{{number(kHour), 4, 0}, {number(kDay), 4, 0}, {number(kDay), 4, 0}}));
    EXPECT_EQ(count(kHour), 4);
    EXPECT_EQ(count(kDay), 4);
    EXPECT_EQ(count(kDay, "search"), 4);
    EXPECT_EQ(redis_->integer({"HLEN", keys_.quota("k", "api")}), 4);
}

TEST_F(AcquireScript, TakesWhatARequestCosts) {
    Acquire acquire = acquire_of({{10, kHour}});
    acquire.demand.cost = 3;
    acquire.count = 5;
    EXPECT_EQ(decide(acquire).granted, 3);
    EXPECT_EQ(count(kHour), 9);
    acquire.demand.cost = 0;
    const auto before = dirty();
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 5);
    EXPECT_EQ(acquired.windows[0].count, 9);
    EXPECT_EQ(dirty(), before);
    acquire.quotas = acquire_of({{5, kHour}}).quotas;  // over the limit
    EXPECT_EQ(decide(acquire).granted, 5);
    acquire.demand.cost = 1;
    EXPECT_EQ(decide(acquire).granted, 0);
}

TEST_F(AcquireScript, BeginsANewWindow) {
    put(kHour, 1, 7);
    put(kDay, 0, 9);
    const auto acquired = decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(acquired.windows, (WindowCounts{{number(kHour), 1, 0}, {number(kDay), 10, 0}}));
    EXPECT_EQ(field("360000.number"), std::to_string(number(kHour)));
    EXPECT_EQ(field("360000.previous"), "");
}

TEST_F(AcquireScript, KeepsAWindowToComeAfterTheClockWentBack) {
    put(kHour, -1, 7);
    EXPECT_EQ(decide(acquire_of({{10, kHour}})).windows[0], (WindowCount{number(kHour) + 1, 8, 0}));
    put(kHour, -2, 7);
    EXPECT_EQ(decide(acquire_of({{10, kHour}})).windows[0], (WindowCount{number(kHour), 1, 0}));
    put(1s, -50, 7);
    EXPECT_EQ(decide(acquire_of({{10, 1s}})).windows[0].count, 8);
}

TEST_F(AcquireScript, ExpiresWithItsLongestWindow) {
    const auto key = keys_.quota("k", "api");
    decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(expiry(key), window_end(number(kDay), kDay));
    redis_->run({"PEXPIRE", key, "500000"});
    const auto brought_forward = expiry(key);
    decide(acquire_of({{10, kHour}, {100, kDay}}));
    EXPECT_EQ(expiry(key), brought_forward) << "no window is new";
    decide(acquire_of({{10, kHour}, {100, kDay}, {1000, kWeek}}));
    EXPECT_EQ(expiry(key), window_end(number(kWeek), kWeek));
    put(kHour, 1, 0);
    decide(acquire_of({{10, kHour}}));  // a plan with shorter windows
    EXPECT_EQ(expiry(key), window_end(number(kWeek), kWeek));
}

TEST_F(AcquireScript, ExpiresWithTheLastWindowIfShorterOnesDoNotDivideTheLongest) {
    constexpr std::chrono::seconds kSevenths = kDay / 7 + 1s;
    const auto key = keys_.quota("k", "api");
    decide(acquire_of({{10, kSevenths}, {100, kDay}}));
    const Instant end = window_end(number(kDay), kDay);
    EXPECT_GE(expiry(key), window_end(window_number(end - 1ms, kSevenths), kSevenths))
        << "the shorter window that is current when the longest ends";
    EXPECT_LE(expiry(key), end + kSevenths);
    redis_->run({"DEL", key});
    decide(acquire_of({{10, kSevenths}, {100, kDay}}, true));
    EXPECT_EQ(expiry(key), end + kDay) << "the shorter windows end earlier";
    redis_->run({"DEL", key});
    const auto month = window_number(start_, Period::month());
    decide(acquire_of({{10, 24h * 7}, {100, Period::month()}}));
    EXPECT_EQ(expiry(key), window_end(month, Period::month()) + 24h * 7);
    redis_->run({"DEL", key});
    decide(acquire_of({{10, Period::month()}, {100, 24h * 60}}));
    EXPECT_EQ(expiry(key), window_end(window_number(start_, 24h * 60), 24h * 60) + 24h * 31);
}

TEST_F(AcquireScript, CountsTheMonthOfTheCalendar) {
    constexpr Period kMonth = Period::month();
    const auto key = keys_.quota("k", "api");
    const Acquire acquire = acquire_of({{100, 1h}, {1000, 24h}, {10'000, kMonth}});
    const Instant first = std::chrono::sys_days(1970y / 1 / 1);
    const Instant last = std::chrono::sys_days(2399y / 12 / 31);
    std::vector<Instant> times{first, last};
    for (int year = 1970; year < 2400; year += year % 100 < 96 && year > 2030 ? 7 : 1) {
        for (int month = 1; month <= 12; ++month) {
            const Instant begins = std::chrono::sys_days(std::chrono::year(year) / month / 1);
            times.push_back(begins);
            times.push_back(std::max(begins - 1ms, first));
        }
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 500; ++i) {
        times.emplace_back(std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(
            0, last.time_since_epoch().count())(random)));
    }
    for (const Instant time : times) {
        redis_->run({"DEL", key});
        set_clock(time);
        const auto acquired = decide(acquire);
        ASSERT_EQ(acquired.windows[0], (WindowCount{window_number(time, 1h), 1, 0}));
        ASSERT_EQ(acquired.windows[1], (WindowCount{window_number(time, 24h), 1, 0}));
        ASSERT_EQ(acquired.windows[2], (WindowCount{window_number(time, kMonth), 1, 0}))
            << time.time_since_epoch().count();
        const Instant end = window_end(acquired.windows[2].number, kMonth);
        if (end > start_ + 1h) {
            ASSERT_EQ(expiry(key), end) << time.time_since_epoch().count();
        }
    }
}

TEST_F(AcquireScript, CountsAMonthUntilItEnds) {
    constexpr Period kMonth = Period::month();
    const Acquire acquire = acquire_of({{3, kMonth}});
    const Instant end = std::chrono::sys_days(2124y / 3 / 1);
    set_clock(end - 29 * 24h);
    EXPECT_EQ(decide(acquire).granted, 1);
    set_clock(end - 1ms);
    EXPECT_EQ(decide(acquire).windows[0].count, 2);
    EXPECT_EQ(field("month.number"), std::to_string(window_number(end - 1ms, kMonth)));
    EXPECT_EQ(field("month.count"), "2");
    set_clock(end);
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{window_number(end, kMonth), 1, 0}));
    set_clock(end - 1ms);
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{window_number(end, kMonth), 2, 0}))
        << "the clock went back";
    set_clock(end - 30 * 24h);
    EXPECT_EQ(decide(acquire).windows[0].count, 1) << "the month was counted by a wrong clock";
}

TEST_F(AcquireScript, KeepsAMonthToComeUntilItEnds) {
    constexpr Period kMonth = Period::month();
    const auto key = keys_.quota("k", "api");
    const auto next = window_number(start_, kMonth) + 1;
    redis_->run({"HSET", key, "month.number", std::to_string(next), "month.count", "1"});
    EXPECT_EQ(decide(acquire_of({{3, kMonth}})).windows[0], (WindowCount{next, 2, 0}));
    EXPECT_GE(expiry(key), window_end(next, kMonth));
    EXPECT_LE(expiry(key), window_end(next, kMonth) + 3 * 24h);
}

TEST_F(AcquireScript, AdjustsAMonth) {
    constexpr Period kMonth = Period::month();
    Acquire acquire = acquire_of({{100, kMonth}});
    set_clock(std::chrono::sys_days(2100y / 2 / 28) + 12h);
    decide(acquire);
    const auto month = window_number(*clock_, kMonth);
    acquire.adjustments = {{month, 6}};
    acquire.report_numbers = {5};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{month, 8, 0}));
    EXPECT_EQ(expiry(report_key(acquire)), window_end(month, kMonth));
    acquire.adjustments = {{month - 1, 6}};
    acquire.report_numbers = {6};
    EXPECT_EQ(decide(acquire).windows[0].count, 9) << "of an ended month";
}

TEST_F(AcquireScript, SlidesByTheEstimate) {
    put(kDay, 1, 1000);
    const auto before = now();
    Acquire acquire = acquire_of({{1500, kDay}}, true);
    acquire.count = 2000;
    const auto acquired = decide(acquire);
    const WindowCount found{number(kDay), 0, 1000};
    const auto least = 1500 - spent(found, kDay, true, before);
    EXPECT_GE(acquired.granted, least);
    EXPECT_LE(acquired.granted, 1500 - spent(found, kDay, true, now()));
    EXPECT_EQ(acquired.windows[0], (WindowCount{found.number, acquired.granted, 1000}));
    EXPECT_EQ(field("8640000.previous"), "1000");
    EXPECT_EQ(expiry(keys_.quota("k", "api")), window_end(found.number + 1, kDay));
}

TEST_F(AcquireScript, KeepsTheCountOfAWindowThatSlidesFromNowOn) {
    decide(acquire_of({{10, kDay}}));
    const auto acquired = decide(acquire_of({{10, kDay}}, true));
    EXPECT_EQ(acquired.windows[0], (WindowCount{number(kDay), 2, 0}));
    EXPECT_EQ(field("8640000.previous"), "0");
    EXPECT_EQ(expiry(keys_.quota("k", "api")), window_end(number(kDay) + 1, kDay));
}

TEST_F(AcquireScript, AdjustsBeforeItDecides) {
    Acquire acquire = acquire_of({{10, kHour}, {100, kDay}});
    put(kHour, 0, 4);
    put(kDay, 0, 50);
    acquire.adjustments = {{number(kHour), 5}, {number(kDay), -20}};
    acquire.count = 3;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 1);
    EXPECT_EQ(count(kHour), 10);
    EXPECT_EQ(count(kDay), 31);
    acquire.adjustments = {{number(kHour) - 1, -5}, {number(kDay), -99}};  // of an ended window
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(count(kHour), 10);
    EXPECT_EQ(count(kDay), 0);
}

TEST_F(AcquireScript, AdjustsWithNoRequest) {
    Acquire acquire = acquire_of({{10, kHour}});
    acquire.count = 0;
    acquire.adjustments = {{number(kHour), 25}};
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.windows[0], (WindowCount{number(kHour), 25, 0}));
    EXPECT_EQ(count(kHour), 25);
    EXPECT_GT(redis_->integer({"PTTL", keys_.quota("k", "api")}), 0);
    acquire.adjustments = {{number(kHour) + 3, 25}};
    const auto before = dirty();
    EXPECT_EQ(decide(acquire).windows[0].count, 25);
    EXPECT_EQ(dirty(), before);
}

TEST_F(AcquireScript, AdjustsTheWindowBeforeWhereItSlides) {
    put(kDay, 0, 4, 6);
    Acquire acquire = acquire_of({{1000, kDay}}, true);
    acquire.adjustments = {{number(kDay) - 1, 7}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 5, 13}));
    EXPECT_EQ(field("8640000.previous"), "13");
    acquire.adjustments = {{number(kDay) - 1, -70}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 6, 0}));
    EXPECT_EQ(field("8640000.previous"), "0");
}

TEST_F(AcquireScript, AdjustsBothWindowsOfAReportWhereItSlides) {
    put(kDay, 0, 4, 6);
    Acquire acquire = acquire_of({{1000, kDay}}, true);
    acquire.adjustments = {{number(kDay), 7, 8}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 12, 14}));
    EXPECT_EQ(field("8640000.previous"), "14");
}

TEST_F(AcquireScript, AppliesAReportOnce) {
    Acquire acquire = acquire_of(
        Quotas{table("api", {{100, kHour}, {100, kDay}}), table("search", {{100, kHour}})});
    acquire.count = 0;
    acquire.adjustments = {{number(kHour), 5}, {number(kDay), 5}, {number(kHour), 2}};
    acquire.report_numbers = {7, 0};
    decide(acquire);
    EXPECT_EQ(decide(acquire).windows[0].count, 5);
    EXPECT_EQ(count(kDay), 5);
    EXPECT_EQ(count(kHour, "search"), 4) << "that one has no number";
    acquire.report_numbers = {6, 0};
    EXPECT_EQ(decide(acquire).windows[0].count, 5) << "an older one";
    context_.node = "n2";
    EXPECT_EQ(decide(acquire).windows[0].count, 10) << "of another node";
    context_.node = "n1";
    acquire.report_numbers = {8, 9};
    EXPECT_EQ(decide(acquire).windows[0].count, 15);
    EXPECT_EQ(decide(acquire).windows[2].count, 10);
    EXPECT_EQ(redis_->text({"HGET", report_key(acquire), "number"}), "8");
    EXPECT_LE(std::chrono::abs(expiry(report_key(acquire)) - window_end(number(kDay), kDay)), 1s);
}

TEST_F(AcquireScript, AReportThatChangesNothingIsNotWritten) {
    Acquire acquire = acquire_of({{100, kHour}});
    decide(acquire);
    acquire.count = 0;
    acquire.adjustments = {{number(kHour) - 2, 5}};
    acquire.report_numbers = {7};
    const auto before = dirty();
    decide(acquire);
    EXPECT_EQ(dirty(), before);
}

TEST_F(AcquireScript, DecidesNothingAfterItsDeadline) {
    const Acquire acquire = acquire_of({{100, kHour}});
    context_.deadline = now() - 1ms;
    const auto elements = run(std::array{acquire});
    const auto results = read_acquired(elements.subspan(1), std::array{acquire});
    ASSERT_TRUE(results);
    EXPECT_TRUE(results->late);
    EXPECT_GT(results->now, context_.deadline);
    EXPECT_EQ(count(kHour), -1);
    context_.deadline = now() + 1h;
    EXPECT_EQ(decide(acquire).granted, 1);
}

TEST_F(AcquireScript, LeasesAtMostAnEighthOfWhatIsLeft) {
    Acquire acquire = acquire_of({{101, kHour}, {1000, kDay}});
    acquire.lease = 5;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.lease, 5);
    EXPECT_EQ(acquired.windows[1].count, 6);
    acquire.lease = 1000;
    acquired = decide(acquire);
    EXPECT_EQ(acquired.lease, (101 - 7) / 8);
    EXPECT_EQ(count(kHour), 7 + 11);
    EXPECT_EQ(count(kDay), 7 + 11);
    acquire.count = 100;
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 83);
    EXPECT_EQ(acquired.lease, 0);
    acquire.count = 0;
    EXPECT_EQ(decide(acquire).lease, 0);
    acquire.demand.cost = 0;
    put(kHour, 0, 200);
    EXPECT_EQ(decide(acquire).lease, 0);
}

/// Tables of one window, and the most frequent ones: two fixed windows.
class LeasesElsewhere : public AcquireScript,
                        public testing::WithParamInterface<std::vector<Rate>> {};
INSTANTIATE_TEST_SUITE_P(Windows, LeasesElsewhere,
                         testing::Values(std::vector<Rate>{{100, kHour}},
                                         std::vector<Rate>{{100, kHour}, {1000, kDay}}));

TEST_P(LeasesElsewhere, AreToldToAnotherNode) {
    Acquire acquire = acquire_of(GetParam());
    const auto leased_by = [&](const char* node) {
        context_.node = node;
        acquire.lease = 2;
        const Instant before = now();
        EXPECT_EQ(decide(acquire).lease, 2);
        return std::pair(before, now());
    };
    const auto told = [&](const char* node) {
        context_.node = node;
        acquire.lease = 0;
        const auto times = decide(acquire).leased_elsewhere;
        return times.empty() ? Instant{} : times.front().at;
    };
    const auto is_within = [](Instant at, std::pair<Instant, Instant> bounds) {
        return bounds.first <= at && at <= bounds.second;
    };
    leased_by("n1");
    EXPECT_EQ(told("n2"), Instant{}) << "it is granted, and a further request would be";
    put(kHour, 0, 99);
    EXPECT_EQ(told("n1"), Instant{}) << "a node knows its own leases";
    put(kHour, 0, 10);
    auto by_n1 = leased_by("n1");
    put(kHour, 0, 99);
    EXPECT_TRUE(is_within(told("n2"), by_n1)) << "the last unit is granted";
    EXPECT_TRUE(is_within(told("n2"), by_n1)) << "refused";
    put(kHour, 0, 10);
    const auto by_n2 = leased_by("n2");
    put(kHour, 0, 100);
    EXPECT_TRUE(is_within(told("n1"), by_n2));
    EXPECT_TRUE(is_within(told("n2"), by_n1));
    EXPECT_TRUE(is_within(told("n3"), by_n2)) << "the latest";
    put(kHour, 0, 10);
    leased_by("n2");
    by_n1 = leased_by("n1");
    put(kHour, 0, 100);
    EXPECT_TRUE(is_within(told("n2"), by_n1));
    put(kHour, 0, 10);
    EXPECT_EQ(told("n2"), Instant{});
}

TEST_P(LeasesElsewhere, AreRecalledOnce) {
    Acquire acquire = acquire_of(GetParam());
    const auto lease_at = [&](Instant time) {
        set_clock(time);
        context_.node = "n1";
        acquire.lease = 2;
        EXPECT_EQ(decide(acquire).lease, 2);
    };
    // Nothing is left for the node.
    const auto refuse_at = [&](Instant time, const char* node) {
        set_clock(time);
        context_.node = node;
        acquire.lease = 0;
        put(kHour, 0, 100);
        const LeaseElsewhere told = decide(acquire).leased_elsewhere.front();
        put(kHour, 0, 10);
        return told;
    };
    const auto published = [&] {
        const std::string info = redis_->text({"INFO", "commandstats"});
        const std::string name = "cmdstat_publish:calls=";
        const auto at = info.find(name);
        return at == std::string::npos ? 0 : std::stoi(info.substr(at + name.size()));
    };
    const int before = published();
    lease_at(start_);
    const LeaseElsewhere first{.at = start_, .recalled = start_ + 5ms};
    EXPECT_EQ(refuse_at(start_ + 5ms, "n2"), first);
    EXPECT_EQ(refuse_at(start_ + 6ms, "n2"), first) << "the nodes were told";
    EXPECT_EQ(refuse_at(start_ + 7ms, "n3"), first);
    EXPECT_EQ(published(), before + 1);
    lease_at(start_ + 8ms);
    const LeaseElsewhere second{.at = start_ + 8ms, .recalled = start_ + 9ms};
    EXPECT_EQ(refuse_at(start_ + 9ms, "n2"), second) << "a lease that is younger";
    EXPECT_EQ(published(), before + 2);
    EXPECT_EQ(refuse_at(start_ + 8ms, "n2").recalled, start_ + 8ms) << "the clock went back";
}

TEST_F(AcquireScript, RecallsNoLeaseThatWouldNotHelp) {
    Acquire acquire = acquire_of({{100, kHour}});
    acquire.quotas = std::make_shared<const Quotas>(
        Quotas{table("api", {{100, kHour}}), table("search", {{1'000'000, kHour}})});
    // A window to come: entries of ended windows expire by the clock of Redis.
    const std::int64_t window = number(kHour) + 1;
    const Instant begins = window_end(window - 1, kHour);
    const Instant ends = window_end(window, kHour);
    const auto recalled_after = [&](Instant leased, Instant refused) {
        redis_->run({"FLUSHALL"});
        set_clock(leased);
        context_.node = "n1";
        acquire.lease = 2;
        EXPECT_EQ(decide(acquire).lease, 2);
        set_clock(refused);
        redis_->run({"HSET", keys_.quota("k", "api"), std::to_string(kHour.count()) + ".number",
                     std::to_string(window), std::to_string(kHour.count()) + ".count", "100"});
        context_.node = "n2";
        acquire.lease = 0;
        const auto leases = decide(acquire).leased_elsewhere;
        EXPECT_NE(leases[1].at, Instant{});
        EXPECT_EQ(leases[1].recalled, Instant{}) << "this table has room";
        return leases[0].recalled;
    };
    EXPECT_EQ(recalled_after(begins, begins + 2s), begins + 2s);
    EXPECT_EQ(recalled_after(begins - 1ms, begins + 2s), Instant{}) << "of another window";
    EXPECT_EQ(recalled_after(begins, ends - 1s), Instant{}) << "the window resets at that time";
    EXPECT_EQ(recalled_after(begins, ends - 1001ms), ends - 1001ms);
}

class AcquireScriptHistory : public AcquireScript {
  protected:
    static constexpr std::chrono::days kKept{90};

    void SetUp() override {
        AcquireScript::SetUp();
        // Keys that expire must not have expired by the clock of Redis.
        day_ = window_number(start_, 24h) + 3;
        set_clock(at(day_, 24h - 10s));
    }

    static Instant at(std::int64_t day, std::chrono::milliseconds time = {}) {
        return window_end(day - 1, 24h) + time;
    }
    static TableQuota counted(std::string name, std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota = table(std::move(name), std::move(rates), sliding);
        quota.history = kKept;
        return quota;
    }
    static Acquire acquire_of_day(bool sliding = false) {
        return acquire_of(Quotas{counted("api", {{1000, 60s}, {kNoLimit, 24h}}, sliding)});
    }
    static Acquire adjusting(std::vector<Adjustment> adjustments, std::uint64_t number = 0) {
        Acquire acquire = acquire_of_day();
        acquire.count = 0;
        acquire.adjustments = {{}, adjustments.front()};
        acquire.report_numbers = {number};
        return acquire;
    }
    /// The fields of the history.
    std::map<std::string, std::int64_t> history() {
        const auto reply = redis_->run({"HGETALL", keys_.history("k")});
        const auto elements = elements_of(*reply);
        std::map<std::string, std::int64_t> fields;
        for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
            fields[std::string(text_of(*elements[i]))] =
                std::stoll(std::string(text_of(*elements[i + 1])));
        }
        return fields;
    }
    /// When the id leaves the list of subjects.
    Instant listed_until() {
        return Instant(std::chrono::milliseconds(
            std::stoll(redis_->text({"ZSCORE", keys_.subject_ends(), "k"}))));
    }
    /// The units of days of the table `api`, from day_ on.
    std::vector<std::int64_t> days() {
        std::vector<std::int64_t> days;
        for (const auto& [field, units] : history()) {
            const auto index = std::stoll(field.substr(field.find(':') + 1)) - day_;
            days.resize(std::max<std::size_t>(days.size(), static_cast<std::size_t>(index) + 1));
            days[static_cast<std::size_t>(index)] = units;
        }
        return days;
    }
    using Days = std::vector<std::int64_t>;

    std::int64_t day_ = 0;  ///< of the clock at first
};

TEST_F(AcquireScriptHistory, MovesADayThatHasEnded) {
    Acquire acquire = acquire_of_day();
    acquire.count = 3;
    decide(acquire);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.history("k")}), 0);
    EXPECT_EQ(expiry(keys_.quota("k", "api")), at(day_ + 1 + kKept.count()))
        << "the last day of an id that does not return";
    set_clock(at(day_ + 1));
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 3, 0}));
    EXPECT_EQ(days(), (Days{3}));
    EXPECT_EQ(expiry(keys_.quota("k", "api")), at(day_ + 2 + kKept.count()));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 1 + kKept.count()));
    const auto before = dirty();
    decide(acquire);
    EXPECT_EQ(dirty() - before, 2) << "the two counts";
    set_clock(at(day_ + 5));
    decide(acquire);
    EXPECT_EQ(days(), (Days{3, 6}));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 2 + kKept.count()));
}

TEST_F(AcquireScriptHistory, ListsAnIdWithoutAKeyUntilItsHistoryEnds) {
    redis_->run({"ZADD", keys_.subjects(), "0", "ended", "0", "other"});
    redis_->run({"ZADD", keys_.subject_ends(), "1", "ended", "99999999999999", "other"});
    decide(acquire_of_day());
    EXPECT_EQ(redis_->text({"ZSCORE", keys_.subjects(), "k"}), "0");
    EXPECT_EQ(redis_->integer({"ZCARD", keys_.subjects()}), 2) << "k and other";
    EXPECT_EQ(redis_->integer({"ZCARD", keys_.subject_ends()}), 2);
    EXPECT_EQ(listed_until(), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.subjects()), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.subject_ends()), at(day_ + 1 + kKept.count()));
    set_clock(at(day_ + 3));
    decide(acquire_of_day());
    EXPECT_EQ(listed_until(), at(day_ + 4 + kKept.count()));
    redis_->run({"ZADD", keys_.subject_ends(), "99999999999999", "k"});
    set_clock(at(day_ + 4));
    decide(acquire_of_day());
    EXPECT_EQ(listed_until().time_since_epoch().count(), 99999999999999) << "of another table";
}

TEST_F(AcquireScriptHistory, ListsNoIdWithAKeyAndNoneInAGroup) {
    redis_->run({"SADD", keys_.id("k"), "digest"});
    decide(acquire_of_day());
    redis_->run({"DEL", keys_.id("k")});
    Acquire grouped = acquire_of_day();
    grouped.group = "acme";
    decide(grouped);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.subjects()}), 0);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.quota({"k", "acme"}, "api")}), 1);
}

TEST_F(AcquireScriptHistory, MovesNothingIfTheRequestIsRefused) {
    const auto acquire_up_to = [](std::int64_t limit) {
        return acquire_of(Quotas{counted("api", {{limit, 60s}, {kNoLimit, 24h}})});
    };
    decide(acquire_up_to(5));
    set_clock(at(day_ + 1));
    const auto before = dirty();
    EXPECT_EQ(decide(acquire_up_to(0)).granted, 0);
    EXPECT_EQ(dirty(), before);
    EXPECT_EQ(count(24h), 1) << "the day is in the quota still";
    decide(acquire_up_to(5));
    EXPECT_EQ(days(), (Days{1}));
}

TEST_F(AcquireScriptHistory, DropsDaysThatItNoLongerKeeps) {
    const auto name = [&](const std::string& table, std::int64_t day) {
        return table + ":" + std::to_string(day);
    };
    const auto today = day_ + 1;
    for (const auto& field :
         {name("api", today - 400), name("api", today - 91), name("api", today - 90),
          name("ap", today - 400), name("api2", today - 400), std::string("api:x")}) {
        redis_->run({"HSET", keys_.history("k"), field, "7"});
    }
    decide(acquire_of_day());
    set_clock(at(today));
    decide(acquire_of_day());
    EXPECT_EQ(history(), (std::map<std::string, std::int64_t>{{name("api", today - 90), 7},
                                                              {name("api", day_), 1},
                                                              {name("ap", today - 400), 7},
                                                              {name("api2", today - 400), 7},
                                                              {"api:x", 7}}));
}

TEST_F(AcquireScriptHistory, AdjustsADayThatHasEnded) {
    Acquire acquire = acquire_of_day();
    acquire.count = 10;
    decide(acquire);
    set_clock(at(day_ + 1, 5s));
    // The day is still in the quota.
    EXPECT_EQ(decide(adjusting({{day_, -4}})).windows[1], (WindowCount{day_ + 1, 0, 0}));
    EXPECT_EQ(days(), (Days{6}));
    decide(adjusting({{day_, -1}}));
    decide(adjusting({{day_ + 1, 8, 3}}));
    EXPECT_EQ(days(), (Days{8}));
    EXPECT_EQ(count(24h), 8);
    set_clock(at(day_ + 3));
    decide(adjusting({{day_ + 1, 1, 1}}));
    EXPECT_EQ(days(), (Days{9, 9}));
    decide(adjusting({{day_ + 3 - kKept.count() - 1, 5}}));
    EXPECT_EQ(days(), (Days{9, 9})) << "a day that is not kept";
}

TEST_F(AcquireScriptHistory, AppliesAReportOfAnEndedDayOnce) {
    decide(acquire_of_day());
    set_clock(at(day_ + 1));
    decide(adjusting({{day_, 5}}, 7));
    decide(adjusting({{day_, 5}}, 7));
    EXPECT_EQ(days(), (Days{6}));
    EXPECT_GE(expiry(report_key(acquire_of_day())), at(day_ + 1) + 8 * 24h)
        << "longer than a node sends it";
    decide(adjusting({{day_, 2}}, 8));
    EXPECT_EQ(days(), (Days{8}));
}

TEST_F(AcquireScriptHistory, KeepsADayToComeAfterTheClockWentBack) {
    set_clock(at(day_ + 1));
    decide(acquire_of_day());
    set_clock(at(day_, 23h));
    EXPECT_EQ(decide(acquire_of_day()).windows[1], (WindowCount{day_ + 1, 2, 0}));
    decide(adjusting({{day_, 4}}));
    EXPECT_EQ(days(), (Days{4}));
    set_clock(at(day_ + 2));
    decide(acquire_of_day());
    EXPECT_EQ(days(), (Days{4, 2}));
}

TEST_F(AcquireScriptHistory, CountsADayThatSlides) {
    Acquire acquire = acquire_of_day(true);
    acquire.count = 10;
    decide(acquire);
    set_clock(at(day_ + 1));
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 10, 10}));
    acquire.count = 0;
    acquire.adjustments = {{}, {day_, -4}};
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 10, 6}));
    EXPECT_EQ(days(), (Days{6}));
}

TEST_F(AcquireScriptHistory, IsThatOfEachTable) {
    TableQuota week = counted("b.c", {{kNoLimit, 24h}});
    week.history = std::chrono::days(7);
    Acquire acquire =
        acquire_of(Quotas{table("a", {{100, 24h}}), counted("api", {{100, 24h}}), week});
    acquire.demand.ban = BanPolicy{5, 1min, 1min, 1h};
    acquire.count = 2;
    acquire.lease = 3;
    const auto lease = decide(acquire).lease;
    EXPECT_EQ(lease, 3);
    set_clock(at(day_ + 1));
    acquire.lease = 0;
    decide(acquire);
    const auto day = std::to_string(day_);
    EXPECT_EQ(history(),
              (std::map<std::string, std::int64_t>{{"api:" + day, 5}, {"b.c:" + day, 5}}));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.quota("k", "a")), at(day_ + 2));
    EXPECT_EQ(expiry(keys_.quota("k", "b.c")), at(day_ + 2 + 7));
    EXPECT_EQ(ban("strikes"), "");
}

TEST_F(AcquireScriptHistory, ExpiresWithALongerWindow) {
    const auto month = window_number(*clock_, Period::month());
    TableQuota quota = counted("api", {{kNoLimit, 24h}, {100, Period::month()}});
    quota.history = std::chrono::days(1);
    decide(acquire_of(Quotas{quota}));
    EXPECT_EQ(expiry(keys_.quota("k", "api")),
              std::max(window_end(month, Period::month()), at(day_ + 2)));
}

TEST_F(AcquireScriptHistory, OfAnotherTypeIsAnErrorBeforeAnythingIsCounted) {
    decide(acquire_of_day());
    redis_->run({"SET", keys_.history("k"), "text"});
    set_clock(at(day_ + 1));
    const auto results = decide(std::vector{acquire_of_day()});
    ASSERT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_TRUE(std::get<std::string_view>(results[0]).starts_with("WRONGTYPE"));
    EXPECT_EQ(field("86400.number"), std::to_string(day_));
    redis_->run({"DEL", keys_.history("k")});
    decide(acquire_of_day());
    EXPECT_EQ(days(), (Days{1}));
}

TEST_F(AcquireScriptHistory, CountsAsTheModelOfTheSimulation) {
    std::mt19937 random(1);
    const auto number = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    for (const bool sliding : {false, true}) {
        redis_->run({"FLUSHALL"});
        RedisModel model;
        Instant time = at(day_);
        std::uint64_t report = 0;
        const Quotas quotas{counted("api", {{100, 1h}, {300, 24h}}, sliding),
                            counted("b", {{kNoLimit, 24h}}, sliding)};
        for (int i = 0; i < 400; ++i) {
            time += std::chrono::minutes(number(0, number(0, 9) == 0 ? 4000 : 60));
            set_clock(time);
            Acquire acquire = acquire_of(quotas);
            acquire.count = number(0, 20);
            acquire.lease = number(0, 5);
            acquire.demand.cost = number(0, 3);
            if (number(0, 2) == 0) {
                for (const TableQuota& quota : quotas) {
                    for (const Rate& rate : quota.rates) {
                        const auto window = window_number(time, rate.period) - number(0, 3);
                        acquire.adjustments.push_back({window, number(-3, 9), number(-3, 9)});
                    }
                    acquire.report_numbers.push_back(number(0, 1) == 0 ? 0 : report + number(0, 1));
                    report = std::max(report, acquire.report_numbers.back());
                }
            }
            Acquired expected = model.run(acquire, time);
            for (WindowCount& window : expected.windows) {
                window.previous = sliding ? window.previous : 0;
            }
            const Acquired acquired = decide(acquire);
            ASSERT_EQ(acquired.granted, expected.granted) << i;
            ASSERT_EQ(acquired.lease, expected.lease) << i;
            ASSERT_EQ(acquired.windows, expected.windows) << i;
        }
        std::map<std::string, std::int64_t> all;
        for (const TableQuota& quota : quotas) {
            for (const auto& [day, units] : model.history("k", quota)) {
                all[quota.table + ":" + std::to_string(day)] = units;
            }
        }
        auto stored = history();
        for (const TableQuota& quota : quotas) {
            stored[quota.table + ":" + field("86400.number", quota.table)] +=
                count(24h, quota.table);
        }
        std::erase_if(stored, [](const auto& one) { return one.second == 0; });
        EXPECT_EQ(stored, all);
        EXPECT_GT(all.size(), 20);
    }
}

class AcquireScriptBans : public AcquireScript {
  protected:
    Acquire acquire() {
        Acquire acquire = acquire_of({{2, kHour}});
        acquire.demand.ban = BanPolicy{.after = 3, .within = 1min, .first = 10min, .up_to = 24h};
        return acquire;
    }
    /// The ban has ended this time ago.
    void end_ban(std::chrono::milliseconds ago = 1ms) {
        const auto ended = (now() - ago).time_since_epoch().count();
        redis_->run({"HSET", keys_.ban("k"), "until", std::to_string(ended)});
    }
};

TEST_F(AcquireScriptBans, TheRefusalThatReachesTheStrikesIsBannedItself) {
    Acquire batch = acquire();
    batch.count = 7;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 2);
    EXPECT_EQ(acquired.banned_until, acquired.now + 10min);
    EXPECT_EQ(acquired.strikes, 0);
    EXPECT_EQ(ban("level"), "1");
    EXPECT_EQ(ban("until"), std::to_string(acquired.banned_until.time_since_epoch().count()));
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.banned_until + 24h);
    const auto before = dirty();
    Acquire later = acquire();
    later.demand.cost = 0;
    later.strikes = 9;
    const auto banned = decide(later);
    EXPECT_EQ(banned.granted, 0);
    EXPECT_EQ(banned.limited, 0);
    EXPECT_EQ(banned.banned_until, acquired.banned_until);
    EXPECT_EQ(dirty(), before);
}

TEST_F(AcquireScriptBans, StrikesOfAnOutageCountFromTheirTime) {
    Acquire report = acquire();
    report.count = 0;
    report.strikes = 2;
    report.struck_since = -40s;
    auto acquired = decide(report);
    EXPECT_EQ(acquired.strikes, 2);
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.now + 20s);
    report.struck_since = -5s;
    report.strikes = 0;
    acquired = decide(report);
    EXPECT_LE(expiry(keys_.ban("k")) - acquired.now, 20s) << "the first strike counts";
    redis_->run({"DEL", keys_.ban("k")});
    report.strikes = 9;
    report.struck_since = -59s;
    EXPECT_GT(decide(report).banned_until, acquired.now);
}

TEST_F(AcquireScriptBans, RefusalsBelowThatAreStrikes) {
    Acquire batch = acquire();
    batch.count = 3;
    auto acquired = decide(batch);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.strikes, 1);
    EXPECT_EQ(acquired.banned_until, Instant{});
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.now + 1min);
    batch.count = 1;
    batch.demand.refusals_strike = false;
    acquired = decide(batch);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.strikes, 1);
    batch.count = 0;
    batch.strikes = 1;
    EXPECT_EQ(decide(batch).strikes, 2);
}

TEST_F(AcquireScriptBans, PendingStrikesGoFirst) {
    Acquire batch = acquire();
    batch.count = 4;
    batch.strikes = 3;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_EQ(acquired.banned_until, acquired.now + 10min);
}

TEST_F(AcquireScriptBans, TheLastPendingStrikeLeavesOneRefusal) {
    Acquire batch = acquire();
    batch.count = 4;
    batch.strikes = 2;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_GT(acquired.banned_until, acquired.now);
    redis_->run({"FLUSHALL"});
    batch.strikes = 1;
    EXPECT_EQ(decide(batch).limited, 1);
    redis_->run({"FLUSHALL"});
    batch.strikes = 3;
    batch.demand.refusals_strike = false;
    EXPECT_EQ(decide(batch).limited, 0);
}

TEST_F(AcquireScriptBans, StrikesCountWithinTheirTime) {
    const auto stale = (now() - 1min).time_since_epoch().count();
    redis_->run({"HSET", keys_.ban("k"), "strikes", "2", "since", std::to_string(stale)});
    Acquire batch = acquire();
    EXPECT_EQ(decide(batch).strikes, 0);
    batch.count = 2;
    EXPECT_EQ(decide(batch).strikes, 1);
    EXPECT_EQ(ban("strikes"), "1");
    EXPECT_GT(std::stoll(ban("since")), stale);
}

TEST_F(AcquireScriptBans, EachBanDoublesUpToTheLongest) {
    Acquire batch = acquire();
    batch.count = 5;
    for (const auto length : {10min, 20min, 40min}) {
        const auto acquired = decide(batch);
        EXPECT_EQ(acquired.banned_until - acquired.now, length);
        end_ban();
    }
    redis_->run({"HSET", keys_.ban("k"), "level", "2000"});
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.banned_until - acquired.now, 24h);
}

TEST_F(AcquireScriptBans, TheLevelIsForgottenAfterTheLongestBan) {
    Acquire batch = acquire();
    batch.count = 5;
    decide(batch);
    end_ban(24h);
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.banned_until - acquired.now, 10min);
}

TEST_F(AcquireScriptBans, AnotherPolicyDoesNotShortenTheEntry) {
    Acquire batch = acquire();
    batch.count = 5;
    decide(batch);
    const auto expires = expiry(keys_.ban("k"));
    end_ban();
    batch.demand.ban = BanPolicy{.after = 3, .within = 1s, .first = 1s, .up_to = 1s};
    batch.count = 1;
    decide(batch);
    EXPECT_EQ(ban("strikes"), "1");
    EXPECT_EQ(expiry(keys_.ban("k")), expires);
}

TEST_F(AcquireScriptBans, StrikesOfAnOutageMayBeOlderThanThoseInRedis) {
    Acquire batch = acquire();
    batch.count = 2;
    decide(batch);
    batch.count = 1;
    batch.strikes = 1;
    batch.struck_since = -40s;
    const auto acquired = decide(batch);
    EXPECT_EQ(std::stoll(ban("since")), (acquired.now - 40s).time_since_epoch().count());
}

TEST_F(AcquireScriptBans, AKeyOfAnotherTypeIsAnErrorBeforeAnythingIsCounted) {
    redis_->run({"SET", keys_.ban("k"), "text"});
    const auto results = decide(std::vector{acquire()});
    ASSERT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_EQ(count(kHour), -1);
}

TEST_F(AcquireScript, OneIdsErrorIsItsOwn) {
    std::vector<Acquire> acquires;
    std::array<std::string, 20> ids;
    for (int i = 0; i < 20; ++i) {
        Acquire acquire = acquire_of(
            Quotas{table("api", {{5, kHour}, {50, kDay}}), table("search", {{9, kHour}})});
        ids.at(i) = "k" + std::to_string(i);
        acquire.id = ids.at(i);
        acquire.lease = i % 3;
        acquire.count = i;
        if (i % 4 == 1) {
            acquire.demand.ban =
                BanPolicy{.after = 100, .within = 1min, .first = 1min, .up_to = 1h};
        }
        if (i % 5 == 1) {
            acquire.adjustments = {{number(kHour), 1}, {number(kDay), 0}, {number(kHour), 2}};
        }
        acquires.push_back(acquire);
    }
    redis_->run({"SET", keys_.quota("k7", "search"), "text"});
    redis_->run({"SET", keys_.ban("k9"), "text"});
    const auto results = decide(acquires);
    for (int i = 0; i < 20; ++i) {
        if (i == 7 || i == 9) {
            ASSERT_TRUE(std::holds_alternative<std::string_view>(results[i])) << i;
            EXPECT_TRUE(std::get<std::string_view>(results[i]).starts_with("WRONGTYPE"));
            EXPECT_EQ(redis_->integer({"EXISTS", keys_.quota(acquires[i].id, "api")}), 0);
            continue;
        }
        ASSERT_TRUE(std::holds_alternative<Acquired>(results[i])) << i;
        const auto& acquired = std::get<Acquired>(results[i]);
        const int room = i % 5 == 1 ? 4 : 5;
        EXPECT_EQ(acquired.granted, std::min(i, room)) << i;
        EXPECT_EQ(acquired.limited, i - acquired.granted) << i;
        EXPECT_EQ(acquired.windows[1].count, acquired.granted) << i;
        EXPECT_EQ(acquired.strikes, i % 4 == 1 ? acquired.limited : 0) << i;
    }
}

/// Most ids of a call have the most frequent terms: two fixed windows. They share arguments.
TEST_F(AcquireScript, IdsOfTheMostFrequentTermsCountAsTheModel) {
    std::mt19937 random(1);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    int leases = 0;
    int bans = 0;
    const auto expect_alike = [](const Acquired& acquired, const Acquired& expected) {
        EXPECT_EQ(acquired.granted, expected.granted);
        EXPECT_EQ(acquired.limited, expected.limited);
        EXPECT_EQ(acquired.lease, expected.lease);
        EXPECT_EQ(acquired.windows, expected.windows);
        EXPECT_EQ(acquired.strikes, expected.strikes);
        EXPECT_EQ(acquired.banned_until == Instant(), expected.banned_until == Instant());
    };
    const auto few = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const auto many = acquire_of({{60, kHour}, {80, kDay}}).quotas;
    for (int round = 0; round < 30; ++round) {
        const bool is_small = round % 2 == 0;
        auto quotas = is_small ? few : many;
        if (round % 4 > 1) {
            Quotas with_history = *quotas;
            with_history.front().history = std::chrono::days(1);
            quotas = std::make_shared<const Quotas>(with_history);
        }
        RedisModel model;
        model.node = "n1";
        std::array<std::string, 30> ids;
        std::array<bool, 30> was_of_n2{};
        std::vector<Acquire> acquires;
        for (int i = 0; i < 30; ++i) {
            const std::string& id = ids.at(i) = std::to_string(round) + "-" + std::to_string(i);
            Acquire& acquire = acquires.emplace_back();
            acquire.id = id;
            acquire.quotas = quotas;
            acquire.count = any(9) < 7 ? 1 : any(3);
            acquire.demand.cost = round % 5 == 4 ? 2 : 1;
            if (round % 3 == 2) {
                acquire.demand.ban = BanPolicy{2, kHour, kHour, kHour};
            }
            acquire.lease = any(2) == 0 ? 1 + any(3) : 0;
            for (const Rate& rate : any(9) == 0 ? std::vector<Rate>() : quotas->front().rates) {
                const std::int64_t which = number(rate.period.length()) + 1 - std::min(any(9), 3);
                const std::int64_t units = any(is_small ? 8 : 80);
                const auto begin = std::to_string(rate.period.length().count());
                redis_->run({"HSET", keys_.quota(id, "api"), begin + ".number",
                             std::to_string(which), begin + ".count", std::to_string(units)});
                model.count(id, quotas->front(), rate) = {which, units, 0};
            }
            was_of_n2.at(i) = any(4) == 0;
            if (was_of_n2.at(i) || any(3) > 0) {
                redis_->run({"HSET", keys_.quota(id, "api"), lease_field::kNode,
                             was_of_n2.at(i) ? "n2" : "n1", lease_field::kTime, "77"});
            }
        }
        const auto results = decide(acquires);
        for (int i = 0; i < 30; ++i) {
            Acquired expected = model.run(acquires[i], start_);
            for (WindowCount& window : expected.windows) {
                window.previous = 0;  // the script has it of sliding windows only
            }
            ASSERT_TRUE(std::holds_alternative<Acquired>(results[i]));
            const auto& acquired = std::get<Acquired>(results[i]);
            expect_alike(acquired, expected);
            Acquire reads = acquires[i];
            reads.count = reads.lease = 0;
            EXPECT_EQ(decide(reads).windows, expected.windows) << "as stored";
            const std::string name = keys_.quota(acquires[i].id, "api");
            const auto lease = [&](std::string_view field) {
                return redis_->text({"HGET", name, field});
            };
            if (acquired.lease > 0) {
                EXPECT_EQ(lease(lease_field::kNode), "n1");
                EXPECT_EQ(lease(lease_field::kTime).size(), 13);
                EXPECT_EQ(lease(lease_field::kOfOther), was_of_n2[i] ? "77" : "");
                ++leases;
            } else {
                EXPECT_NE(lease(lease_field::kTime).size(), 13);
            }
        }
        // Some ids have a strike or a ban now.
        const auto again = decide(acquires);
        for (int i = 0; i < 30; ++i) {
            Acquired expected = model.run(acquires[i], start_);
            for (WindowCount& window : expected.windows) {
                window.previous = 0;
            }
            const auto& acquired = std::get<Acquired>(again[i]);
            expect_alike(acquired, expected);
            bans += acquired.banned_until != Instant() ? 1 : 0;
        }
    }
    EXPECT_GT(bans, 20);
    EXPECT_GT(leases, 50);
}

TEST_F(AcquireScript, TermsMayChangeWithinACall) {
    const auto frequent = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const auto one_window = acquire_of({{3, kHour}}).quotas;
    auto sliding = std::make_shared<Quotas>(*frequent);
    sliding->front().sliding = true;
    auto month = std::make_shared<Quotas>(*acquire_of({{5, kHour}}).quotas);
    month->front().rates.push_back({8, Period::month()});
    const std::array<std::shared_ptr<const Quotas>, 8> of_ids{
        frequent, frequent, one_window, frequent, sliding, sliding, month, frequent};
    std::vector<std::string> ids;
    std::vector<Acquire> acquires;
    for (std::size_t i = 0; i < of_ids.size(); ++i) {
        ids.push_back("terms-" + std::to_string(i));
    }
    for (std::size_t i = 0; i < of_ids.size(); ++i) {
        Acquire& acquire = acquires.emplace_back();
        acquire.id = ids[i];
        acquire.quotas = of_ids[i];
        acquire.count = i == 3 ? 2 : 1;
        if (i == 7) {
            acquire.demand.ban =
                BanPolicy{.after = 2, .within = 1min, .first = 1min, .up_to = 1min};
        }
    }
    RedisModel model;
    for (int round = 0; round < 7; ++round) {
        const auto results = decide(acquires);
        for (std::size_t i = 0; i < acquires.size(); ++i) {
            const Acquired expected = model.run(acquires[i], start_);
            ASSERT_TRUE(std::holds_alternative<Acquired>(results[i]));
            const auto& acquired = std::get<Acquired>(results[i]);
            EXPECT_EQ(acquired.granted, expected.granted) << i << " in round " << round;
            EXPECT_EQ(acquired.limited, expected.limited) << i << " in round " << round;
            for (std::size_t w = 0; w < expected.windows.size(); ++w) {
                EXPECT_EQ(acquired.windows[w].number, expected.windows[w].number) << i;
                EXPECT_EQ(acquired.windows[w].count, expected.windows[w].count) << i;
            }
        }
    }
}

/// Another program wrote the number of the window.
TEST_F(AcquireScript, ANumberIsWrittenAsItIsByGateways) {
    const auto quotas = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const std::string hourly = std::to_string(kHour.count());
    const std::string daily = std::to_string(kDay.count());
    const std::string hour = std::to_string(number(kHour));
    const std::string day = std::to_string(number(kDay));
    const std::string before = std::to_string(number(kHour) - 1);
    redis_->run({"HSET", keys_.quota("foreign", "api"), hourly + ".number", hour + ".0",
                 hourly + ".count", "1", daily + ".number", day, daily + ".count", "1"});
    redis_->run({"HSET", keys_.quota("own", "api"), hourly + ".number", before, hourly + ".count",
                 "1", daily + ".number", day, daily + ".count", "1"});
    std::vector<Acquire> acquires(2);
    acquires[0].id = "foreign";
    acquires[1].id = "own";
    acquires[0].quotas = acquires[1].quotas = quotas;
    for (const auto& result : decide(acquires)) {
        EXPECT_EQ(std::get<Acquired>(result).granted, 1);
    }
    EXPECT_EQ(redis_->text({"HGET", keys_.quota("own", "api"), hourly + ".number"}), hour);
}

TEST_F(AcquireScript, WhatIsNoNumberIsNoCount) {
    std::array<std::string, 8> ids;
    std::vector<Acquire> acquires;
    for (int i = 0; i < 8; ++i) {
        ids.at(i) = "k" + std::to_string(i);
        Acquire& acquire = acquires.emplace_back(acquire_of({{10, kHour}, {20, kDay}}));
        acquire.id = ids.at(i);
        const std::array values{std::to_string(number(kHour)), std::string("3"),
                                std::to_string(number(kDay)), std::string("4")};
        const auto value = [&](int which) { return i == which ? "x" : values.at(which); };
        redis_->run({"HSET", keys_.quota(ids.at(i), "api"), "360000.number", value(0),
                     "360000.count", value(1), "8640000.number", value(2), "8640000.count",
                     value(3)});
    }
    redis_->run({"HDEL", keys_.quota("k4", "api"), "360000.count"});
    redis_->run({"HDEL", keys_.quota("k5", "api"), "8640000.count"});
    redis_->run({"HDEL", keys_.quota("k6", "api"), "360000.number"});
    const auto results = decide(acquires);
    const std::array<std::pair<int, int>, 8> expected{
        {{1, 5}, {1, 5}, {4, 1}, {4, 1}, {1, 5}, {4, 1}, {1, 5}, {4, 5}}};
    for (int i = 0; i < 8; ++i) {
        const auto& windows = std::get<Acquired>(results[i]).windows;
        EXPECT_EQ(windows[0], (WindowCount{number(kHour), expected.at(i).first, 0})) << i;
        EXPECT_EQ(windows[1], (WindowCount{number(kDay), expected.at(i).second, 0})) << i;
    }
}

TEST_F(AcquireScript, CountsLargeNumbers) {
    constexpr std::int64_t kLimit = 9'000'000'000'000;
    for (const std::int64_t units : {2'147'483'645LL, 4'000'000'000'000LL}) {
        put(kHour, 0, units);
        put(kDay, 0, units + 1);
        Acquire acquire = acquire_of({{kLimit, kHour}, {kLimit, kDay}});
        for (int i = 1; i <= 4; ++i) {
            const auto acquired = decide(acquire);
            EXPECT_EQ(acquired.windows[0].count, units + i);
            EXPECT_EQ(acquired.windows[1].count, units + 1 + i);
            EXPECT_EQ(count(kHour), units + i);
            EXPECT_EQ(count(kDay), units + 1 + i);
        }
    }
}

TEST_F(AcquireScript, AnErrorOfAnIdThatSharesArgumentsIsItsOwn) {
    const Acquire acquire = acquire_of({{10, kHour}, {20, kDay}});
    std::array<Acquire, 3> acquires{acquire, acquire, acquire};
    acquires[1].id = "wrong";
    redis_->run({"SET", keys_.quota("wrong", "api"), "text"});
    const auto results = decide({acquires.begin(), acquires.end()});
    EXPECT_EQ(std::get<Acquired>(results[0]).windows[0].count, 1);
    EXPECT_TRUE(std::holds_alternative<std::string_view>(results[1]));
    EXPECT_EQ(std::get<Acquired>(results[2]).windows[0].count, 2);
}

TEST_F(AcquireScript, MemoryThatRanOutIsEachIdsError) {
    put(kHour, 0, 1);
    put(kDay, 0, 1);
    redis_->run({"CONFIG", "SET", "maxmemory", "1"});
    Acquire acquire = acquire_of({{5, kHour}});
    Acquire looks = acquire;
    looks.demand.cost = 0;
    const Acquire known = acquire_of({{5, kHour}, {5, kDay}});
    const auto results = decide({acquire, looks, acquire, known, known});
    redis_->run({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(std::holds_alternative<Acquired>(results[1]));
    for (const int i : {0, 2, 3, 4}) {
        ASSERT_TRUE(std::holds_alternative<std::string_view>(results[i]));
        EXPECT_TRUE(std::get<std::string_view>(results[i]).starts_with("OOM"));
    }
}

TEST_F(AcquireScript, CountsTheSameIdTwiceInOneCall) {
    Acquire acquire = acquire_of({{3, kHour}});
    acquire.count = 2;
    const auto results = decide({acquire, acquire});
    EXPECT_EQ(std::get<Acquired>(results[0]).granted, 2);
    EXPECT_EQ(std::get<Acquired>(results[1]).granted, 1);
}

TEST(Scripts, NameEachField) {
    for (const Script* script : {&acquire_script(), &lookup_script()}) {
        EXPECT_EQ(script->text.find('$'), std::string::npos);
    }
}

TEST_F(AcquireScript, TheLookUpOfAMissingKeyNeedsAMaster) {
    const auto lookup = [&](const std::string& key) {
        return redis_->run({"EVAL", lookup_script().text, "1", key, "token"});
    };
    redis_->run({"HSET", "t:key:x", "id", "k1", "plan", "free", "state", "active"});
    redis_->run({"REPLICAOF", "127.0.0.1", "1"});
    const auto found = lookup("t:key:x");
    const auto missing = lookup("t:key:y");
    redis_->run({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(elements_of(*found).size(), record_fields().size() + 2);
    ASSERT_EQ(missing->type, REDIS_REPLY_ERROR);
    EXPECT_TRUE(text_of(*missing).starts_with("READONLY"));
}

constexpr Rate kBucket{10, 1s, 20};
constexpr Rate kNoDayLimit{kNoLimit, kDay};

TEST_F(AcquireScript, GrantsFromABucketAsGcra) {
    std::mt19937 random(1);
    ExactInstant now = start_;
    for (int round = 0; round < 40; ++round) {
        redis_->run({"DEL", keys_.quota("k", "api")});
        now += 1h;
        const auto period = round % 3 == 0 ? 1s : round % 3 == 1 ? 60s : 86400s;
        const Rate rate{1 + static_cast<std::int64_t>(random() % 3000), period,
                        1 + static_cast<std::int64_t>(random() % (round % 2 == 0 ? 4 : 400))};
        GcraModel model(rate.requests, token_debt(rate), rate.burst);
        const auto step = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(4 * token_debt(rate) / rate.requests, 2, 4'000'000'000));
        std::int64_t of_day = 0;
        ExactInstant latest = now;
        for (int i = 0; i < 100; ++i) {
            const auto passed = std::chrono::microseconds(random() % step);
            // A clock that goes back by more than a minute is another case.
            latest = std::max(latest, now);
            now = random() % 20 == 0 ? std::max<ExactInstant>(now - passed, latest - 1min)
                                     : now + passed;
            set_exact_clock(now);
            Acquire acquire = acquire_of({rate, kNoDayLimit}, random() % 2 == 0);
            acquire.demand.cost = 1 + static_cast<std::int64_t>(random() % 5);
            acquire.count = 1 + static_cast<std::int64_t>(random() % 4);
            const std::int64_t us = now.time_since_epoch().count();
            std::int64_t granted = 0;
            while (granted < acquire.count && model.decide(us, acquire.demand.cost)) {
                ++granted;
            }
            const auto acquired = decide(acquire);
            ASSERT_EQ(acquired.granted, granted) << format_rate(rate) << ", call " << i;
            of_day += granted * acquire.demand.cost;
            ASSERT_EQ(acquired.windows[1].count, of_day);
            const auto& bucket = acquired.windows[0];
            const ExactInstant time{std::chrono::microseconds(bucket.previous)};
            if (granted < acquire.count && acquire.demand.cost <= rate.burst) {
                ASSERT_EQ(granted_at(rate, bucket.count, time, acquire.demand.cost)
                              .time_since_epoch()
                              .count(),
                          model.first_granted(us, acquire.demand.cost));
            }
            if (granted == acquire.count) {
                ASSERT_EQ(field(std::to_string(period.count()) + ".debt"),
                          std::to_string(bucket.count));
            }
        }
    }
}

TEST_F(AcquireScript, ARefusedRequestTakesNoTokensAndNoUnits) {
    set_clock(start_);
    const Acquire burst = [&] {
        Acquire acquire = acquire_of({kBucket, {100, kDay}});
        acquire.count = 25;
        return acquire;
    }();
    auto acquired = decide(burst);
    EXPECT_EQ(acquired.granted, 20);
    EXPECT_EQ(acquired.limited, 5);
    EXPECT_EQ(acquired.windows[0].number, 10) << "its rate";
    EXPECT_EQ(acquired.windows[0].count, empty_debt(kBucket));
    EXPECT_EQ(acquired.windows[1].count, 20);
    const auto before = dirty();
    acquired = decide(burst);
    EXPECT_EQ(acquired.granted, 0);
    set_clock(start_ + 99ms);
    EXPECT_EQ(decide(burst).granted, 0);
    EXPECT_EQ(dirty(), before + 2) << "the test's clock";
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(burst).granted, 1);
    EXPECT_EQ(count(kDay), 21);
    // The day refuses: no token is taken.
    set_clock(start_ + 10s);
    Acquire lower = acquire_of({kBucket, {21, kDay}});
    EXPECT_EQ(decide(lower).granted, 0);
    EXPECT_EQ(decide(burst).granted, 20);
}

TEST_F(AcquireScript, ABucketAndWindowsOfSeveralTablesDecideTogether) {
    set_clock(start_);
    Acquire acquire = acquire_of(Quotas{table("api", {kBucket, {1, 1s, 15}, kNoDayLimit}),
                                        table("search", {{12, kHour}, {40, kDay}}, true)});
    acquire.count = 30;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 12);
    EXPECT_EQ(acquired.windows[0].count, debt_of(kBucket, 12));
    EXPECT_EQ(acquired.windows[2].count, 12);
    EXPECT_EQ(acquired.windows[3].count, 12);
}

TEST_F(AcquireScript, AdjustsABucketOnce) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 5;
    decide(acquire);
    acquire.count = 0;
    acquire.adjustments = {{10, debt_of(kBucket, 10), 0}, {number(kDay), 10, 0}};
    acquire.report_numbers = {3};
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 14)) << "one has refilled";
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 14)) << "the same report";
    EXPECT_EQ(count(kDay), 15);
    acquire.report_numbers = {4};
    acquire.adjustments[0].units = debt_of(kBucket, -20);
    EXPECT_EQ(decide(acquire).windows[0].count, 0) << "a bucket is never more than full";
    acquire.report_numbers = {5};
    acquire.adjustments[0].units = kMostDebt;
    EXPECT_EQ(decide(acquire).windows[0].count, kMostDebt);
    acquire.report_numbers = {6};
    EXPECT_EQ(decide(acquire).windows[0].count, kMostDebt) << "the largest debt";
}

TEST_F(AcquireScript, ASettlementRefillsABucketWhoseBurstIsNotKnown) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    Acquire settlement = acquire_of({{10, 1s, 1}, kNoDayLimit});
    settlement.count = 0;
    settlement.adjustments = {{10, debt_of(kBucket, 5), 0}, {number(kDay), 5, 0}};
    settlement.report_numbers = {1};
    set_clock(start_ + 1s);
    decide(settlement);
    acquire.count = 1;
    EXPECT_EQ(decide(acquire).windows[0].count, debt_of(kBucket, 16));
}

TEST_F(AcquireScript, ABucketGetsNoTokensIfTheClockGoesBack) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    set_clock(start_ - 30s);
    acquire.count = 1;
    EXPECT_EQ(decide(acquire).granted, 0);
    set_clock(start_ + 100ms);
    EXPECT_EQ(decide(acquire).granted, 1);
    // A time that is further ahead is that of a wrong clock: the bucket refills from now on.
    set_clock(start_ - 61s);
    EXPECT_EQ(decide(acquire).granted, 0);
    acquire.demand.cost = 0;
    redis_->run({"HSET", keys_.quota("k", "api"), "1.time",
                 std::to_string((start_ - 61s).time_since_epoch().count() * 1000)});
    acquire.demand.cost = 1;
    set_clock(start_ - 61s + 100ms);
    EXPECT_EQ(decide(acquire).granted, 1);
}

TEST_F(AcquireScript, ABucketKeepsItsDebtIfItsRateOrBurstChanges) {
    set_clock(start_);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    decide(acquire);
    acquire.quotas = acquire_of({{10, 1s, 25}, kNoDayLimit}).quotas;
    EXPECT_EQ(decide(acquire).granted, 5);
    acquire.quotas = acquire_of({{2, 1s, 25}, kNoDayLimit}).quotas;
    set_clock(start_ + 1s);
    EXPECT_EQ(decide(acquire).granted, 2);
    acquire.quotas = acquire_of({{10, 1s}, kNoDayLimit}).quotas;
    EXPECT_EQ(decide(acquire).granted, 10) << "a window has a count of its own";
}

TEST_F(AcquireScript, ABucketIsKeptUntilItIsFull) {
    const auto key = keys_.quota("k", "api");
    const Instant day_ends = window_end(number(kDay), kDay);
    Acquire acquire = acquire_of({kBucket, kNoDayLimit});
    acquire.count = 20;
    set_clock(day_ends - 1min);
    decide(acquire);
    EXPECT_EQ(expiry(key), day_ends);
    set_clock(day_ends - 1s);
    decide(acquire);
    EXPECT_GE(expiry(key), day_ends + 1s);
    // After costs that are known at the end, and after outages, it takes longer to be full.
    acquire.count = 0;
    acquire.adjustments = {{10, debt_of(kBucket, 10'000), 0}, {}};
    decide(acquire);
    EXPECT_GE(expiry(key), day_ends - 1s + 1000s);
}

TEST_F(AcquireScript, ALookUpChangesNoExpiry) {
    redis_->run({"HSET", "t:key:x", "plan", "free"});
    redis_->run({"EVAL", lookup_script().text, "1", "t:key:x", "token"});
    EXPECT_EQ(redis_->integer({"PTTL", "t:key:x"}), -1);
}

TEST_F(AcquireScript, TheLookUpFetchesARecord) {
    const auto lookup = [&] {
        return redis_->run({"EVAL", lookup_script().text, "1", "t:key:x", "token"});
    };
    redis_->run({"HSET", "t:key:x", "id", "k1", "plan", "free", "state", "active"});
    auto reply = lookup();
    auto elements = elements_of(*reply);
    ASSERT_EQ(elements.size(), record_fields().size() + 2) << "the token and the lifetime";
    EXPECT_EQ(text_of(*elements[0]), "token");
    const auto found = read_lookup(elements.subspan(1));
    EXPECT_EQ(found.outcome, Lookup::Outcome::kFound);
    EXPECT_EQ(found.record.id, "k1");
    redis_->run({"DEL", "t:key:x"});
    reply = lookup();
    EXPECT_EQ(read_lookup(elements_of(*reply).subspan(1)).outcome, Lookup::Outcome::kUnknown);
    redis_->run({"SET", "t:key:x", "text"});
    EXPECT_TRUE(text_of(*lookup()).starts_with("WRONGTYPE"));
}

class AcquireScriptNotices : public AcquireScript {
  protected:
    static TableQuota noticed(std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota = table("api", std::move(rates), sliding);
        quota.notify = "80 100";
        return quota;
    }
    static Acquire acquire_of(TableQuota quota, std::int64_t count = 1) {
        Acquire acquire = AcquireScript::acquire_of(Quotas{std::move(quota)});
        acquire.count = count;
        return acquire;
    }
    static Acquire returning(const TableQuota& quota, std::int64_t number, std::int64_t units) {
        Acquire acquire = acquire_of(quota, 0);
        acquire.adjustments = {{number, -units, 0}};
        return acquire;
    }
    /// The entries of the stream, each as PERIOD:NUMBER LEVEL USED/LIMIT, and its length.
    std::vector<std::string> notices() {
        const auto reply = redis_->run({"XRANGE", keys_.notices(), "-", "+"});
        std::vector<std::string> entries;
        for (const auto* entry : elements_of(*reply)) {
            std::map<std::string, std::string> fields;
            const auto elements = elements_of(*entry->element[1]);
            for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
                fields[std::string(text_of(*elements[i]))] = text_of(*elements[i + 1]);
            }
            EXPECT_EQ(fields["id"], "k");
            EXPECT_EQ(fields["table"], "api");
            entries.push_back(fields["period"] + ":" + fields["number"] + " " + fields["level"] +
                              " " + fields["used"] + "/" + fields["limit"] +
                              (fields["value"].empty() ? "" : " " + fields["value"]));
        }
        return entries;
    }
    std::string window(std::chrono::seconds period, std::int64_t after = 0) const {
        return std::to_string(period.count()) + ":" + std::to_string(number(period) + after);
    }
    using Entries = std::vector<std::string>;
};

TEST_F(AcquireScriptNotices, AreAppendedOncePerWindowAndLevel) {
    const TableQuota quota = noticed({{10, kHour}, {1000, kDay}});
    decide(acquire_of(quota, 7));
    EXPECT_EQ(notices(), Entries());
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.notices()}), 0);
    decide(acquire_of(quota));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
    decide(acquire_of(quota));
    EXPECT_EQ(notices().size(), 1U);
    decide(acquire_of(quota, 5));
    decide(acquire_of(quota, 5));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10", window(kHour) + " 100 10/10"}));
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":100/10");
    EXPECT_EQ(field("8640000.noticed"), "");
    EXPECT_GT(redis_->integer({"PTTL", keys_.notices()}), 6 * 86'400'000);
}

TEST_F(AcquireScriptNotices, OfAllLevelsThatOneAcquireReaches) {
    decide(acquire_of(noticed({{10, kHour}}), 10));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 10/10", window(kHour) + " 100 10/10"}));
}

TEST_F(AcquireScriptNotices, BeginAgainInTheNextWindow) {
    put(kHour, 1, 10);
    redis_->run({"HSET", keys_.quota("k", "api"), "360000.noticed",
                 std::to_string(number(kHour) - 1) + ":100/10"});
    const TableQuota quota = noticed({{10, kHour}});
    decide(acquire_of(quota));
    EXPECT_EQ(notices(), Entries());
    decide(acquire_of(quota, 7));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
}

TEST_F(AcquireScriptNotices, AreNotRepeatedAfterUnitsWereReturned) {
    const TableQuota quota = noticed({{100, kHour}, {1000, kDay}});
    Acquire leasing = acquire_of(quota, 79);
    leasing.lease = 2;
    EXPECT_EQ(decide(leasing).lease, 2);
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 81/100"}));
    Acquire back = acquire_of(quota, 0);
    back.adjustments = {{number(kHour), -2, 0}, {number(kDay), -2, 0}};
    decide(back);
    EXPECT_EQ(count(kHour), 79);
    decide(acquire_of(quota));
    EXPECT_EQ(count(kHour), 80);
    EXPECT_EQ(notices().size(), 1U);
}

TEST_F(AcquireScriptNotices, OfAHigherLimitInTheSameWindow) {
    const TableQuota before = noticed({{10, kHour}});
    const TableQuota after = noticed({{20, kHour}});
    decide(acquire_of(before, 8));
    decide(acquire_of(after, 7));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
    decide(acquire_of(after));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10", window(kHour) + " 80 16/20"}));
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":80/20");
    decide(acquire_of(after, 4));
    EXPECT_EQ(notices().size(), 3U);
    EXPECT_EQ(notices().back(), window(kHour) + " 100 20/20");
}

TEST_F(AcquireScriptNotices, OfNodesWithDifferentLimitsAreNotRepeated) {
    const TableQuota low = noticed({{10, kHour}});
    const TableQuota high = noticed({{20, kHour}});
    decide(acquire_of(low, 10));
    decide(acquire_of(high, 6));
    EXPECT_EQ(notices().size(), 3U);
    EXPECT_EQ(field("360000.noticed"), std::to_string(number(kHour)) + ":80/20 100/10");
    for (int i = 0; i < 3; ++i) {
        decide(acquire_of(low));
        decide(acquire_of(high, 0));
    }
    EXPECT_EQ(notices().size(), 3U);
}

TEST_F(AcquireScriptNotices, OfALowerLimitTellThatItIsReached) {
    decide(acquire_of(noticed({{20, kHour}}), 16));
    decide(acquire_of(noticed({{10, kHour}})));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 16/20", window(kHour) + " 100 16/10"}));
}

TEST_F(AcquireScriptNotices, OfReportedUnits) {
    Acquire owed = returning(noticed({{10, kHour}}), number(kHour), -9);
    owed.report_numbers = {1};
    decide(owed);
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 9/10"}));
    decide(owed);
    EXPECT_EQ(count(kHour), 9);
    EXPECT_EQ(notices().size(), 1U);
}

TEST_F(AcquireScriptNotices, OfASlidingWindowCountThePartOfThePreviousOne) {
    const auto begin = window_end(number(kHour), kHour);
    set_clock(begin - 1s);
    const TableQuota quota = noticed({{10, kHour}}, true);
    decide(acquire_of(quota, 7));
    set_clock(begin + kHour / 2);
    decide(acquire_of(quota, 4));
    EXPECT_EQ(notices(), Entries({window(kHour, 1) + " 80 8/10"}));
}

TEST_F(AcquireScriptNotices, OfAMonthButNotOfABucket) {
    TableQuota quota = noticed({{1, 1s}, {10, Period::month()}});
    quota.rates.front().burst = 10;
    decide(acquire_of(quota, 10));
    const auto month = std::to_string(window_number(start_, Period::month()));
    EXPECT_EQ(notices(),
              Entries({"month:" + month + " 80 10/10", "month:" + month + " 100 10/10"}));
}

TEST_F(AcquireScriptNotices, OfTheCounterOfAValue) {
    TableQuota quota = noticed({{10, kHour}});
    quota.value = ValueDigest::of("blue");
    decide(acquire_of(quota, 8));
    EXPECT_EQ(notices(),
              Entries({window(kHour) + " 80 8/10 " + std::string(quota.value.suffix().substr(1))}));
}

TEST_F(AcquireScriptNotices, ThatRedisRefusesAreAppendedLater) {
    const TableQuota quota = noticed({{10, kHour}});
    redis_->run({"SET", keys_.notices(), "no stream"});
    EXPECT_EQ(decide(acquire_of(quota, 9)).granted, 9);
    EXPECT_EQ(field("360000.noticed"), "");
    redis_->run({"DEL", keys_.notices()});
    decide(acquire_of(quota, 0));
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 9/10"}));
}

TEST_F(AcquireScriptNotices, OfEachIdAndTableOfACall) {
    const TableQuota quota = noticed({{10, kHour}, {20, kDay}});
    TableQuota counted = noticed({{30, kHour}});
    counted.table = "search";
    counted.history = std::chrono::days(30);
    counted.rates.push_back({kNoLimit, 24h});
    std::ranges::sort(counted.rates, {}, &Rate::period);
    const auto with = [](Quotas quotas, std::int64_t count) {
        Acquire acquire = AcquireScript::acquire_of(std::move(quotas));
        acquire.count = count;
        return acquire;
    };
    const TableQuota plain = table("plain", {{10, kHour}, {20, kDay}});
    decide(std::vector{with({plain}, 10), with({counted}, 1), with({quota}, 8), with({plain}, 1)});
    EXPECT_EQ(notices(), Entries({window(kHour) + " 80 8/10"}));
}

}  // namespace
}  // namespace tollgate::redis
