#include "module/redis/pipeline.hpp"

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

Pipeline::Pending Pipeline::make(Call call, std::unique_ptr<ReplyHandler> handler,
                                 Milliseconds deadline) {
    return {std::move(call), std::move(handler), deadline, Clock::now(),
            std::to_string(++last_token_)};
}

void Pipeline::push(Call call, std::unique_ptr<ReplyHandler> handler, Milliseconds deadline) {
    pending_.push_back(make(std::move(call), std::move(handler), deadline));
}

void Pipeline::push_ahead(Call call, std::unique_ptr<ReplyHandler> handler, Milliseconds deadline) {
    pending_.push_front(make(std::move(call), std::move(handler), deadline));
}

void Pipeline::release(std::string& out) {
    for (; released_ < pending_.size(); ++released_) {
        const Pending& pending = pending_[released_];
        append_call(out, pending.call, pending.token, pending.in_full);
    }
}

Pipeline::Taken Pipeline::take(const redisReply& reply) {
    if (released_ == 0) {
        return Taken::kMismatched;
    }
    if (reply.type == REDIS_REPLY_ERROR) {
        if (text_of(reply).starts_with("NOSCRIPT") && !pending_.front().in_full) {
            repeat_front();
            return Taken::kRepeated;
        }
        take_front().handler->on_error(text_of(reply));
        return Taken::kError;
    }
    const auto elements = elements_of(reply);
    if (!is_answer_to(pending_.front().token, elements)) {
        return Taken::kMismatched;
    }
    const Pending answered = take_front();
    answered_push_ = answered.pushed;
    answered.handler->on_values(elements.subspan(1));
    return Taken::kValues;
}

Pipeline::Pending Pipeline::take_front() {
    Pending front = std::move(pending_.front());
    pending_.pop_front();
    released_ -= std::min<std::size_t>(released_, 1);
    in_full_ -= front.in_full ? 1 : 0;
    return front;
}

void Pipeline::repeat_front() {
    Pending again = take_front();
    again.in_full = true;
    again.token = std::to_string(++last_token_);
    ++in_full_;
    pending_.push_back(std::move(again));
}

Pipeline::Milliseconds Pipeline::first_deadline() const {
    // Only differences of them tell which is earlier: nginx's milliseconds wrap around.
    const auto is_earlier = [](const Pending& a, const Pending& b) {
        return static_cast<std::intptr_t>(a.deadline - b.deadline) < 0;
    };
    return in_full_ == 0 ? pending_.front().deadline
                         : std::ranges::min_element(pending_, is_earlier)->deadline;
}

void Pipeline::fail_released() {
    for (auto left = std::exchange(released_, 0); left > 0; --left) {
        take_front().handler->on_failure();
    }
}

void Pipeline::fail_all() {
    released_ = pending_.size();
    fail_released();
}

}  // namespace tollgate::redis
