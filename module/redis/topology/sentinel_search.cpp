#include "module/redis/topology/sentinel_search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tollgate::redis {

SentinelSearch::SentinelSearch(std::size_t sentinels) : order_(sentinels) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
}

void SentinelSearch::start(Time now, double random) {
    if (std::holds_alternative<Idle>(step_) || std::holds_alternative<Found>(step_)) {
        begin_pass(Question::kAddress, now, random);
    }
}

void SentinelSearch::switch_to(const ServerAddress& master) {
    step_ = Confirm{master};
    question_ = Question::kAddress;
    backoff_.reset();
    refuted_ = {};
}

void SentinelSearch::on_answer(std::size_t sentinel, const redisReply& reply, Time now,
                               double random) {
    if (!is_asked(sentinel)) {
        return;
    }
    if (question_ == Question::kAddress) {
        if (auto address = read_master_address(reply);
            address && server_hash(*address) != avoided_) {
            confirm(sentinel, std::move(*address));
            return;
        }
    } else if (auto master = read_master_state(reply); master && is_better(*master)) {
        best_ = Candidate{.sentinel = sentinel, .master = std::move(*master)};
    }
    ask_next(now, random);
}

void SentinelSearch::on_failure(std::size_t sentinel, Time now, double random) {
    if (is_asked(sentinel)) {
        ask_next(now, random);
    }
}

void SentinelSearch::on_role(const redisReply& reply, Time now, double random) {
    auto* const confirmed = std::get_if<Confirm>(&step_);
    if (confirmed == nullptr) {
        return;
    }
    const Role role = read_role(reply);
    if (role == Role::kMaster || role == Role::kForbidden) {
        backoff_.reset();
        step_ = Found{std::move(confirmed->master)};
    } else {
        contradict(now, random);
    }
}

void SentinelSearch::on_unreachable(Time now, double random) {
    if (std::holds_alternative<Confirm>(step_)) {
        contradict(now, random);
    }
}

void SentinelSearch::on_timer(Time now, double random) {
    if (const auto* const asked = std::get_if<Ask>(&step_)) {
        if (now >= asked->until) {
            ask_next(now, random);
        }
    } else if (const auto* const waiting = std::get_if<Wait>(&step_)) {
        if (now >= waiting->until) {
            begin_pass(Question::kAddress, now, random);
        }
    }
}

bool SentinelSearch::is_asked(std::size_t sentinel) const noexcept {
    const auto* const asked = std::get_if<Ask>(&step_);
    return asked != nullptr && asked->sentinel == sentinel;
}

void SentinelSearch::begin_pass(Question question, Time now, double random) {
    question_ = question;
    asked_ = 0;
    best_.reset();
    ask_next(now, random);
}

void SentinelSearch::ask_next(Time now, double random) {
    if (asked_ == order_.size()) {
        end_pass(now, random);
        return;
    }
    step_ = Ask{.sentinel = order_[asked_], .question = question_, .until = now + kAnswerTimeout};
    ++asked_;
}

/// All Sentinels were asked.
void SentinelSearch::end_pass(Time now, double random) {
    if (best_ && is_usable(best_->master.address)) {
        confirm(best_->sentinel, std::move(best_->master.address));
    } else {
        wait(now, random);
    }
}

void SentinelSearch::confirm(std::size_t sentinel, ServerAddress master) {
    const auto place = std::ranges::find(order_, sentinel);
    std::rotate(order_.begin(), place, place + 1);
    step_ = Confirm{std::move(master)};
}

/// The server of the step Confirm is not the master.
void SentinelSearch::contradict(Time now, double random) {
    if (question_ == Question::kState) {
        wait(now, random);
        return;
    }
    refuted_ = std::move(std::get<Confirm>(step_).master);
    begin_pass(Question::kState, now, random);
}

void SentinelSearch::wait(Time now, double random) {
    step_ = Wait{now + backoff_.next(random)};
}

bool SentinelSearch::is_usable(const ServerAddress& master) const {
    return master != refuted_ && server_hash(master) != avoided_;
}

/// Whether this answer is better than the best one so far. With the same config-epoch, another
/// address than the refuted or deposed one is better: the Sentinel that leads a failover has the
/// new epoch before it has the new address.
bool SentinelSearch::is_better(const MasterState& master) const {
    const auto rank = [&](const MasterState& of) {
        return std::tuple(of.config_epoch, is_usable(of.address), !of.is_down);
    };
    return !best_ || rank(master) > rank(best_->master);
}

Words sentinel_command(SentinelSearch::Question question, std::string_view master_name) {
    return question == SentinelSearch::Question::kAddress
               ? Words{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name}
               : Words{"SENTINEL", "MASTER", master_name};
}

}  // namespace tollgate::redis
