#include "module/management/key_filter.hpp"

#include <fnmatch.h>

#include <string_view>

#include "module/key/key_record.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

bool matches_name(const std::string& name, const std::string& wanted) {
    const bool is_pattern = wanted.find_first_of("*?[") != std::string::npos;
    return is_pattern ? fnmatch(wanted.c_str(), name.c_str(), 0) == 0
                      : name.find(wanted) != std::string::npos;
}

}  // namespace

bool KeyFilter::matches(const KeysOfId& keys, std::chrono::sys_seconds now) const {
    const KeyRecord record = keys.keys.empty() ? KeyRecord{} : keys.keys.front().record;
    return (!plan || record.plan == *plan) && (!state || state_of(keys, now) == *state) &&
           (!name || matches_name(record.name, *name)) &&
           (!expires_before || (record.expires && *record.expires < *expires_before));
}

void validate(const KeyFilter& filter) {
    if (filter.plan && !is_valid_name(*filter.plan)) {
        refuse("plan: invalid name: use 1 to 64 letters, digits, _, - and .");
    }
    // A worker matches up to 1,000 names for one request.
    if (filter.name && !is_valid_key_name(*filter.name)) {
        refuse("name: use at most 256 bytes without control characters");
    }
}

}  // namespace tollgate::management
