#include "module/redis/pipeline.hpp"

#include <array>
#include <utility>

namespace tollgate::redis {

void Pipeline::push(std::span<const std::string> command, std::unique_ptr<ReplyHandler> handler,
                    Milliseconds deadline) {
    append_command(waiting_, command);
    pending_.push_back({std::move(handler), deadline, nullptr});
    ++unreleased_;
}

void Pipeline::release(std::string& out) {
    const auto& fence =
        fences_.emplace_back(Fence{std::exchange(unreleased_, 0), std::to_string(++last_token_)});
    out += waiting_;
    waiting_.clear();
    append_command(out, std::array<std::string, 2>{"ECHO", fence.token});
}

Pipeline::Taken Pipeline::take(ReplyPtr& reply) {
    if (!fences_.empty() && arrived_ < fences_.front().commands) {
        pending_[arrived_++].reply = std::move(reply);
        return Taken::kHeld;
    }
    if (fences_.empty() || text_of(*reply) != fences_.front().token) {
        return Taken::kMismatched;
    }
    const auto commands = fences_.front().commands;
    fences_.pop_front();
    arrived_ = 0;
    for (std::size_t i = 0; i < commands; ++i) {
        const Pending settled = std::move(pending_.front());
        pending_.pop_front();
        settled.handler->on_reply(*settled.reply);
    }
    return Taken::kSettled;
}

void Pipeline::fail_released() {
    fences_.clear();
    arrived_ = 0;
    for (auto left = pending_.size() - unreleased_; left > 0; --left) {
        const Pending failed = std::move(pending_.front());
        pending_.pop_front();
        failed.handler->on_failure();
    }
}

void Pipeline::fail_all() {
    unreleased_ = 0;
    waiting_.clear();
    fail_released();
}

}  // namespace tollgate::redis
