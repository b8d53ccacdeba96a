#include "module/report/hour.hpp"

#include <algorithm>
#include <string_view>

#include "module/report/status.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {

namespace {

/// The requests with this verdict, of all plans.
template <Verdict kVerdict>
std::uint64_t requests_with(const Status& status) {
    std::uint64_t sum = 0;
    for (const auto& requests : status.requests) {
        sum += requests.counts.decided[kVerdict].value();
    }
    return sum;
}

/// Requests without a valid key whose address has spent `anonymous`. They have no plan.
std::uint64_t limited_addresses(const Status& status) {
    std::uint64_t sum = 0;
    for (const auto& requests : status.requests) {
        sum += requests.plan.empty() ? requests.counts.decided[Verdict::kLimited].value() : 0;
    }
    return sum;
}

/// The tables of unknown keys and of addresses are full in normal use.
std::uint64_t evictions(const Status& status) {
    std::uint64_t sum = 0;
    for (const Store store : kStoresOfKeys) {
        sum += status.stores[static_cast<std::size_t>(store)].evictions;
    }
    return sum;
}

std::uint64_t unreachable(const Status& status) {
    std::uint64_t sum = 0;
    for (const auto& redis : status.redis) {
        sum += redis.is_configured && !is_reachable(redis, status.workers) ? 1 : 0;
    }
    return sum;
}

enum class Kind {
    kTotal,  ///< shown as its increase in each minute
    kGauge,  ///< shown as it was at the end of each minute
};

struct Series {
    std::string_view name;
    Kind kind;
    std::uint64_t (*value)(const Status&);
};

template <Verdict kVerdict>
constexpr Series kSeriesOf{statistics_name(kVerdict), Kind::kTotal, requests_with<kVerdict>};

/// A series of requests has the name of its verdict.
constexpr std::array<Series, kHourSeries> kSeries{
    kSeriesOf<Verdict::kNone>,
    kSeriesOf<Verdict::kGranted>,
    kSeriesOf<Verdict::kLimited>,
    Series{"limited_addresses", Kind::kTotal, limited_addresses},
    kSeriesOf<Verdict::kBanned>,
    kSeriesOf<Verdict::kUnauthenticated>,
    kSeriesOf<Verdict::kForbidden>,
    kSeriesOf<Verdict::kBypassed>,
    kSeriesOf<Verdict::kDegraded>,
    kSeriesOf<Verdict::kUnavailable>,
    Series{"evictions", Kind::kTotal, evictions},
    Series{"unreachable", Kind::kGauge, unreachable}};

/// The value of a minute, from the sample at its begin and the one at its end.
std::optional<std::uint32_t> minute(std::size_t series, const std::optional<HourSample>& begin,
                                    const std::optional<HourSample>& end) {
    if (!end || (kSeries[series].kind == Kind::kTotal && !begin)) {
        return std::nullopt;
    }
    return kSeries[series].kind == Kind::kTotal ? (*end)[series] - (*begin)[series]
                                                : (*end)[series];
}

}  // namespace

HourSample sample_of(const Status& status) {
    HourSample sample{};
    std::ranges::transform(kSeries, sample.begin(), [&](const Series& series) {
        return static_cast<std::uint32_t>(series.value(status));
    });
    return sample;
}

void write_hour(JsonWriter& json, const Hour& hour) {
    const auto first = std::ranges::find_if(hour.samples, &std::optional<HourSample>::has_value);
    json.object([&] {
        json.member("age", hour.age.count());
        json.object("series", [&] {
            for (std::size_t i = 0; i < kSeries.size(); ++i) {
                json.array(kSeries[i].name, [&] {
                    for (auto end = first; end != hour.samples.end(); ++end) {
                        if (end == first) {
                            continue;  // No minute ends with the first sample.
                        }
                        if (const auto value = minute(i, *std::prev(end), *end)) {
                            json.value(*value);
                        } else {
                            json.null();
                        }
                    }
                });
            }
        });
    });
}

}  // namespace tollgate
