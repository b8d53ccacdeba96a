#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tollgate::management {

/// How many requests a CallerQueue admits.
struct QueueRoom {
    std::size_t places;   ///< requests under way
    std::size_t waiting;  ///< requests that wait
    /// Whether only the share of a caller limits how many of its requests wait: what others ask for
    /// takes no place from it.
    bool is_open_to_all = false;

    /// The most of these that one caller has: a quarter.
    static constexpr std::size_t share_of(std::size_t all) {
        constexpr std::size_t kCallers = 4;
        return std::max<std::size_t>(all / kCallers, 1);
    }
};

/// Requests of several callers that share some places. One caller has at most a quarter of the
/// places, and of those that wait. Callers take turns: whoever had the last place comes last, and
/// the requests of one caller keep their order. So no caller shuts out another one.
template <typename Request>
class CallerQueue {
  public:
    explicit CallerQueue(const QueueRoom& room) : room_(room) {}

    /// Takes a request, which waits for its turn. False if too many wait: the request is unchanged.
    bool push(std::string_view name, Request& request) {
        const bool is_full = !room_.is_open_to_all && waiting_ >= room_.waiting;
        const auto found = find(name);
        const bool is_known = found != callers_.end();
        if (is_full || (is_known && found->waiting.size() >= QueueRoom::share_of(room_.waiting))) {
            return false;
        }
        Caller& caller = is_known ? *found : callers_.emplace_back(std::string(name));
        caller.waiting.push_back(std::move(request));
        ++waiting_;
        return true;
    }

    /// The request whose turn it is, if one waits and there is a place for it. It has its place
    /// until leave().
    std::optional<Request> take() {
        if (under_way_ >= room_.places) {
            return std::nullopt;
        }
        const auto next = std::ranges::find_if(callers_, [this](const Caller& caller) {
            return !caller.waiting.empty() && caller.under_way < QueueRoom::share_of(room_.places);
        });
        if (next == callers_.end()) {
            return std::nullopt;
        }
        std::optional<Request> request(std::move(next->waiting.front()));
        next->waiting.pop_front();
        --waiting_;
        ++next->under_way;
        ++under_way_;
        callers_.splice(callers_.end(), callers_, next);
        return request;
    }

    /// A request of this caller that had a place has ended.
    void leave(std::string_view name) {
        const auto caller = find(name);
        --caller->under_way;
        --under_way_;
        forget_idle(caller);
    }

    /// Removes the waiting requests for which `is_gone` is true.
    template <typename IsGone>
    void remove_if(IsGone is_gone) {
        for (auto caller = callers_.begin(); caller != callers_.end();) {
            waiting_ -= std::erase_if(caller->waiting, is_gone);
            caller = forget_idle(caller);
        }
    }

    bool has_waiting() const { return waiting_ > 0; }

  private:
    struct Caller {
        explicit Caller(std::string id) : name(std::move(id)) {}

        std::string name;
        std::size_t under_way = 0;
        std::list<Request> waiting{};
    };
    using Position = typename std::list<Caller>::iterator;

    Position find(std::string_view name) {
        return std::find_if(callers_.begin(), callers_.end(),
                            [&](const Caller& caller) { return caller.name == name; });
    }
    /// Returns the caller after this one.
    Position forget_idle(Position caller) {
        const bool is_idle = caller->under_way == 0 && caller->waiting.empty();
        return is_idle ? callers_.erase(caller) : std::next(caller);
    }

    QueueRoom room_;
    std::list<Caller> callers_{};  ///< those with requests, in the order of their turns
    std::size_t under_way_ = 0;    ///< of all callers
    std::size_t waiting_ = 0;
};

}  // namespace tollgate::management
