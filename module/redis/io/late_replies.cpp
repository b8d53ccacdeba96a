#include "module/redis/io/late_replies.hpp"

#include <utility>

namespace tollgate::redis {

void LateReplies::take(std::unique_ptr<Link> link, Pipeline calls, Time end) noexcept {
    link_ = std::move(link);
    calls_ = std::move(calls);
    end_ = end;
    link_->set_owner(*this);
    link_->stop_writing();
}

void LateReplies::on_reply(const redisReply& reply) {
    switch (calls_.take(reply)) {
        case Pipeline::Taken::kValues:
        case Pipeline::Taken::kError:
        case Pipeline::Taken::kAsking:
            break;
        case Pipeline::Taken::kRepeated:
            calls_.fail_unreleased();
            break;
        case Pipeline::Taken::kMismatched:
            link_->give_up("replies don't match");
            break;
    }
}

void LateReplies::on_lost(std::string_view /*reason*/) noexcept {
    calls_.fail_all();
}

}  // namespace tollgate::redis
