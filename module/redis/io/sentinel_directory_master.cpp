// The master of a Sentinel group: confirms the one that a Sentinel reports, and keeps the addresses
// of the one that is known.

#include <algorithm>
#include <utility>

#include "module/redis/io/sentinel_directory.hpp"

namespace tollgate::redis {

namespace {

/// The longest time of a first resolution: see ResolutionPace::time_limit.
constexpr std::chrono::milliseconds kResolution{1000};

}  // namespace

/// Takes the master that the workers know. Returns whether its addresses are other ones than
/// before.
bool SentinelDirectory::read_shared() {
    const auto generation = shared([](SharedMaster& known) { return known.generation(); });
    if (generation != generation_) {
        auto reported = shared([&](SharedMaster& known) { return known.address(group_.hash); });
        if (reported && reported != reported_) {
            resolution_ = std::make_unique<ResolvedServers>(
                std::vector{Server{*reported, numeric_address(*reported)}},
                to_master_.conf.resolver, owner_, addresses_changed(), log_);
            reported_ = std::move(reported);
        }
        generation_ = generation;
    }
    // The last master remains until the name of the new one is resolved.
    if (resolution_ == nullptr || resolution_->list().empty() ||
        resolution_->list() == addresses_) {
        return false;
    }
    addresses_ = resolution_->list();
    return true;
}

void SentinelDirectory::confirm(const ServerAddress& master, Time now) {
    if (auto address = numeric_address(master); !address.empty()) {
        ask_role(std::move(address), now);
    } else if (to_master_.conf.resolver.resolver == nullptr) {
        note_failure(to_text(master), "a \"resolver\" is needed for the host name of the master");
        search_.on_unreachable(now, random());
        is_step_new_ = true;
    } else if (keep_search(now, now + kResolution)) {
        candidate_ = std::make_unique<NameResolution>(
            master.host, master.port, to_master_.conf.resolver, owner_, addresses_changed(), log_);
    }
}

/// Continues confirm() when the name of the master is resolved.
void SentinelDirectory::use_candidate(Time now) {
    if (candidate_ == nullptr || !candidate_->is_tried()) {
        return;
    }
    SocketAddresses addresses = candidate_->addresses();
    candidate_.reset();
    if (addresses.empty()) {
        on_no_reply("its name can't be resolved");
    } else {
        ask_role(std::move(addresses), now);
    }
}

void SentinelDirectory::ask_role(SocketAddresses addresses, Time now) {
    const auto timeout = to_master_.conf.connect_timeout;
    if (!keep_search(now, now + timeout)) {
        return;
    }
    query_ = std::make_unique<Query>(to_master_, std::move(addresses), std::vector{Words{"ROLE"}},
                                     timeout, static_cast<QueryOwner&>(*this));
}

}  // namespace tollgate::redis
