#include "module/cli/commands/key_options.hpp"

#include "module/cli/failure.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/terminal/utf8.hpp"
#include "module/key/api_key.hpp"
#include "module/quota/rate.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw Failure(ExitStatus::kUsage, why);
}

/// The rates as every other tool writes them: ascending, in their largest units, with one space
/// between them.
std::string canonical_limits(const std::string& text) {
    std::string limits;
    try {
        for (const auto& rate : parse_rates(text)) {
            limits += (limits.empty() ? "" : " ") + format_rate(rate);
        }
    } catch (const ParseError& error) {
        refuse("--limits: " + std::string(error.what()) +
               ": valid are one to four rates such as \"60r/m 1000r/d\" or \"100r/15m\"");
    }
    return limits;
}

}  // namespace

void apply(const KeyOptions& options, std::chrono::sys_seconds now, KeyRecord& record) {
    if (options.plan) {
        if (!is_valid_name(*options.plan)) {
            refuse("--plan: 1 to 64 letters, digits, _, - and . are valid");
        }
        record.plan = *options.plan;
    }
    if (options.name) {
        if (!is_valid_key_name(*options.name) || !is_utf8_line(*options.name)) {
            refuse("--name: at most 256 bytes of UTF-8 without control characters are valid");
        }
        record.name = *options.name;
    }
    if (options.limits) {
        record.limits = *options.limits == "none" ? "" : canonical_limits(*options.limits);
    }
    if (options.expires) {
        record.expires.reset();
        if (*options.expires != "never") {
            record.expires = parse_expiry(*options.expires, now);
        }
    }
}

void require_valid_id(const std::string& id) {
    // A key that is pasted where an id belongs has to end here: ids are shown, logged and sent to
    // Redis.
    if (id.starts_with("tg_") && has_valid_checksum(id)) {
        refuse("this is a key, not an id");
    }
    if (!is_valid_key_id(id)) {
        refuse("invalid id: 1 to 64 letters, digits, _, - and . are valid");
    }
}

}  // namespace tollgate::cli
