#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Where Redis is, and what its keys begin with, as a configuration file or the command line says.
struct Configuration {
    std::optional<std::string> redis{};          ///< URL, see parse_redis_url()
    std::optional<std::string> prefix{};         ///< of the names of all keys in Redis
    std::optional<std::string> password_file{};  ///< its first line is the password of Redis
};

/// Reads the directives `redis`, `prefix` and `password_file` in nginx's syntax. Throws ParseError
/// with the line. The message contains no value, because the URL may have a password.
Configuration parse_configuration(std::string_view text);

/// What `first` says, and otherwise `second`. A password file of `second` is that of its `redis`:
/// it is not sent to another server that `first` names.
Configuration merged(Configuration first, const Configuration& second);

/// Reads tollgate/tollgate.conf in $XDG_CONFIG_HOME (~/.config), and otherwise what it does not say
/// in /etc/tollgate/tollgate.conf. Both may be missing. A password file is relative to the folder
/// of its configuration file. Throws Failure.
Configuration read_configuration();

}  // namespace tollgate::cli
