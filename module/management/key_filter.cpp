#include "module/management/key_filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/operation_error.hpp"
#include "module/text/case_folding.hpp"

namespace tollgate::management {

namespace {

constexpr std::string_view kPatternCharacters = "*?[\\";

}  // namespace

NamePattern::NamePattern(std::string_view text) {
    const auto folded = fold_case(text);
    const auto literal = std::min(folded.find_first_of(kPatternCharacters), folded.size());
    prefix_ = folded.substr(0, literal);
    pattern_ = folded.substr(literal).empty() ? std::string() : folded;
}

bool NamePattern::matches(const std::string& name) const {
    return pattern_.empty() || fnmatch(pattern_.c_str(), name.c_str(), 0) == 0;
}

void validate(const KeyFilter& filter) {
    if (filter.plan && !is_valid_name(*filter.plan)) {
        refuse("plan: invalid name: " + std::string(kIdRule));
    }
    if (filter.group && !invalid_group_name(*filter.group).empty()) {
        refuse("group: " + std::string(invalid_group_name(*filter.group)));
    }
    // A worker may match all names for one request.
    if (filter.name && !is_valid_key_name(*filter.name)) {
        refuse("name: use at most 256 bytes without control characters");
    }
    if (filter.scope && !is_valid_scope(*filter.scope)) {
        refuse("scope: use one scope");
    }
    const auto equals = filter.meta ? filter.meta->find('=') : 0;
    if (filter.meta && (equals == std::string::npos ||
                        !is_valid_meta_name(std::string_view(*filter.meta).substr(0, equals)))) {
        refuse("meta: use NAME=VALUE, such as contract=4711");
    }
}

}  // namespace tollgate::management
