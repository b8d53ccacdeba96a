#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// The plan tables that decide the requests of a location.
struct LocationTables {
    std::string prefix;                    ///< of the URI
    std::vector<const PlanTable*> tables;  ///< empty: `off`
};

/// Parses the values of `--location`: `PREFIX=TABLE[,TABLE]...` or `PREFIX=off`. Without values,
/// all tables decide every request. `tables` must outlive the result. Throws Failure.
std::vector<LocationTables> parse_locations(std::span<const std::string> values,
                                            std::span<const PlanTable> tables);

/// The index of the location with the longest prefix of the URI; as many as there are locations if
/// there is none.
std::size_t location_of(std::span<const LocationTables> locations, std::string_view uri);

}  // namespace tollgate::cli
