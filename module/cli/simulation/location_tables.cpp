#include "module/cli/simulation/location_tables.hpp"

#include <algorithm>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/spelling.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

[[noreturn]] void refuse_location(std::string_view value, const std::string& reason) {
    throw Failure(ExitStatus::kUsage, "--location " + in_quotes(value) + ": " + reason);
}

const PlanTable* find_table(std::span<const PlanTable> tables, std::string_view name,
                            std::string_view value) {
    const auto found = std::ranges::find(tables, name, &PlanTable::name);
    if (found == tables.end()) {
        std::vector<std::string> names;
        std::ranges::transform(tables, std::back_inserter(names), &PlanTable::name);
        refuse_location(value, "unknown plan table " + in_quotes(name) +
                                   did_you_mean(similar_names(name, names)));
    }
    return &*found;
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

}  // namespace tollgate::cli
