#include "module/http/settlement.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "module/http/clock.hpp"
#include "module/http/held_quotas.hpp"
#include "module/http/redis_client.hpp"
#include "module/quota/quota_report.hpp"

namespace tollgate::http {

namespace {

constexpr SteadyTime kEvery{250};
/// How soon a look goes on that was cut short.
constexpr SteadyTime kSoon{10};
constexpr std::size_t kMostAtOnce = 1024;

bool is_alive(std::uint32_t process) {
    return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

std::uint32_t this_process() {
    return static_cast<std::uint32_t>(ngx_pid);
}

ngx_msec_t milliseconds(SteadyTime time) {
    return static_cast<ngx_msec_t>(time.count());
}

}  // namespace

WorkerSet& serving_workers(const MainConf& conf) {
    return conf.zone_view->node.workers;
}

Settlement::Settlement(RedisClient& client)
    : client_(client), timer_(redis::Event::calling<&Settlement::run>(this, client.log())) {
    timer_.let_shutdown_pass(true);
    timer_.start(milliseconds(kEvery));
}

void Settlement::run() noexcept {
    const bool done = guarded(client_.log(), false, [&] {
        on_timer();
        return true;
    });
    if (!done) {
        timer_.start(milliseconds(kEvery));
    }
}

void Settlement::on_timer() {
    if (ngx_exiting != 0) {
        shut_down();
        return;
    }
    const bool is_complete = !claim_turn() || settle(Which::kDue);
    timer_.start(milliseconds(is_complete ? kEvery : kSoon));
}

/// Whether it is this worker that looks now.
bool Settlement::claim_turn() const {
    if (!client_.connection().is_reachable()) {
        return false;
    }
    const LockedZone zone(client_.main());
    const SteadyTime now = steady_time();
    SteadyTime& last = zone.redis(client_.conf().name_hash).settled;
    const bool goes_on = cursor_.large || cursor_.set != 0;
    if (!goes_on && last <= now && now - last < kEvery - kSoon) {
        return false;
    }
    last = now;
    return true;
}

/// True where no held quota is left to look at.
bool Settlement::settle(Which which) {
    std::vector<std::pair<QuotaCache::Held, std::string>> found;
    const auto take = [&](const QuotaCache::Held& held, const LockedZone& zone, const Moment& now) {
        const bool is_due =
            which == Which::kAll || held.has_report || needs_settling(held.state, now);
        if (held.redis == client_.conf().name_hash && is_due) {
            found.emplace_back(held, zone.keys().find_id(held.api_key, held.id));
        }
        return found.size() < kMostAtOnce;
    };
    bool is_complete = false;
    Moment now;
    while (!is_complete && found.size() < kMostAtOnce) {
        const LockedZone zone(client_.main());
        now = client_.moment(zone, exact_steady_time());
        is_complete = zone.quotas().visit_held(
            cursor_, [&](const QuotaCache::Held& held) { return take(held, zone, now); });
    }
    for (const auto& [held, id] : found) {
        settle(held, id, now);
    }
    return is_complete;
}

void Settlement::settle_ended(const KeyCache::Found& ended, std::uint64_t api_key) {
    Quotas held;
    {
        const LockedZone zone(client_.main());
        held = held_quotas(client_.main(), zone, client_.conf().name_hash, ended);
    }
    for (TableQuota& quota : held) {
        QuotaRequest request;
        request.id = ended.record.id;
        request.id_hash = ended.id;
        request.api_key = api_key;
        request.quotas = std::make_shared<const Quotas>(Quotas{std::move(quota)});
        client_.acquirer().settle(request);
    }
}

/// The record with the id gives way only where its plan has changed since (see held_quotas): then
/// the next request of the id settles it.
void Settlement::settle(const QuotaCache::Held& held, std::string_view id, const Moment& now) {
    QuotaRequest request;
    request.quotas = quotas_of(held);
    if (!request.quotas || (id.empty() && held.has_ended(now.earliest))) {
        LockedZone(client_.main()).quotas().drop(held);
    } else if (!id.empty()) {
        request.id = id;
        request.id_hash = held.id;
        request.api_key = held.api_key;
        client_.acquirer().settle(request);
    }
}

std::shared_ptr<const Quotas> Settlement::quotas_of(const QuotaCache::Held& held) {
    const auto is_alike = [&](const auto& known) {
        const TableQuota& quota = known->front();
        return quota.table_id == held.table && WindowLayout(quota) == held.shape &&
               quota.rates == held.quota(quota.table).rates;
    };
    const auto known = std::ranges::find_if(quotas_, is_alike);
    if (known != quotas_.end()) {
        return *known;
    }
    const auto& tables = client_.main().tables;
    const auto table = std::ranges::find_if(tables, [&](const auto& conf) {
        return conf->redis == &client_.conf() && name_hash(conf->table.name) == held.table;
    });
    if (table == tables.end()) {
        return nullptr;
    }
    constexpr std::size_t kMostKnown = 256;
    if (quotas_.size() == kMostKnown) {
        quotas_.clear();
    }
    TableQuota quota = held.quota((*table)->table.name);
    quota.policies.resize(quota.rates.size());
    return quotas_.emplace_back(std::make_shared<const Quotas>(Quotas{std::move(quota)}));
}

void Settlement::shut_down() {
    if (std::exchange(is_shutting_down_, true)) {
        return;
    }
    timer_.cancel();
    serving_workers(client_.main()).erase(ngx_worker, this_process());
    if (returns_leases() && client_.connection().is_reachable()) {
        cursor_ = {};
        while (!settle(Which::kAll)) {
        }
        client_.acquirer().depart();
    }
}

bool Settlement::returns_leases() const {
    return ngx_exiting != 0 && !serving_workers(client_.main()).has_other(this_process(), is_alive);
}

}  // namespace tollgate::http
