#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/key/key_record.hpp"

namespace tollgate::cli {

/// What an operator writes of a key, word for word.
struct KeyOptions {
    std::optional<std::string> plan;
    std::optional<std::string> name;
    std::optional<std::string> limits;   ///< rates, or `none`
    std::optional<std::string> expires;  ///< see parse_expiry, or `never`

    bool empty() const { return !plan && !name && !limits && !expires; }
};

/// Checks what was written and applies it to a record. Throws Failure.
void apply(const KeyOptions& options, std::chrono::sys_seconds now, KeyRecord& record);

/// Checks an id that an operator wrote. Throws Failure.
void require_valid_id(const std::string& id);

}  // namespace tollgate::cli
