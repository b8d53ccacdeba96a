// The reply to an acquire of three ids, in RESP.

#include <array>
#include <memory>

#include "module/redis/protocol/acquire_codec.hpp"
#include "module/redis/protocol/reply.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using namespace std::chrono_literals;

std::array<Acquire, 3> acquires() {
    TableQuota api{.table = "api", .rates = {{60, 60s}, {1000, 24h}}};
    TableQuota search{.table = "search", .rates = {{5, 1s}}, .sliding = true};
    Acquire plain;
    plain.id = "k1";
    plain.quotas = std::make_shared<const Quotas>(Quotas{std::move(api), std::move(search)});
    plain.count = 7;
    Acquire with_lease = plain;
    with_lease.lease = 5;
    Acquire with_bans = plain;
    with_bans.demand.ban = BanPolicy{20, 1min, 10min, 24h};
    return {plain, with_lease, with_bans};
}

}  // namespace

void check(std::string_view input) {
    static const auto asked = acquires();
    redis::ReplyReader reader;
    reader.feed(input);
    while (const redis::ReplyPtr reply = reader.next()) {
        const auto results = redis::read_acquired(redis::elements_of(*reply), asked);
        if (!results || results->late) {
            continue;
        }
        require(results->of_ids.size() == asked.size());
        for (const auto& result : results->of_ids) {
            if (const auto* const acquired = std::get_if<Acquired>(&result)) {
                require(acquired->windows.size() == 3);
                require(acquired->granted >= 0 && acquired->granted <= 7);
                require(acquired->limited >= 0 && acquired->limited <= 7 - acquired->granted);
                require(acquired->lease >= 0);
            }
        }
    }
}

}  // namespace tollgate::fuzz
