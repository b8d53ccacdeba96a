#pragma once

#include <string>
#include <string_view>

#include "module/cli/redis/redis_url.hpp"

namespace tollgate::cli {

/// Removes `?NAME=VALUE&…` from the end of the URL and sets the fields of `url`, whose `kind` and
/// `tls.on` are set. Values are percent-encoded. The parameters are `password_file`; `db` with
/// `is_unix`; `tls_ca`, `tls_cert`, `tls_key`, `tls_server_name` and `tls_verify` (`on` or `off`)
/// with TLS; `sentinel_username` and `sentinel_password_file` with Sentinels. Throws Failure with
/// ExitStatus::kUsage.
void take_parameters(std::string_view& text, bool is_unix, RedisUrl& url);

/// Replaces each %XX with the byte. Throws Failure with ExitStatus::kUsage.
std::string percent_decoded(std::string_view text);

/// Parses the number of a database. Throws Failure with ExitStatus::kUsage.
std::uint32_t parse_database(std::string_view text);

/// Throws Failure with ExitStatus::kUsage. `why` must not contain a part of the URL, which may
/// contain a password.
[[noreturn]] void refuse_url(const std::string& why);

}  // namespace tollgate::cli
