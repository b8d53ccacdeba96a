#include "module/redis/protocol/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::redis {

namespace {

bool is_answer_to(std::string_view token, std::span<const redisReply* const> elements) {
    return !elements.empty() && elements.front()->type == REDIS_REPLY_STRING &&
           text_of(*elements.front()) == token;
}

void append_call(std::string& out, const Call& call, std::string_view token, bool in_full) {
    constexpr std::size_t kOfTheRest = 128;
    if (call.asking) {
        append_command(out, {"ASKING"});
    }
    Words words;
    words.reserve(call.keys.bytes().size() + call.arguments.bytes().size() + kOfTheRest);
    words.add(in_full ? "EVAL" : "EVALSHA");
    words.add(in_full ? call.script->text : call.script->sha1);
    words.add(call.keys.size());
    words.add(call.keys);
    words.add(token);
    words.add(call.arguments);
    append_command(out, words);
}

}  // namespace

void Pipeline::fill(Pending& pending, Call&& call, std::unique_ptr<ReplyHandler>&& handler,
                    std::string&& token, Time now) noexcept {
    pending.call = std::move(call);
    pending.handler = std::move(handler);
    pending.token = std::move(token);
    pending.pushed = now;
    pending.deadline = now + timeout_;
}

void Pipeline::push(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now) {
    auto token = next_token();
    fill(pending_.emplace_back(), std::move(call), std::move(handler), std::move(token), now);
}

void Pipeline::push_ahead(Call&& call, std::unique_ptr<ReplyHandler>&& handler, Time now) {
    auto token = next_token();
    Pending& pending = pending_.emplace_front();
    fill(pending, std::move(call), std::move(handler), std::move(token), now);
    pending.ahead = true;
    pending.in_full = true;
    pending.out_of_turn = true;
    ++out_of_turn_;
}

void Pipeline::release(std::string& out, std::uint64_t position, std::size_t most) {
    const auto begin = out.size();
    const auto end = std::max(released_, std::min(pending_.size(), most));
    try {
        for (auto i = released_; i < end; ++i) {
            Pending& pending = pending_[i];
            append_call(out, pending.call, pending.token, pending.in_full);
            pending.was_asking_answered = false;
            pending.end = position + (out.size() - begin);
        }
    } catch (...) {
        out.resize(begin);
        throw;
    }
    released_ = end;
}

void Pipeline::note_written(std::uint64_t bytes, Time now) noexcept {
    for (; written_ < released_ && pending_[written_].end <= bytes; ++written_) {
        pending_[written_].deadline = now + timeout_;
    }
}

Pipeline::Taken Pipeline::take(const redisReply& reply) {
    if (released_ == 0) {
        return Taken::kMismatched;
    }
    if (pending_.front().call.asking &&
        !std::exchange(pending_.front().was_asking_answered, true)) {
        return Taken::kAsking;  // If it is an error, the call's reply is one too.
    }
    if (reply.type == REDIS_REPLY_ERROR) {
        if (text_of(reply).starts_with("NOSCRIPT") && !pending_.front().in_full) {
            repeat_front();
            return Taken::kRepeated;
        }
        const Pending answered = take_front();
        if (answered.handler != nullptr) {
            answered.handler->on_error(text_of(reply));
        }
        return Taken::kError;
    }
    const auto elements = elements_of(reply);
    if (!is_answer_to(pending_.front().token, elements)) {
        return Taken::kMismatched;
    }
    const Pending answered = take_front();
    answered_push_ = answered.pushed;
    if (answered.handler != nullptr) {
        answered.handler->on_values(elements.subspan(1));
    }
    return Taken::kValues;
}

Pipeline::Pending Pipeline::take_front() noexcept {
    Pending front = std::move(pending_.front());
    pending_.pop_front();
    released_ -= std::min<std::size_t>(released_, 1);
    written_ -= std::min<std::size_t>(written_, 1);
    out_of_turn_ -= front.out_of_turn ? 1 : 0;
    return front;
}

void Pipeline::repeat_front() {
    auto token = next_token();
    Pending& again = pending_.emplace_back();  // Nothing throws from here on.
    again = take_front();
    again.token = std::move(token);
    again.in_full = true;
    again.out_of_turn = true;
    ++out_of_turn_;
}

Pipeline::Time Pipeline::first_deadline() const noexcept {
    if (out_of_turn_ > 0) {
        return std::ranges::min_element(pending_, {}, &Pending::deadline)->deadline;
    }
    // Written calls and unwritten calls are each in the order of their deadlines.
    const Time first = pending_.front().deadline;
    return written_ < pending_.size() ? std::min(first, pending_[written_].deadline) : first;
}

void Pipeline::postpone(Time now) noexcept {
    for (Pending& pending : pending_) {
        if (!std::exchange(pending.postponed, true)) {
            pending.deadline = now + timeout_;
        }
    }
}

void Pipeline::fail_lost(Time now) noexcept {
    fail_written();
    while (!pending_.empty() && (pending_.front().ahead || pending_.front().deadline <= now)) {
        take_front().handler->on_unsent();
    }
}

void Pipeline::fail_all() noexcept {
    // Handlers may push further calls.
    std::size_t unsent = pending_.size() - written_;
    fail_written();
    for (; unsent > 0; --unsent) {
        take_front().handler->on_unsent();
    }
}

void Pipeline::fail_written() noexcept {
    released_ = 0;
    for (std::size_t calls = std::exchange(written_, 0); calls > 0; --calls) {
        const Pending failed = take_front();
        if (failed.handler != nullptr) {
            failed.handler->on_failure();
        }
    }
}

Pipeline Pipeline::split_written() {
    Pipeline late(0, timeout_);
    late.pending_.resize(written_);
    // Nothing throws from here on.
    while (written_ > 0) {
        const std::size_t next = late.released_++;
        late.pending_[next] = take_front();
        late.out_of_turn_ += late.pending_[next].out_of_turn ? 1 : 0;
    }
    late.written_ = late.released_;
    released_ = 0;
    return late;
}

void Pipeline::time_out() noexcept {
    for (Pending& pending : pending_) {
        if (pending.handler != nullptr && !pending.handler->on_timeout()) {
            pending.handler.reset();
        }
    }
}

void Pipeline::fail_unreleased() noexcept {
    while (has_unreleased()) {
        const Pending last = std::move(pending_.back());
        pending_.pop_back();
        out_of_turn_ -= last.out_of_turn ? 1 : 0;
        if (last.handler != nullptr) {
            last.handler->on_unsent();
        }
    }
}

bool Pipeline::has_handlers() const noexcept {
    return std::ranges::any_of(pending_,
                               [](const Pending& pending) { return pending.handler != nullptr; });
}

}  // namespace tollgate::redis
