// Runs the gateway's engine at many nodes, on a simulated clock, network and Redis, and prints a
// table. `t/bench/nodes` builds and runs it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "t/unit/engine/many_nodes.hpp"
#include "t/unit/failing_allocator.hpp"

namespace tollgate {

int allocations_left = -1;

}  // namespace tollgate

namespace tollgate::engine {
namespace {

/// The faults by their names on the command line.
enum class Fault { kNone, kOutage, kFailover, kSplitBrain, kCrashes, kMovingSlots };

const std::map<std::string, Fault> kFaults{
    {"none", Fault::kNone},         {"outage", Fault::kOutage},
    {"failover", Fault::kFailover}, {"split-brain", Fault::kSplitBrain},
    {"crashes", Fault::kCrashes},   {"moving-slots", Fault::kMovingSlots}};

/// What the command line asks for. The lists are combined: each combination is a line.
struct Options {
    std::vector<int> nodes{1, 10, 100, 1'000};
    std::vector<std::string> traffic{"even", "hot", "zipf"};
    std::vector<double> round_trips{5};  ///< ms
    std::vector<std::string> leases{"on"};
    std::string fault = "none";
    double outage = 1;     ///< seconds
    double lag = 0.1;      ///< seconds
    double detected = 1;   ///< seconds
    double minority = 25;  ///< percent of the nodes
    int keys = 20;
    double rate = 10'000;  ///< requests per second of all nodes
    double demand = 1.5;
    int period = 2;  ///< seconds
    int windows = 3;
    double key_cache = 60;  ///< seconds
    int masters = 0;
    unsigned seed = 1;
};

Milliseconds milliseconds(double seconds) {
    return Milliseconds(std::llround(seconds * 1000));
}

/// Faults begin in the second window.
Milliseconds fault_begins(const Options& options) {
    return std::chrono::seconds(options.period) + Milliseconds(500);
}

/// Reads the command line. Exits if it is wrong, or if it asks for help.
std::optional<int> parse(Options& options, int argc, char** argv) {
    CLI::App app(
        "Runs the gateway's engine at many nodes, on a simulated clock, network and Redis.\n"
        "Lists are separated by commas; each combination is a line of the table.",
        "t/bench/nodes");
    app.option_defaults()->always_capture_default();
    app.add_option("--nodes", options.nodes, "numbers of nodes")
        ->delimiter(',')
        ->check(CLI::Range(1, 1'000));
    app.add_option("--traffic", options.traffic, "even: all keys equally; hot: one key; zipf")
        ->delimiter(',')
        ->check(CLI::IsMember({"even", "hot", "zipf"}));
    app.add_option("--round-trip", options.round_trips, "to Redis and back, in ms")
        ->delimiter(',')
        ->check(CLI::Range(0.01, 80.0));
    app.add_option("--leases", options.leases, "whether nodes lease units")
        ->delimiter(',')
        ->check(CLI::IsMember({"on", "off"}));
    app.add_option("--keys", options.keys, "number of keys")->check(CLI::Range(1, 100'000));
    app.add_option("--rate", options.rate, "requests per second of all nodes together")
        ->check(CLI::Range(0.1, 1e6));
    app.add_option("--demand", options.demand,
                   "requests for the busiest key, as a multiple of its limit")
        ->check(CLI::Range(0.01, 1'000.0));
    app.add_option("--window", options.period, "seconds of a window of the limit")
        ->check(CLI::Range(1, 3'600));
    app.add_option("--windows", options.windows, "how many of them to simulate")
        ->check(CLI::Range(1, 100));
    app.add_option("--key-cache", options.key_cache, "seconds: key_cache")
        ->check(CLI::Range(0.1, 3'600.0));
    app.add_option("--masters", options.masters, "of a cluster; 0: no cluster")
        ->check(CLI::Range(0, 32));
    app.add_option("--fault", options.fault, "in the second window")->check(CLI::IsMember(kFaults));
    app.add_option("--outage", options.outage, "seconds of the outage")
        ->check(CLI::Range(0.1, 3'600.0));
    app.add_option("--lag", options.lag,
                   "seconds of replication that the new master of a failover or split brain lacks")
        ->check(CLI::Range(0.0, 3'600.0));
    app.add_option("--detected", options.detected,
                   "seconds until the minority of a split brain finds the new master")
        ->check(CLI::Range(0.0, 3'600.0));
    app.add_option("--minority", options.minority, "percent of the nodes of a split brain")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--seed", options.seed, "of the random numbers");
    try {
        app.parse(argc, argv);
        const auto fault = kFaults.at(options.fault);
        const bool replaces_master = fault == Fault::kFailover || fault == Fault::kSplitBrain;
        if (replaces_master && options.masters > 0) {
            throw CLI::ValidationError("--fault", options.fault + " needs --masters 0");
        }
        if (fault == Fault::kMovingSlots && options.masters < 2) {
            throw CLI::ValidationError("--fault", "moving-slots needs --masters 2 or more");
        }
        const auto all = std::chrono::seconds(options.period) * options.windows;
        const bool is_split = fault == Fault::kSplitBrain;
        const double lasts = fault == Fault::kOutage ? options.outage
                             : is_split              ? options.detected
                                                     : 0;
        if (fault != Fault::kNone && fault_begins(options) + milliseconds(lasts) >= all) {
            throw CLI::ValidationError("--fault",
                                       "begins half a second after the first window, and must end "
                                       "before the last: raise --windows");
        }
        if (replaces_master && milliseconds(options.lag) > fault_begins(options)) {
            throw CLI::ValidationError("--lag", "begins before the simulation: raise --window");
        }
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return std::nullopt;
}

/// Adds the fault to the scenario. Returns when it ends; nothing if there is none, or if it does
/// not interrupt the calls of Redis.
std::optional<Milliseconds> add_fault(Scenario& scenario, const Options& options) {
    const Milliseconds at = fault_begins(options);
    switch (kFaults.at(options.fault)) {
        case Fault::kNone:
            return std::nullopt;
        case Fault::kOutage:
            scenario.outage = {
                .from = at, .to = at + milliseconds(options.outage), .nodes = scenario.nodes};
            return scenario.outage.to;
        case Fault::kFailover:
            scenario.failover = {.at = at, .lag = milliseconds(options.lag)};
            return at;
        case Fault::kSplitBrain:
            scenario.failover = {
                .at = at,
                .lag = milliseconds(options.lag),
                .minority = static_cast<int>(std::lround(scenario.nodes * options.minority / 100)),
                .detected = milliseconds(options.detected)};
            return at + scenario.failover.detected;
        case Fault::kCrashes:
            scenario.crashes = true;
            return std::nullopt;
        case Fault::kMovingSlots:
            scenario.moves = {
                .from = at, .every = Milliseconds(20), .slots = 50, .lasting = Milliseconds(200)};
            return std::nullopt;
    }
    return std::nullopt;
}

void print_heading(const Options& options) {
    std::printf(
        "%d keys; %.0f requests per second of all nodes; the busiest key asks for %.2f of its "
        "limit, in\nwindows of %d s; %d windows; seed %u; fault: %s\n\n",
        options.keys, options.rate, options.demand, options.period, options.windows, options.seed,
        options.fault.c_str());
    std::printf("%24s %8s %8s %7s %8s %7s %6s %6s %16s %6s %6s %8s %8s %7s %6s %7s %7s\n", "round",
                "", "calls/", "calls/", "busiest", "idle", "idle", "idle at", "refused", "", "",
                "recovery", "units in", "", "early", "ids/", "waits/");
    std::printf(
        "%5s %-5s %6s %5s %8s %8s %7s %8s %7s %6s %7s %8s %7s %6s %6s %8s %8s %7s %6s %7s %7s\n",
        "nodes", "keys", "trip", "lease", "limit", "request", "second", "shard", "mean", "most",
        "refusal", "all", "early", "over", "under", "ms", "horizon", "used", "wait", "request",
        "request");
}

/// Runs one simulation and prints its line.
void run(const ManyNodes& many, const Options& options) {
    Scenario scenario = scenario_of(many);
    const auto fault_ends = add_fault(scenario, options);
    Fleet fleet(scenario, options.seed);
    const Figures figures = Measurement(fleet).run();
    std::string recovery = "-";
    if (fault_ends) {
        const auto last = fleet.ledger.last_without;
        recovery = std::to_string(
            std::chrono::ceil<Milliseconds>(std::max(last - *fault_ends, Timeline::Time(0)))
                .count());
    }
    const auto integer = [](std::int64_t number) { return static_cast<long long>(number); };
    std::printf(
        "%5d %-5s %6.1f %5s %8lld %8.4f %7.0f %7.1f%% %7.1f %6lld %6.1f%% %8lld %7lld %5.1f%% "
        "%5.1f%% %8s %8.1f %6.1f%% %6lld %7.4f %7.4f\n",
        many.nodes, std::string(name_of(many.traffic)).c_str(),
        static_cast<double>(many.round_trip.count()) / 1000, many.leases ? "on" : "off",
        integer(scenario.rates.front().requests), figures.calls_per_request,
        figures.calls_per_second, 100 * figures.busiest_shard, figures.idle,
        integer(figures.most_idle), 100 * figures.held, integer(figures.refused),
        integer(figures.refused_early), 100 * figures.over, 100 * figures.under, recovery.c_str(),
        units_in_horizon(many), 100 * figures.utilisation, integer(figures.longest_early_wait),
        figures.ids_per_request, figures.waits_per_request);
    static_cast<void>(std::fflush(stdout));
}

void run_all(const Options& options) {
    print_heading(options);
    for (const std::string& traffic : options.traffic) {
        for (const double round_trip : options.round_trips) {
            for (const std::string& leases : options.leases) {
                for (const int nodes : options.nodes) {
                    const auto* const known = std::ranges::find(
                        kTraffics, traffic, [](Traffic one) { return name_of(one); });
                    run({.nodes = nodes,
                         .keys = options.keys,
                         .per_second = options.rate,
                         .demand = options.demand,
                         .traffic = *known,
                         .round_trip = Timeline::Time(std::llround(round_trip * 1000)),
                         .leases = leases == "on",
                         .period = std::chrono::seconds(options.period),
                         .windows = options.windows,
                         .key_cache = milliseconds(options.key_cache),
                         .masters = options.masters},
                        options);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tollgate::engine

int main(int argc, char** argv) {
    try {
        tollgate::engine::Options options;
        if (const auto status = tollgate::engine::parse(options, argc, argv)) {
            return *status;
        }
        tollgate::engine::run_all(options);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "t/bench/nodes: " << error.what() << '\n';
        return 1;
    }
}
