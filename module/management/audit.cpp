#include "module/management/audit.hpp"

namespace tollgate::management {

redis::Command add_to_audit(const redis::Keys& keys, const AuditEntry& entry) {
    namespace field = redis::audit_field;
    redis::Command command{"XADD", keys.audit(), "MAXLEN", "~", "100000", "*"};
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            command.insert(command.end(), {std::string(name), value});
        }
    };
    add(field::kActor, entry.actor);
    add(field::kAction, entry.action);
    add(field::kId, entry.id);
    add(field::kDetail, entry.detail);
    return command;
}

}  // namespace tollgate::management
