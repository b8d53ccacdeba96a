// The master of a Sentinel group: confirms the one that a Sentinel reports, and keeps the addresses
// of the one that is known.

#include <algorithm>
#include <utility>

#include "module/redis/io/numeric_address.hpp"
#include "module/redis/io/sentinel_directory.hpp"

namespace tollgate::redis {

namespace {

/// The longest time of a first resolution: see ResolutionPace::time_limit.
constexpr std::chrono::milliseconds kResolution{1000};

}  // namespace

/// Takes the master on the board. Returns whether its addresses are other ones than before.
bool SentinelDirectory::read_board() {
    const auto generation = board_.news().generation;
    if (generation != generation_) {
        auto reported = board_.address();
        if (reported && reported != reported_) {
            resolution_ = std::make_unique<ReportedAddress>(*reported, links_.master.resolver,
                                                            owner_, addresses_changed(), log_);
            reported_ = std::move(reported);
        }
        generation_ = generation;
    }
    // The last master remains until the name of the new one is resolved.
    if (resolution_ == nullptr || resolution_->list().all().empty() ||
        std::ranges::equal(resolution_->list().all(), master_.all())) {
        return false;
    }
    master_ = resolution_->list();
    return true;
}

void SentinelDirectory::confirm(const ServerAddress& master, Time now) {
    if (auto address = numeric_address(master)) {
        ask_role(AddressList({std::move(*address)}), now);
    } else if (links_.master.resolver.resolver == nullptr) {
        note_failure(to_text(master), "a \"resolver\" is needed for the host name of the master");
        search_.on_unreachable(now, random());
        is_step_new_ = true;
    } else if (keep_search(now, now + kResolution)) {
        candidate_ = std::make_unique<NameResolution>(
            master.host, master.port, links_.master.resolver, owner_, addresses_changed(), log_);
    }
}

/// Continues confirm() when the name of the master is resolved.
void SentinelDirectory::use_candidate(Time now) {
    if (candidate_ == nullptr || !candidate_->is_tried()) {
        return;
    }
    const auto found = candidate_->addresses();
    AddressList addresses(std::vector(found.begin(), found.end()));
    candidate_.reset();
    if (addresses.all().empty()) {
        on_no_reply("its name can't be resolved");
    } else {
        ask_role(std::move(addresses), now);
    }
}

void SentinelDirectory::ask_role(AddressList addresses, Time now) {
    const auto timeout = links_.master.connect_timeout;
    if (!keep_search(now, now + timeout)) {
        return;
    }
    query_ = std::make_unique<Query>(links_.master, std::move(addresses), links_.master_tls,
                                     std::vector{Words{"ROLE"}}, timeout,
                                     static_cast<QueryOwner&>(*this), log_);
}

}  // namespace tollgate::redis
