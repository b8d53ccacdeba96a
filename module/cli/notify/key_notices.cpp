#include "module/cli/notify/key_notices.hpp"

#include <array>
#include <string>

#include "module/cli/commands/operation_failure.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

namespace {

namespace field = redis::notice_field;

std::string expiry_of(const management::StoredKey& key) {
    return std::to_string(key.record.expires->time_since_epoch().count());
}

}  // namespace

std::optional<int> days_left(const management::StoredKey& key, std::chrono::sys_seconds now) {
    constexpr std::array kDays{1, 7, 30};
    if (!key.is_current() || !key.record.active || !key.record.expires ||
        *key.record.expires <= now) {
        return std::nullopt;
    }
    for (const int days : kDays) {
        if (*key.record.expires - now <= std::chrono::days(days)) {
            const bool was_longer =
                *key.record.expires - key.issue_time() > std::chrono::days(days);
            return was_longer ? std::optional(days) : std::nullopt;
        }
    }
    return std::nullopt;
}

bool KeyNotices::examine_some() {
    constexpr std::size_t kIds = 500;
    const auto now = complete(reader_.now());
    const auto page = complete(reader_.page(place_, kIds));
    for (const auto& id : page.ids) {
        for (const auto& key : id.keys) {
            const auto days = days_left(key, now);
            if (!days) {
                continue;
            }
            const auto noticed = session_.keys().noticed(key.digest);
            const auto level = expiry_of(key) + ":" + std::to_string(*days);
            if (session_.run({"GET", noticed}).text == level) {
                continue;
            }
            // If the command is killed between the two, the notice has another entry with the same
            // webhook id.
            queue_.append({std::string(field::kId), id.id, std::string(field::kDigest), key.digest,
                           std::string(field::kExpires), expiry_of(key), std::string(field::kLevel),
                           std::to_string(*days)});
            session_.run(
                {"SET", noticed, level, "EX", std::to_string((*key.record.expires - now).count())});
        }
    }
    place_ = page.next();
    return place_.has_value();
}

}  // namespace tollgate::cli
