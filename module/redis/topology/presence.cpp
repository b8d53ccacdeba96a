#include "module/redis/topology/presence.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::redis {

SentinelAgreement agree_on_master(std::span<const MasterState> answers, std::size_t sentinels,
                                  const ServerAddress& master) {
    const auto is_used = [&](const MasterState& answer) { return answer.address == master; };
    // If the addresses differ, that of the last failover is right. An address that differs at the
    // same epoch belongs to a failover that has not ended.
    const auto last = std::ranges::max_element(answers, {}, [&](const MasterState& answer) {
        return std::pair(answer.config_epoch, !is_used(answer));
    });
    if (last != answers.end() && !is_used(*last)) {
        return {.presence = Presence::kReplaced, .other = last->address};
    }
    if (answers.size() * 2 <= sentinels) {
        return {.presence = Presence::kUnknown};
    }
    const bool is_promoting = std::ranges::any_of(answers, [&](const MasterState& answer) {
        return is_used(answer) && answer.is_failing_over;
    });
    if (is_promoting) {
        return {};
    }
    return {.presence = Presence::kPresent};
}

bool is_master_of_all(const SlotMap& map, const SlotsByServer& used) {
    return std::ranges::all_of(used, [&](const auto& of_server) {
        return std::ranges::all_of(of_server.second, [&](Slot slot) {
            const auto index = map.master_of(slot);
            return index && map.masters()[*index] == of_server.first;
        });
    });
}

std::optional<Presence> agree_on_slots(std::size_t masters, std::size_t agreeing,
                                       std::size_t disagreeing, bool is_last) {
    const bool has_ended = disagreeing == 0 || is_last;
    if (disagreeing * 2 > masters || (has_ended && agreeing * 2 <= masters)) {
        return disagreeing > 0 ? Presence::kReplaced : Presence::kUnknown;
    }
    return has_ended ? std::optional(Presence::kPresent) : std::nullopt;
}

}  // namespace tollgate::redis
