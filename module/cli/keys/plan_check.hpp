#pragma once

#include <string>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// Warnings about a record that the gateways do not apply as written: a plan that no table has, a
/// `custom` plan without limits, limits without a `custom` plan. Empty if `tables` is empty.
std::vector<std::string> plan_warnings(const std::vector<PlanTable>& tables,
                                       const KeyRecord& record);

}  // namespace tollgate::cli
