#include "module/redis/io/sentinel_directory.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace tollgate::redis {

using namespace std::chrono_literals;

namespace {

/// The interval of searches without a cause, in the worker that watches.
constexpr std::chrono::milliseconds kPoll = 10s;
/// How often a worker reads what is shared: without a cause, and while another worker searches.
constexpr std::chrono::milliseconds kRead = 200ms;
constexpr std::chrono::milliseconds kReadSoon = 20ms;
/// How long a deposed master may say that it is the master: until a Sentinel reconfigures it.
constexpr std::chrono::milliseconds kDeposed = 10s;
/// Added to the longest time of a step, until another worker may continue the search.
constexpr std::chrono::milliseconds kGrace = 1s;

std::uint32_t this_process() {
    return static_cast<std::uint32_t>(ngx_pid);
}

/// Whether the reply of a Sentinel has the address of a master.
bool is_answer(SentinelSearch::Question question, const redisReply& reply) {
    return question == SentinelSearch::Question::kAddress ? read_master_address(reply).has_value()
                                                          : read_master_state(reply).has_value();
}

}  // namespace

SentinelDirectory::SentinelDirectory(const SentinelGroup& group, const Access& sentinels,
                                     const Access& master, bool watches, SentinelClient& client)
    : group_(group),
      to_sentinels_(sentinels),
      to_master_(master),
      client_(client),
      log_(master.log),
      watches_(watches),
      owner_("redis \"" + group.link.name + "\""),
      sentinels_(group.link.servers, group.link.resolver, owner_, *this, log_),
      search_(0),
      random_(static_cast<unsigned>(ngx_random())),
      watch_(sentinels, *this),
      generation_(shared([](SharedMaster& known) { return known.generation(); }) - 1),
      timer_(Event::calling<&SentinelDirectory::proceed>(this, log_)),
      event_(Event::calling<&SentinelDirectory::proceed>(this, log_)) {
    timer_.set_cancelable(true);
    follow_sentinels();
    read_shared();
    search();
}

SentinelDirectory::~SentinelDirectory() {
    if (is_searching_) {
        client_.with_shared_master([](SharedMaster& known) { known.release(this_process()); });
    }
}

void SentinelDirectory::search() noexcept {
    if (resolution_ != nullptr) {
        resolution_->resolve_now();
    }
    if (!is_searching_) {
        want_search();
        event_.post();
    }
}

std::uint32_t SentinelDirectory::searches() const {
    return shared([](SharedMaster& known) { return known.searches(); });
}

/// A search of another worker, that ends from now on, is as good.
void SentinelDirectory::want_search() {
    is_wanted_ = true;
    searches_ = searches();
}

void SentinelDirectory::on_message(std::string_view text) noexcept {
    try {
        auto switched = read_switched_master(text);
        if (switched && switched->name == group_.master_name) {
            switched_ = std::move(switched);
            switched_->name = {};
            event_.post();
        }
    } catch (const std::exception& e) {
        note_failure(group_.master_name, e.what());
        search();
    }
}

/// Continues whatever is due. Callbacks only post an event that calls this function, so that it may
/// destroy the query, and so that the listener may do anything.
void SentinelDirectory::proceed() noexcept {
    const Time now = Clock::now();
    try {
        follow_sentinels();
        begin_search(now);
        take_step(now);
        if (read_shared()) {
            client_.on_master();
        }
    } catch (const std::exception& e) {
        is_step_new_ = true;  // The timer calls this function again.
        note_failure(group_.master_name, e.what());
        log_failures();
    }
    schedule(Clock::now());
}

/// Searches among other Sentinels if their addresses have changed.
void SentinelDirectory::follow_sentinels() {
    if (sentinels_.list() == asked_) {
        return;
    }
    query_.reset();
    candidate_.reset();
    if (std::exchange(is_searching_, false)) {
        client_.with_shared_master([](SharedMaster& known) { known.release(this_process()); });
    }
    asked_ = sentinels_.list();
    search_ = SentinelSearch(asked_.size());
    if (watches_) {
        watch_.follow(asked_);
    }
    want_search();
}

/// Begins a search if one is wanted and no other worker searches.
void SentinelDirectory::begin_search(Time now) {
    if (asked_.empty()) {
        return;  // No name is resolved yet.
    }
    if (switched_) {
        client_.with_shared_master([&](SharedMaster& known) {
            known.depose(server_hash(switched_->deposed), now + kDeposed);
        });
        // Each Sentinel publishes the message, the one that leads the failover last.
        if (switched_->address != reported_) {
            search_.switch_to(switched_->address);
            client_.with_shared_master(
                [&](SharedMaster& known) { known.take_over(this_process(), now + kGrace); });
            is_searching_ = true;
            is_step_new_ = true;
        }
        switched_.reset();
    }
    if (is_searching_) {
        return;
    }
    if (watches_ && poll_at_ <= now) {
        want_search();
        poll_at_ = now + kPoll;
    }
    if (is_wanted_ && searches() != searches_) {
        is_wanted_ = false;  // Another worker has searched.
    }
    if (is_wanted_ && keep_search(now, now)) {
        is_wanted_ = false;
        search_.start(now, random());
        is_step_new_ = true;
    }
}

void SentinelDirectory::take_step(Time now) {
    if (!is_searching_) {
        return;
    }
    search_.avoid(shared([&](SharedMaster& known) { return known.deposed(now); }));
    if (const auto* const wait = std::get_if<SentinelSearch::Wait>(&search_.step());
        wait != nullptr && wait->until <= now) {
        search_.on_timer(now, random());
        is_step_new_ = true;
    }
    if (!is_step_new_) {
        use_candidate(now);
    }
    while (is_searching_ && std::exchange(is_step_new_, false)) {
        query_.reset();
        candidate_.reset();
        const auto step = search_.step();
        if (const auto* const asked = std::get_if<SentinelSearch::Ask>(&step)) {
            ask(*asked, now);
        } else if (const auto* const reported = std::get_if<SentinelSearch::Confirm>(&step)) {
            confirm(reported->master, now);
        } else if (const auto* const wait = std::get_if<SentinelSearch::Wait>(&step)) {
            keep_search(now, wait->until);
            log_failures();
        } else if (const auto* const found = std::get_if<SentinelSearch::Found>(&step)) {
            end_search(found->master);
        }
    }
}

/// Returns false if another worker searches: this one waits for its result instead.
bool SentinelDirectory::keep_search(Time now, Time step_end) noexcept {
    is_searching_ = shared(
        [&](SharedMaster& known) { return known.claim(this_process(), now, step_end + kGrace); });
    return is_searching_;
}

void SentinelDirectory::ask(const SentinelSearch::Ask& step, Time now) {
    if (!keep_search(now, step.until)) {
        return;
    }
    query_ =
        std::make_unique<Query>(to_sentinels_, SocketAddresses({asked_[step.sentinel]}),
                                std::vector{sentinel_command(step.question, group_.master_name)},
                                std::chrono::ceil<std::chrono::milliseconds>(step.until - now),
                                static_cast<QueryOwner&>(*this));
}

void SentinelDirectory::end_search(const ServerAddress& master) {
    failures_ = {};
    is_searching_ = false;
    is_wanted_ = false;
    poll_at_ = Clock::now() + kPoll;
    using Change = SharedMaster::Change;
    const auto change = shared(
        [&](SharedMaster& known) { return known.publish(this_process(), group_.hash, master); });
    if (change == Change::kSwitched) {
        client_.on_failover();
    }
    if (change != Change::kNone) {
        ngx_log_error(NGX_LOG_NOTICE, log_, 0,
                      "tollgate: redis \"%s\": the master \"%s\" is at %s, port %ui",
                      group_.link.name.c_str(), group_.master_name.c_str(), master.host.c_str(),
                      static_cast<ngx_uint_t>(master.port));
    }
}

void SentinelDirectory::on_reply(const redisReply& reply) noexcept {
    const Time now = Clock::now();
    try {
        const auto text = text_of(reply);
        if (const auto* const asked = std::get_if<SentinelSearch::Ask>(&search_.step())) {
            const auto sentinel = asked->sentinel;
            const bool is_refused = reply.type == REDIS_REPLY_ERROR;
            if (is_refused || reply.type == REDIS_REPLY_NIL) {
                note_failure(asked_[sentinel].name(),
                             is_refused ? text : "no master of this name is known");
            } else if (!is_answer(asked->question, reply)) {
                note_failure(asked_[sentinel].name(), "its reply has no valid address of a master");
            }
            search_.on_answer(sentinel, reply, now, random());
        } else if (const auto* const found =
                       std::get_if<SentinelSearch::Confirm>(&search_.step())) {
            const std::string server = to_text(found->master);
            search_.on_role(reply, now, random());
            if (!std::holds_alternative<SentinelSearch::Found>(search_.step())) {
                note_failure(server, reply.type == REDIS_REPLY_ERROR ? text : "not a master");
            }
        }
        is_step_new_ = true;
        event_.post();
    } catch (const std::exception& e) {
        on_no_reply(e.what());
    }
}

void SentinelDirectory::on_no_reply(std::string_view reason) noexcept {
    const Time now = Clock::now();
    if (const auto* const asked = std::get_if<SentinelSearch::Ask>(&search_.step())) {
        const auto sentinel = asked->sentinel;
        note_failure(asked_[sentinel].name(), reason);
        search_.on_failure(sentinel, now, random());
    } else if (const auto* const found = std::get_if<SentinelSearch::Confirm>(&search_.step())) {
        note_failure(found->master.host, reason);
        search_.on_unreachable(now, random());
    }
    is_step_new_ = true;
    event_.post();
}

void SentinelDirectory::note_failure(std::string_view server, std::string_view reason) noexcept {
    failures_.append(failures_.empty() ? "" : "; ");
    failures_.append(server);
    failures_.append(": ");
    failures_.append(reason);
}

/// One line for each pass at most: all Sentinels were asked, or the server they name is no master.
void SentinelDirectory::log_failures() noexcept {
    const LogText failures = std::exchange(failures_, LogText());
    if (ngx_exiting != 0 || !failure_lines_.admit(Clock::now())) {
        return;
    }
    const std::string_view text = failures;
    ngx_log_error(NGX_LOG_WARN, log_, 0,
                  "tollgate: redis \"%s\": the master \"%s\" is not found, next attempt soon: %*s",
                  group_.link.name.c_str(), group_.master_name.c_str(), text.size(), text.data());
}

/// Sets the timer for the next action.
void SentinelDirectory::schedule(Time now) noexcept {
    Time next = now + (is_wanted_ ? kReadSoon : kRead);
    if (const auto* const wait = std::get_if<SentinelSearch::Wait>(&search_.step());
        wait != nullptr && is_searching_) {
        next = std::min(next, wait->until);
    }
    timer_.start_until(next);
}

double SentinelDirectory::random() noexcept {
    return std::uniform_real_distribution<>()(random_);
}

}  // namespace tollgate::redis
