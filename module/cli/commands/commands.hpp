#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/cli/redis/session_database.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/usage/top.hpp"
#include "module/cli/usage/usage_export.hpp"
#include "module/key/key_record.hpp"
#include "module/management/durability.hpp"
#include "module/management/key_changes.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/operations.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The options that describe a key, as given on the command line, unchecked.
struct KeyOptions {
    /// The values of each redis::RecordField::option, by the name of its field.
    std::map<std::string_view, std::vector<std::string>> values;
    bool force = false;  ///< accept a plan that the gateways would not apply

    const std::vector<std::string>& of(const redis::RecordField& field) const {
        static const std::vector<std::string> kNone;
        const auto found = values.find(field.name);
        return found == values.end() ? kNone : found->second;
    }
    bool empty() const {
        return std::ranges::all_of(values, [](const auto& each) { return each.second.empty(); });
    }
};

/// The options of `key list`, as given on the command line, unchecked.
struct ListOptions {
    std::optional<std::string> plan;
    std::optional<std::string> name;            ///< see KeyFilter
    std::optional<std::string> state;           ///< see state_of()
    std::optional<std::string> expires_before;  ///< see parse_time
};

/// The subcommands that use Redis. Each one checks its arguments, changes or reads Redis, and
/// prints the result. All throw Failure.
class Commands {
  public:
    /// `session` must outlive the object.
    Commands(RedisSession& session, const std::string& prefix, Format format)
        : session_(session),
          keys_(prefix),
          database_(session_, keys_),
          reader_(database_, keys_),
          prefix_(prefix),
          format_(format) {}
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;
    ~Commands() = default;

    /// Makes a key, stores its digest and prints the key. Without `id`, an id is generated.
    void issue(const KeyOptions& options, const std::optional<std::string>& id);
    /// Reads a key from standard input and stores its digest. Without `id`, an id is generated.
    void import(const KeyOptions& options, const std::optional<std::string>& id);
    /// Prints the keys that match.
    void list(const ListOptions& options);
    /// Reads a key from standard input and prints the keys of its id.
    void find();
    /// Prints one key.
    void show(const std::string& id);
    /// Changes the given values of a key and prints the key.
    void set(const std::string& id, const KeyOptions& options);
    /// Enables or disables a key and prints it.
    void set_active(const std::string& id, bool active);
    /// Removes an id and its keys. Unless it is `confirmed`, asks on the terminal first.
    void revoke(const std::string& id, bool confirmed);
    /// Makes a new key for an id and prints it. The previous key expires after `overlap`, a
    /// duration such as `24h`.
    void rotate(const std::string& id, const std::string& overlap);
    /// Prints the strikes and the ban of an id.
    void show_ban(const std::string& id);
    /// Removes the strikes and the ban of an id, and prints what remains.
    void lift_ban(const std::string& id);
    /// Imports the records in files of JSON lines. `force` is KeyOptions::force.
    void import_files(const std::vector<std::string>& files, bool force);
    /// Prints all keys as JSON lines.
    void export_keys();
    /// Prints the audit, or that of an id. With `follows`, does not end.
    void audit(const std::string& id, bool follows);
    /// Prints the quota usage of an id.
    void usage(const std::string& id);
    /// Prints what an id was granted in each day.
    void history(const std::string& id);
    /// Prints the same of all ids.
    void export_usage(const ExportedDays& days);
    /// Prints the plans of the published tables, or the newest ids, that begin with `word`. For the
    /// completion of a shell.
    void list_words(const std::string& kind, const std::string& word);
    /// Prints the most active ids repeatedly.
    void top(const TopOptions& options);

  private:
    std::chrono::sys_seconds time();
    management::Caller caller();
    KeyRecord new_record(const management::KeyChanges& changes,
                         const std::optional<std::string>& id);
    void update(const std::string& action, const std::string& id,
                const management::KeyChanges& changes,
                const std::function<void(const KeyRecord&)>& check);
    void confirm_revocation(const std::string& id);
    void print_new_key(management::KeyMaking& making);
    void confirm(management::KeyMaking& making);
    void warn_unless_kept(const std::string& id, management::Durability durability);
    std::optional<std::vector<PlanTable>> tables_to_check();
    std::vector<PlanTable> read_tables();
    std::vector<PlanTable> tables_with_history();

    RedisSession& session_;
    redis::Keys keys_;
    SessionDatabase database_;
    management::KeyReader reader_;
    std::string prefix_;
    Format format_;
};

}  // namespace tollgate::cli
