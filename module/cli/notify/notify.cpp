#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/configuration/conf_reader.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/notify/key_notices.hpp"
#include "module/cli/notify/notice.hpp"
#include "module/cli/notify/notice_queue.hpp"
#include "module/cli/notify/webhook.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/http_client.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/file_exposure.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

WebhookSecrets read_secrets(const std::string& path) {
    if (const auto exposure = exposure_of(path); !exposure.empty()) {
        warn("--secret-file " + path + " " + exposure);
    }
    try {
        return WebhookSecrets::parse(read_text_file(path));
    } catch (const ParseError& error) {
        throw Failure(ExitStatus::kUsage, "--secret-file " + path + ": " + error.what());
    } catch (const std::system_error& error) {
        throw Failure(ExitStatus::kUsage,
                      "cannot read --secret-file " + path + ": " + error.code().message());
    }
}

/// The name of this process among the members of the consumer group.
std::string member_name() {
    return host_name() + ":" + std::to_string(getpid());
}

/// A delay that doubles with each failure.
seconds delay_after(int failures, seconds longest) {
    constexpr int kMostDoublings = 10;
    return std::min(longest, 1s * (1 << std::min(failures - 1, kMostDoublings)));
}

/// Delivers the notices of one Redis. What it has taken and not delivered is in Redis only, besides
/// when it is tried again: if the process ends, another one takes it.
class Delivery {
  public:
    Delivery(RedisSession& session, const std::string& url, const std::string& secret_file)
        : session_(session),
          secrets_(read_secrets(secret_file)),
          receiver_(parse_http_url(url)),
          queue_(session, member_name()),
          key_notices_(session, queue_) {}

    /// To be called before deliver(). Throws Failure.
    void join() { queue_.join(); }

    /// Delivers a notice, or waits up to a second for one. Throws Failure if Redis fails, or the
    /// receiver wants no more.
    void deliver() {
        find_notices();
        deliver_one();
    }

  private:
    /// A notice that belongs to this process, and that the receiver has not accepted.
    struct Taken {
        Notice notice;
        int failures = 0;
        Clock::time_point due{};
    };

    /// Notices that the receiver refuses remain among them for days.
    static constexpr std::size_t kMostTaken = 10'000;
    static constexpr milliseconds kTurn = 1s;  ///< the longest time until find_notices()

    /// Does what is due of the work that makes or takes notices, besides reading the next one.
    void find_notices() {
        const auto now = Clock::now();
        add_if_due(keys_due_, 1h, [&] { return key_notices_.examine_some(); });
        add_if_due(collection_due_, 5s, [&] { return queue_.is_apart() && queue_.collect(); });
        if (now >= claim_due_) {
            constexpr auto kClaim = NoticeQueue::kAbandoned / 6;
            std::vector<std::string> entries;
            for (const Taken& taken : taken_) {
                entries.push_back(taken.notice.entry);
            }
            queue_.renew(entries);
            if (taken_.size() < kMostTaken) {
                take(queue_.abandoned(kMostTaken - taken_.size()));
            }
            claim_due_ = now + kClaim;
        }
    }

    /// Adds notices to the stream: `work` adds some, and returns false after the last ones, which
    /// is repeated after `period`. The stream is trimmed, so that more are added only while few
    /// wait. If Redis refuses it, those that wait are delivered nevertheless.
    template <typename Work>
    void add_if_due(Clock::time_point& due, seconds period, const Work& work) {
        constexpr std::int64_t kMostWaiting = 1000;
        constexpr auto kPause = 100ms;
        constexpr auto kRetry = 30s;
        if (Clock::now() < due) {
            return;
        }
        try {
            if (queue_.waiting() >= kMostWaiting) {
                due = Clock::now() + kPause;
                return;
            }
            due = work() ? Clock::time_point{} : Clock::now() + period;
        } catch (const Failure& failure) {
            warn(failure.what());
            due = Clock::now() + kRetry;
            session_.reconnect();
        }
    }

    void take(const std::vector<redis::Value>& entries) {
        for (const auto& entry : entries) {
            const auto notice = read_notice(entry);
            if (notice) {
                if (std::ranges::none_of(taken_, [&](const Taken& taken) {
                        return taken.notice.entry == notice->entry;
                    })) {
                    taken_.push_back({.notice = *notice});
                }
            } else if (entry.elements.size() == 2) {
                warn("the stream of notices has an entry that is none: " + entry.elements[0].text);
                queue_.remove(entry.elements[0].text);
            }
        }
    }

    /// Delivers the next notice, or waits up to kTurn for one.
    void deliver_one() {
        const auto now = Clock::now();
        const bool is_adding = keys_due_ <= now || collection_due_ <= now;
        const auto end = is_adding ? now : now + kTurn;
        if (now < resumed_) {
            std::this_thread::sleep_until(std::min(resumed_, end));
            return;
        }
        if (!taken_.empty() && taken_.size() < kMostTaken) {
            // Those that the receiver refuses must not keep a new one waiting.
            take(queue_.next(0ms));
        }
        auto next = std::ranges::min_element(taken_, {}, &Taken::due);
        if (next != taken_.end() && next->due <= now) {
            attempt(next);
            return;
        }
        const auto until = next == taken_.end() ? end : std::min(next->due, end);
        if (taken_.size() < kMostTaken) {
            take(queue_.next(std::max(0ms, std::chrono::ceil<milliseconds>(until - now))));
        } else {
            std::this_thread::sleep_until(until);
        }
    }

    void attempt(std::vector<Taken>::iterator taken) {
        using std::chrono::system_clock;
        const auto time = std::chrono::floor<seconds>(system_clock::now());
        const Notice& notice = taken->notice;
        const auto answer = receiver_.send(
            {"Content-Type: application/json", "webhook-id: " + notice.id,
             "webhook-timestamp: " + std::to_string(time.time_since_epoch().count()),
             "webhook-signature: " + secrets_.signatures(notice.id, time, notice.body)},
            &notice.body, nullptr);
        constexpr long kGone = 410;
        if (answer.status == kGone) {
            throw Failure(ExitStatus::kGone,
                          "the receiver wants no more notices: it answers with 410");
        }
        if (answer.is_success()) {
            queue_.remove(notice.entry);
            taken_.erase(taken);
            if (std::exchange(failures_, 0) > 0) {
                warn("the receiver accepts notices again");
            }
            return;
        }
        constexpr auto kLongestDelay = 60s;
        const auto now = Clock::now();
        taken->due = now + delay_after(++taken->failures, kLongestDelay);
        if (!answer.is_refusal()) {
            resumed_ = now + delay_after(++failures_, kLongestDelay);
        }
        const std::string result = notice.id + " is not delivered: " + answer.text;
        if (is_too_old(notice)) {
            warn(result + ": it is dropped, because it is older than " +
                 std::to_string(redis::kNoticesKept.count()) + " days");
            queue_.remove(notice.entry);
            taken_.erase(taken);
        } else {
            warn(result + ": next attempt in " +
                 format_duration(std::chrono::ceil<seconds>(taken->due - now)));
        }
    }

    static bool is_too_old(const Notice& notice) {
        return std::chrono::system_clock::now() - notice.noted > redis::kNoticesKept;
    }

    RedisSession& session_;
    WebhookSecrets secrets_;
    HttpClient receiver_;
    NoticeQueue queue_;
    KeyNotices key_notices_;
    std::vector<Taken> taken_;
    int failures_ = 0;  ///< since the receiver accepted a notice
    Clock::time_point resumed_{};
    Clock::time_point keys_due_{};
    Clock::time_point collection_due_{};
    Clock::time_point claim_due_{};
};

}  // namespace

void notify(RedisSession& session, const CommandLine& line) {
    Delivery delivery(session, line.notify.url, line.notify.secret_file);
    for (int failures = 0;;) {
        try {
            if (failures > 0) {
                session.reconnect();
            }
            delivery.join();
            for (;; failures = 0) {
                delivery.deliver();
            }
        } catch (const Failure& failure) {
            if (failure.status() != ExitStatus::kRedis) {
                throw;
            }
            constexpr auto kLongest = 30s;
            warn(failure.what());
            std::this_thread::sleep_for(delay_after(++failures, kLongest));
        }
    }
}

}  // namespace tollgate::cli
