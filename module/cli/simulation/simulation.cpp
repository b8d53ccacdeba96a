#include "module/cli/simulation/simulation.hpp"
#include "module/plan/limits.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "module/plan/table_quota.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

/// The index of the location with the longest prefix of the URI; as many as there are locations if
/// there is none.
std::size_t location_of(std::span<const LocationTables> locations, std::string_view uri) {
    std::size_t best = locations.size();
    for (std::size_t i = 0; i < locations.size(); ++i) {
        const auto& prefix = locations[i].prefix;
        if (uri.starts_with(prefix) &&
            (best == locations.size() || prefix.size() > locations[best].prefix.size())) {
            best = i;
        }
    }
    return best;
}

/// The limits of a plan, without `in_flight`, which is not simulated.
std::string limits_in(const Plan& plan, const std::string& custom_limits) {
    if (plan.kind != Plan::Kind::kCustom) {
        return format_limits({.rates = plan.rates});
    }
    return custom_limits.empty() ? "custom"
                                 : format_limits({.rates = parse_limits(custom_limits).rates});
}

}  // namespace

Simulation::Simulation(std::span<const PlanTable> tables, std::vector<LocationTables> locations,
                       AssumedKeys keys, std::size_t out_of_order)
    : tables_(tables),
      locations_(std::move(locations)),
      keys_(std::move(keys)),
      out_of_order_(out_of_order),
      terms_by_plan_(locations_.size()),
      recent_(out_of_order) {}

std::uint32_t Simulation::find_id(std::string_view id) {
    const auto found = id_numbers_.find(id);
    if (found != id_numbers_.end()) {
        return found->second;
    }
    const auto number = static_cast<std::uint32_t>(ids_.size());
    id_numbers_.emplace(names_.emplace_back(id), number);
    ids_.emplace_back();
    return number;
}

std::size_t Simulation::find_plan(const std::string& plan) {
    auto& plans = result_.plans;
    const auto found = std::ranges::find(plans, plan, &PlanRequests::plan);
    if (found != plans.end()) {
        return static_cast<std::size_t>(found - plans.begin());
    }
    PlanRequests added{.plan = plan, .tables = {}};
    for (const PlanTable& table : tables_) {
        const Plan* in_table = table.find(plan);
        added.tables.push_back({table.name,
                                in_table == nullptr ? "" : limits_in(*in_table, keys_.limits),
                                in_table != nullptr && in_table->sliding});
    }
    plans.push_back(std::move(added));
    return plans.size() - 1;
}

std::uint32_t Simulation::window_number_of(const PlanTable& table, const Rate& rate) {
    const Window window{&table, rate.period, rate.is_bucket()};
    const auto index = std::ranges::find(windows_, window) - windows_.begin();
    if (static_cast<std::size_t>(index) == windows_.size()) {
        windows_.push_back(window);
        counts_.emplace_back();
    }
    return static_cast<std::uint32_t>(index);
}

Simulation::Terms Simulation::make_terms(const LocationTables& location, const std::string& plan) {
    Terms terms;
    terms.plan = find_plan(plan);
    KeyRecord key;
    key.plan = plan;
    key.limits = keys_.limits;
    std::optional<Quotas> quotas;
    try {
        quotas = choose_quotas(location.tables, key);
    } catch (const ParseError&) {
        terms.kind = Terms::Kind::kWithoutLimits;
        return terms;
    }
    if (!quotas) {
        terms.kind = Terms::Kind::kForbidden;
        return terms;
    }
    for (const TableQuota& quota : *quotas) {
        const auto table = std::ranges::find(tables_, quota.table, &PlanTable::name);
        for (const Rate& rate : quota.rates) {
            // A window without a limit refuses nothing, and what is credited to a balance is not
            // known.
            if (rate.requests == kNoLimit || rate.is_balance()) {
                continue;
            }
            terms.windows.push_back({rate, quota.sliding, nullptr});
            terms.numbers.push_back(window_number_of(*table, rate));
        }
    }
    return terms;
}

std::uint32_t Simulation::find_terms(std::size_t location, std::string_view plan) {
    auto& by_plan = terms_by_plan_[location];
    const auto found = by_plan.find(plan);
    if (found != by_plan.end()) {
        return found->second;
    }
    const auto number = static_cast<std::uint32_t>(terms_.size());
    terms_.push_back(make_terms(locations_[location], std::string(plan)));
    by_plan.emplace(plan, number);
    return number;
}

void Simulation::add(const LoggedRequest& request) {
    result_.has_id_field = result_.has_id_field || request.has_id_field;
    if (request.id.empty()) {
        ++result_.skipped.without_id;
        return;
    }
    if (request.is_forbidden) {
        ++result_.skipped.forbidden;
        return;
    }
    const std::size_t location = location_of(locations_, request.uri);
    if (location == locations_.size() || locations_[location].tables.empty()) {
        ++result_.skipped.outside;
        return;
    }
    const std::string_view plan = request.plan.empty() ? keys_.plan : request.plan;
    waiting_.push_back(
        {.began = request.began,
         .cost = request.cost,
         .request = request.request.empty() ? 0 : std::hash<std::string_view>()(request.request),
         .id = find_id(request.id),
         .terms = find_terms(location, plan),
         .is_refused = request.is_refused});
    if (waiting_.size() >= 2 * out_of_order_) {
        decide_earliest(waiting_.size() - out_of_order_);
    }
}

/// Decides so many of the waiting requests, in the order in which they began.
void Simulation::decide_earliest(std::size_t count) {
    if (!std::ranges::is_sorted(waiting_, {}, &Waiting::began)) {
        std::ranges::stable_sort(waiting_, {}, &Waiting::began);
    }
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    std::for_each(waiting_.begin(), end, [&](const Waiting& request) { decide(request); });
    waiting_.erase(waiting_.begin(), end);
}

RefusedId& Simulation::refusals_of(Id& id) {
    if (id.refusals == 0) {
        refused_.emplace_back();
        id.refusals = static_cast<std::uint32_t>(refused_.size());
    }
    return refused_[id.refusals - 1];
}

/// Counts a refusal by a window; with 403 if there is none.
void Simulation::note_refusal(RefusedId& id, const Window* window, Instant at) {
    ++(window == nullptr ? id.forbidden : id.refused);
    id.first = std::min(id.first, at);
    id.last = std::max(id.last, at);
    if (window == nullptr) {
        return;
    }
    auto found = std::ranges::find_if(id.windows, [&](const WindowRefusals& of) {
        return of.period == window->period && of.is_bucket == window->is_bucket &&
               of.table == window->table->name;
    });
    if (found == id.windows.end()) {
        found = id.windows.insert(found, {.table = window->table->name,
                                          .period = window->period,
                                          .is_bucket = window->is_bucket});
    }
    const auto start = window_start(window_number(at, window->period), window->period);
    ++found->refused;
    found->refused_in_last = found->last == start ? found->refused_in_last + 1 : 1;
    found->last = start;
    if (found->refused_in_last > found->worst_refused) {
        found->worst = start;
        found->worst_refused = found->refused_in_last;
    }
}

/// Most ids have a count in most windows: nearly all plans have a minute or a day.
WindowCount& Simulation::count_of(std::uint32_t window, std::uint32_t id) {
    auto& counts = counts_[window];
    if (counts.size() <= id) {
        counts.resize(id + 1);
    }
    return counts[id];
}

void Simulation::decide(const Waiting& request) {
    if (request.request != 0 && !recent_.add(request.request)) {
        ++result_.skipped.repeated;
        return;
    }
    result_.late += request.began < decided_until_ ? 1 : 0;
    decided_until_ = std::max(decided_until_, request.began);
    result_.first = result_.requests == 0 ? request.began : std::min(result_.first, request.began);
    const Terms& terms = terms_[request.terms];
    PlanRequests& plan = result_.plans[terms.plan];
    Id& id = ids_[request.id];
    ++result_.requests;
    ++plan.requests;
    ++id.requests;
    id.plan = static_cast<std::uint32_t>(terms.plan);
    if (request.is_refused != 0) {
        ++result_.refused_in_log;
        ++refusals_of(id).refused_in_log;
    }
    if (terms.kind == Terms::Kind::kWithoutLimits) {
        ++plan.without_limits;
        return;
    }
    if (terms.kind == Terms::Kind::kForbidden) {
        ++plan.forbidden;
        note_refusal(refusals_of(id), nullptr, request.began);
        return;
    }
    deciding_ = terms.windows;
    for (std::size_t i = 0; i < deciding_.size(); ++i) {
        deciding_[i].count = &count_of(terms.numbers[i], request.id);
    }
    if (const auto by = decide_windows(deciding_, request.cost, request.began)) {
        ++plan.refused;
        note_refusal(refusals_of(id), &windows_[terms.numbers[*by]], request.began);
    }
}

SimulationResult Simulation::finish() {
    decide_earliest(waiting_.size());
    result_.last = decided_until_;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
        const Id& id = ids_[i];
        if (id.requests == 0) {
            continue;  // All its lines were repeated ones.
        }
        PlanRequests& plan = result_.plans[id.plan];
        ++result_.ids;
        ++plan.ids;
        if (id.refusals == 0) {
            continue;
        }
        auto& refused = refused_[id.refusals - 1];
        if (refused.refused + refused.forbidden > 0) {
            ++plan.refused_ids;
            refused.id = names_[i];
            refused.plan = plan.plan;
            refused.requests = id.requests;
            std::ranges::stable_sort(refused.windows, std::ranges::greater{},
                                     &WindowRefusals::worst_refused);
            result_.refused_ids.push_back(std::move(refused));
        }
    }
    for (const PlanRequests& plan : result_.plans) {
        result_.refused += plan.refused;
        result_.forbidden += plan.forbidden;
        result_.without_limits += plan.without_limits;
    }
    std::ranges::sort(result_.plans, {}, &PlanRequests::plan);
    std::ranges::sort(result_.refused_ids, [](const RefusedId& a, const RefusedId& b) {
        const auto refused = [](const RefusedId& id) { return id.refused + id.forbidden; };
        return refused(a) != refused(b) ? refused(a) > refused(b) : a.id < b.id;
    });
    return std::move(result_);
}

}  // namespace tollgate::cli
