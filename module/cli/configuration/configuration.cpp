#include "module/cli/configuration/configuration.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "module/cli/configuration/conf_reader.hpp"
#include "module/cli/failure.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemFile = "/etc/tollgate/tollgate.conf";

void set_value(const ConfDirective& directive, Configuration& configuration) {
    const std::map<std::string_view, std::optional<std::string>*> values{
        {"redis", &configuration.redis},
        {"prefix", &configuration.prefix},
        {"password_file", &configuration.password_file}};
    const auto& name = directive.words.front();
    const auto value = values.find(name);
    if (value == values.end()) {
        throw ParseError("unknown directive: use redis, prefix or password_file");
    }
    if (directive.words.size() != 2) {
        throw ParseError("invalid number of arguments in " + in_quotes(name));
    }
    if (*value->second) {
        throw ParseError(in_quotes(name) + " is duplicate");
    }
    *value->second = directive.words.back();
}

/// The folder of the user's configuration (XDG Base Directory Specification). Empty if it is
/// unknown.
fs::path user_folder() {
    // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
    const char* const folder = std::getenv("XDG_CONFIG_HOME");
    const char* const home = std::getenv("HOME");
    // NOLINTEND(concurrency-mt-unsafe)
    if (folder != nullptr && fs::path(folder).is_absolute()) {
        return folder;
    }
    return home == nullptr ? fs::path() : fs::path(home) / ".config";
}

/// Reads a file. Without it, nothing is configured.
Configuration read_file_of(const fs::path& path) {
    try {
        auto configuration = parse_configuration(read_text_file(path));
        if (configuration.password_file) {
            configuration.password_file = path.parent_path() / *configuration.password_file;
        }
        return configuration;
    } catch (const ParseError& error) {
        throw Failure(ExitStatus::kUsage, path.string() + ": " + error.what());
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::no_such_file_or_directory ||
            error.code() == std::errc::not_a_directory) {
            return {};
        }
        throw Failure(ExitStatus::kUsage,
                      "cannot read " + path.string() + ": " + error.code().message());
    }
}

}  // namespace

Configuration parse_configuration(std::string_view text) {
    using End = ConfDirective::End;
    Configuration configuration;
    ConfReader reader(text);
    try {
        for (auto directive = reader.next(); directive.end != End::kTextEnd;
             directive = reader.next()) {
            if (directive.end != End::kSemicolon) {
                throw ParseError("a block is not expected");
            }
            set_value(directive, configuration);
        }
    } catch (const ParseError& error) {
        throw ParseError("line " + std::to_string(reader.line()) + ": " + error.what());
    }
    return configuration;
}

Configuration merged(Configuration first, const Configuration& second) {
    if (!first.password_file && !first.redis) {
        first.password_file = second.password_file;
    }
    if (!first.redis) {
        first.redis = second.redis;
    }
    if (!first.prefix) {
        first.prefix = second.prefix;
    }
    return first;
}

Configuration read_configuration() {
    const auto folder = user_folder();
    auto user = folder.empty() ? Configuration{} : read_file_of(folder / "tollgate/tollgate.conf");
    return merged(std::move(user), read_file_of(kSystemFile));
}

}  // namespace tollgate::cli
