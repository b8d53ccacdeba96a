#include "module/cli/bulk/declarations.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "module/cli/bulk/import_record.hpp"
#include "module/cli/bulk/record_lines.hpp"
#include "module/management/operation_error.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

void require_usable(const Declarations::Rules& rules, const KeyRecord& record,
                    management::PlanOf owner) {
    if (!rules.is_forced) {
        management::require_usable_plan(rules.tables, record, owner);
    }
    management::refuse_sliding_month(rules.tables, record, owner);
}

}  // namespace

void Declarations::read(const std::string& file) {
    for_each_line(
        file,
        [&](std::size_t number, std::string_view text) {
            auto declared = read_declaration(text, now_);
            if (auto* const group = std::get_if<management::GroupRecord>(&declared)) {
                add(DeclaredGroup{{file, number}, std::move(*group)});
            } else {
                add(DeclaredKey{{file, number},
                                std::move(std::get<management::DeclaredId>(declared))});
            }
        },
        [&](std::size_t number, const std::string& why) {
            refuse_({file, number}, why);
        });
}

/// Throws OperationError if the record is not usable, or if the id is declared twice.
void Declarations::add(DeclaredKey declared) {
    for (auto& key : declared.id.keys.keys) {
        if (!rules_.owner.empty()) {
            management::set_owner(key.record, rules_.owner);
        }
    }
    const auto& record = declared.id.keys.keys.front().record;
    require_usable(rules_, record, management::PlanOf::kKey);
    if (!ids_.insert(record.id).second) {
        management::refuse("the id \"" + record.id + "\" is declared twice");
    }
    named_groups_.insert(record.group);
    keys_.push_back(std::move(declared));
}

/// Throws OperationError if the plan is not usable, or if the group is declared twice.
void Declarations::add(DeclaredGroup declared) {
    require_usable(rules_, management::record_of(declared.group), management::PlanOf::kGroup);
    if (!group_names_.insert(declared.group.id).second) {
        management::refuse("the group \"" + declared.group.id + "\" is declared twice");
    }
    groups_.push_back(std::move(declared));
}

}  // namespace tollgate::cli
