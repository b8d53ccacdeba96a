#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "module/management/operations.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

// Balances: units that are credited to an id or a group, and spent by its requests. The hash of the
// quota has what is left, beside the windows of the same plan; see redis::window_part::kLeft.

/// Units to add to a balance.
struct Credit {
    UsageOwner owner;
    std::string table{};     ///< the plan table that has the balance; empty: the only one
    std::int64_t units = 0;  ///< 1 to kMostBalance
    std::string reference;   ///< see require_valid_reference(): each one is credited once
    /// Whether the id may be one without a key: a subject that was never counted is not known.
    bool may_be_subject = false;
};

/// A balance after a credit.
struct Credited {
    std::string table;
    std::string unit;
    std::int64_t credited = 0;  ///< the sum of all credits
    std::int64_t left = 0;      ///< below 0 if requests have used more than they took
    bool is_repeated = false;   ///< the reference was credited before, with the same units
    Durability durability{};
};

/// Throws OperationError with Reason::kInvalid unless the text is a reference, such as the number
/// of an order: 1 to 128 printable ASCII characters without spaces.
void require_valid_reference(const std::string& reference);

/// Adds a credit to a balance, once for each reference of the balance. The audit has it, and the
/// nodes are told. A repetition with the same units changes nothing. `tables` are those that may
/// have the balance, and must outlive the task. Throws OperationError: Reason::kReferenceReused if
/// the reference was credited with other units, Reason::kUnknownId, Reason::kUnknownGroup, and
/// Reason::kInvalid if no table has a balance of such an owner, if several have one and none is
/// named, or if the balance would exceed kMostBalance.
Task<Credited> credit_balance(Caller caller, Credit credit, CountingTables tables);

/// What is left of a balance.
struct LeftBalance {
    std::string owner;  ///< an id or a group
    std::string table;
    std::int64_t left = 0;
};

/// The balances of these ids, or of these groups, of which units are left. The tables must outlive
/// the task. Throws OperationError.
Task<std::vector<LeftBalance>> read_balances(Database& database, const redis::Keys& keys,
                                             std::vector<std::string> owners, UsageOf of,
                                             CountingTables tables);

/// Writes the members of the JSON object of a balance after a credit.
void write_credited(JsonWriter& json, const Credited& credited);

}  // namespace tollgate::management
