#include "module/cli/simulation/simulate.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "module/cli/failure.hpp"
#include "module/cli/simulation/plan_file.hpp"
#include "module/cli/terminal/spelling.hpp"
#include "module/plan/limits.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

[[noreturn]] void refuse_option(const std::string& reason) {
    throw Failure(ExitStatus::kUsage, reason);
}

void check_keys(const AssumedKeys& keys, std::span<const PlanTable> tables) {
    const auto has_plan = [&](const PlanTable& table) { return table.find(keys.plan) != nullptr; };
    if (!keys.plan.empty() && std::ranges::none_of(tables, has_plan)) {
        std::vector<std::string> names;
        for (const PlanTable& table : tables) {
            std::ranges::transform(table.plans, std::back_inserter(names), &Plan::name);
        }
        refuse_option("--plan: no table has the plan " + in_quotes(keys.plan) +
                      did_you_mean(keys.plan, names));
    }
    try {
        if (!keys.limits.empty()) {
            parse_limits(keys.limits);
        }
    } catch (const ParseError& error) {
        refuse_option("--limits: " + std::string(error.what()));
    }
}

/// Refuses options with which nothing of the log can be decided.
void check_result(const SimulationResult& result, const SimulateOptions& options) {
    const LinesRead& read = result.read;
    if (read.lines > 0 && read.unreadable == read.lines) {
        const auto& first = read.first_unreadable.front();
        refuse_option("no line can be read: " + first.log + " line " + std::to_string(first.line) +
                      ": " + first.reason);
    }
    if (read.lines > 0 && !result.has_id_field) {
        refuse_option(options.fields.id.empty()
                          ? "no line has an id: set --id-field, for example to remote_user"
                          : "no line has the field " + in_quotes(options.fields.id));
    }
    if (result.requests > 0 && result.plans.size() == 1 && result.plans.front().plan.empty() &&
        result.forbidden == result.requests) {
        refuse_option("no line has a plan: set --plan or --plan-field");
    }
}

[[noreturn]] void refuse_location(std::string_view value, const std::string& reason) {
    refuse_option("--location " + in_quotes(value) + ": " + reason);
}

const PlanTable* find_table(std::span<const PlanTable> tables, std::string_view name,
                            std::string_view value) {
    const auto found = std::ranges::find(tables, name, &PlanTable::name);
    if (found == tables.end()) {
        std::vector<std::string> names;
        std::ranges::transform(tables, std::back_inserter(names), &PlanTable::name);
        refuse_location(value, "unknown plan table " + in_quotes(name) + did_you_mean(name, names));
    }
    return &*found;
}

/// A log has no groups and no values of a variable.
void refuse_values(const PlanTable& table) {
    if (table.counts_values() || table.by_group) {
        const auto by = table.by_group ? "group" : "$" + table.variable;
        refuse_option("plan table " + in_quotes(table.name) + " counts by=" + by +
                      ", which is not simulated: leave it out with --location");
    }
}

LocationTables parse_location(std::string_view value, std::span<const PlanTable> tables) {
    // A prefix may contain an equals sign, the name of a table may not.
    const auto equals = value.rfind('=');
    if (equals == std::string_view::npos || !value.starts_with('/')) {
        refuse_location(value, "use PREFIX=TABLE, PREFIX=TABLE,TABLE or PREFIX=off");
    }
    LocationTables location{std::string(value.substr(0, equals)), {}};
    std::string_view names = value.substr(equals + 1);
    if (names == "off") {
        return location;
    }
    while (true) {
        const auto comma = names.find(',');
        const auto* table = find_table(tables, names.substr(0, comma), value);
        if (std::ranges::find(location.tables, table) != location.tables.end()) {
            refuse_location(value, "duplicate plan table " + in_quotes(table->name));
        }
        refuse_values(*table);
        location.tables.push_back(table);
        if (comma == std::string_view::npos) {
            return location;
        }
        names.remove_prefix(comma + 1);
    }
}

}  // namespace

std::vector<LocationTables> parse_locations(std::span<const std::string> values,
                                            std::span<const PlanTable> tables) {
    std::vector<LocationTables> locations;
    if (values.empty()) {
        LocationTables everywhere;
        for (const PlanTable& table : tables) {
            refuse_values(table);
            everywhere.tables.push_back(&table);
        }
        locations.push_back(std::move(everywhere));
    }
    for (const auto& value : values) {
        locations.push_back(parse_location(value, tables));
        const auto& added = locations.back();
        if (std::ranges::count(locations, added.prefix, &LocationTables::prefix) > 1) {
            refuse_location(value, "duplicate prefix");
        }
    }
    return locations;
}

void simulate(const SimulateOptions& options, Format format) {
    const auto tables = read_plan_files(options.plans);
    check_keys(options.keys, tables);
    Simulation simulation(tables, parse_locations(options.locations, tables), options.keys);
    const auto read = read_logs(options.logs, options.fields,
                                [&](const LoggedRequest& request) { simulation.add(request); });
    auto result = simulation.finish();
    result.read = read;
    check_result(result, options);
    require_print(render_simulation(format, result));
}

}  // namespace tollgate::cli
