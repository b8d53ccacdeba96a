#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "module/cli/bulk/declarations.hpp"
#include "module/cli/bulk/record_import.hpp"
#include "module/cli/bulk/record_lines.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/management/balance_rules.hpp"
#include "module/management/declared_key.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_search.hpp"
#include "module/management/operations.hpp"
#include "module/management/plan_rules.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

namespace {

using management::Difference;
using management::KeysOfId;

constexpr std::size_t kIdsAtOnce = 500;

/// What was found or done.
struct Counts {
    std::size_t added = 0;
    std::size_t changed = 0;
    std::size_t rotated = 0;
    std::size_t revoked = 0;
    std::size_t unchanged = 0;
    std::size_t refused = 0;

    std::size_t differences() const { return added + changed + rotated + revoked; }
};

/// A difference, as the operation that removes it.
struct Line {
    std::string operation;
    std::string name;      ///< of the id or the group
    std::string values{};  ///< as in the audit
    std::string before{};
};

/// `set acme plan=pro (was plan=free)`.
std::string text_of(const Line& line) {
    std::string text = line.operation + " " + line.name;
    text.append(line.values.empty() ? "" : " ").append(line.values);
    return line.before.empty() ? text : text + " (was " + line.before + ")";
}

/// Makes what is stored equal to what files declare, or prints the differences only. Each operation
/// is one that the command has: it is audited, and is complete after a repetition.
class DeclaredUpdate {
  public:
    DeclaredUpdate(RedisSession& session, const CommandLine& line)
        : session_(session),
          options_(line.declared),
          format_(line.format()),
          is_forced_(line.force),
          tables_(tables_to_check(session).value_or(std::vector<PlanTable>())),
          overlap_(parse_duration_seconds(line.overlap)),
          now_(complete(management::KeyReader(session, session.keys()).now())),
          declared_({.tables = tables_, .owner = options_.owner, .is_forced = is_forced_}, now_,
                    [this](const Place& place, const std::string& why) { refuse(place, why); }) {}

    void read(const std::string& file) { declared_.read(file); }

    void run() {
        update_groups();
        const std::span keys(declared_.keys());
        for (std::size_t begin = 0; begin < keys.size(); begin += kIdsAtOnce) {
            compare(keys.subspan(begin, std::min(kIdsAtOnce, keys.size() - begin)));
        }
        store_new();
    }

    /// Revokes the ids of the owner that no file declares. Throws Failure if nothing may be
    /// revoked.
    void prune() {
        for (const auto& id : undeclared()) {
            note({"revoke", id});
            execute({.file = id}, &Counts::revoked,
                    [&] { return management::revoke_keys(caller_of(session_), id); });
        }
    }

    const Counts& counts() const { return counts_; }
    /// The differences; in the text format, none: they are printed when they are found.
    const std::vector<Line>& lines() const { return lines_; }
    management::Durability durability() const { return durability_; }
    /// The groups that ids name; an empty name for those without one.
    std::vector<std::string> groups() const {
        const auto& named = declared_.named_groups();
        return {named.begin(), named.end()};
    }
    const std::vector<PlanTable>& tables() const { return tables_; }

  private:
    void refuse(const Place& place, const std::string& why) {
        ++counts_.refused;
        print_refusal(place.file, place.line, why);
    }

    void note(Line line) {
        if (format_ == Format::kText) {
            require_print(printable(text_of(line)) + "\n");
        } else {
            lines_.push_back(std::move(line));
        }
    }

    /// Executes an operation on one id, or counts it only.
    template <typename Operation>
    void execute(const Place& place, std::size_t Counts::*count, Operation operation) {
        if (!options_.is_dry_run) {
            try {
                const auto durability = management::run_to_end(operation());
                durability_ = std::max(durability_, durability);
            } catch (const management::OperationError& error) {
                require_available(error);
                refuse(place, error.what());
                return;
            }
        }
        ++(counts_.*count);
    }

    void update_groups() {
        std::vector<std::string> names;
        const auto& groups = declared_.groups();
        std::ranges::transform(groups, std::back_inserter(names),
                               [](const DeclaredGroup& declared) { return declared.group.id; });
        const auto stored =
            complete(management::records_of_groups(session_, session_.keys(), std::move(names)));
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const Place& place = groups[i].place;
            const management::GroupRecord& group = groups[i].group;
            const auto record = stored[i].value_or(
                management::GroupRecord{.id = group.id, .plan = {}, .limits = {}});
            const auto difference = management::difference_of(group, record);
            if (!difference) {
                ++counts_.unchanged;
                continue;
            }
            note({"group set", group.id, audit_text(difference->changes),
                  stored[i] ? difference->replaced : ""});
            execute(place, stored[i] ? &Counts::changed : &Counts::added, [&] {
                return management::change_group(caller_of(session_), group.id, difference->changes,
                                                [](const KeyRecord&) {});
            });
        }
    }

    void compare(std::span<DeclaredKey> declared) {
        std::vector<std::string> ids;
        std::ranges::transform(declared, std::back_inserter(ids),
                               [](const DeclaredKey& key) { return key.id.keys.id; });
        management::KeyReader reader(session_, session_.keys());
        const auto stored = complete(reader.keys_of(std::move(ids)));
        for (std::size_t i = 0; i < declared.size(); ++i) {
            if (stored[i].keys.empty()) {
                const auto& record = declared[i].id.keys.keys.front().record;
                note({"issue", record.id, "plan=" + record.plan});
                new_.push_back(std::move(declared[i]));
                continue;
            }
            try {
                change(declared[i], stored[i]);
            } catch (const management::OperationError& error) {
                require_available(error);
                refuse(declared[i].place, error.what());
            }
        }
    }

    void change(const DeclaredKey& declared, const KeysOfId& stored) {
        const auto difference = management::difference_of(declared.id, stored);
        const auto& id = declared.id.keys.id;
        if (!difference) {
            ++counts_.unchanged;
            return;
        }
        if (const auto group = difference->changes.values.find(redis::record_field::kGroup);
            group != difference->changes.values.end()) {
            // Also in a dry run: a person must learn it before the change is made.
            management::run_to_end(
                management::require_balance_stays(session_, session_.keys(), id, group->second));
        }
        if (!difference->changes.empty()) {
            note({"set", id, audit_text(difference->changes), difference->replaced});
            execute(declared.place, &Counts::changed, [&] {
                return management::change_keys(caller_of(session_), "set", id, difference->changes,
                                               [](const KeyRecord&) {});
            });
        }
        if (!difference->digest.empty()) {
            note({"rotate", id, "digest=" + difference->digest});
            const auto& key = declared.id.keys.keys.front();
            execute(declared.place, &Counts::rotated, [&] { return rotate(id, key); });
        }
    }

    management::Task<management::Durability> rotate(const std::string& id,
                                                    const management::StoredKey& key) {
        management::KeyMaking making(
            caller_of(session_),
            management::Successor{.id = id, .overlap = overlap_, .is_given = true});
        co_await making.make([&](const std::string& /*prefix*/) {
            return management::KeyMaking::KeyTraits{.digest = key.digest, .hint = key.hint};
        });
        co_return co_await making.confirm();
    }

    void store_new() {
        std::map<std::string, std::vector<DeclaredKey>> by_file;
        for (auto& declared : new_) {
            by_file[declared.place.file].push_back(std::move(declared));
        }
        for (auto& [file, declared] : by_file) {
            if (options_.is_dry_run) {
                counts_.added += declared.size();
                continue;
            }
            RecordImport import(
                session_, session_.keys(), file,
                is_forced_ ? RecordImport::Revoked::kRevived : RecordImport::Revoked::kRefused);
            for (auto& key : declared) {
                import.add({.line = key.place.line, .keys = std::move(key.id.keys)});
            }
            import.finish();
            const auto counts = import.counts();
            counts_.added += counts.imported;
            counts_.unchanged += counts.unchanged;
            counts_.refused += counts.refused;
            durability_ = std::max(durability_, import.durability());
        }
    }

    /// The ids of the owner that no file declares. Throws Failure if nothing may be revoked because
    /// of them.
    std::vector<std::string> undeclared() {
        if (counts_.refused > 0) {
            throw Failure(ExitStatus::kConflict,
                          "nothing is revoked, because lines are refused: see the lines above");
        }
        if (declared_.keys().empty() && !is_forced_) {
            throw Failure(ExitStatus::kUsage,
                          "nothing is revoked, because the files declare no "
                          "id: see --force");
        }
        const auto member = std::string(management::kOwnerMember) + "=" + options_.owner;
        std::vector<std::string> ids;
        std::optional<std::string> after;
        do {
            management::KeyQuery query{.filter = {.meta = member},
                                       .after = std::move(after),
                                       .limit = kIdsAtOnce,
                                       .now = now_};
            auto page =
                complete(management::find_keys(session_, session_.keys(), std::move(query)));
            for (auto& keys : page.ids) {
                if (!declared_.has(keys.id)) {
                    ids.push_back(std::move(keys.id));
                }
            }
            after = std::move(page.next);
        } while (after);
        return ids;
    }

    RedisSession& session_;
    const DeclaredOptions& options_;
    Format format_;
    bool is_forced_;
    std::vector<PlanTable> tables_;
    std::chrono::seconds overlap_;
    std::chrono::sys_seconds now_;
    Declarations declared_;
    std::vector<DeclaredKey> new_;  ///< ids that do not exist
    Counts counts_;
    std::vector<Line> lines_;
    management::Durability durability_ = management::Durability::kConfirmed;
};

void print_result(const DeclaredUpdate& update, const CommandLine& line) {
    const Counts& counts = update.counts();
    if (line.format() == Format::kText) {
        const std::string begin = line.declared.is_dry_run ? "dry run: " : "";
        require_print(
            begin + std::to_string(counts.added) + " added, " + std::to_string(counts.changed) +
            " changed, " + std::to_string(counts.rotated) + " rotated, " +
            std::to_string(counts.revoked) + " revoked, " + std::to_string(counts.unchanged) +
            " unchanged, " + std::to_string(counts.refused) + " refused\n");
        return;
    }
    Json differences = Json::array();
    for (const auto& difference : update.lines()) {
        differences.push_back({{"operation", difference.operation},
                               {"id", difference.name},
                               {"values", difference.values},
                               {"before", difference.before}});
    }
    require_print(json_document({{"differences", std::move(differences)},
                                 {"added", counts.added},
                                 {"changed", counts.changed},
                                 {"rotated", counts.rotated},
                                 {"revoked", counts.revoked},
                                 {"unchanged", counts.unchanged},
                                 {"refused", counts.refused}}));
}

}  // namespace

void update_declared(RedisSession& session, const CommandLine& line) {
    if (line.declared.is_prune && line.declared.owner.empty()) {
        throw Failure(ExitStatus::kUsage, "--prune needs --owner");
    }
    require_readable(line.files);
    DeclaredUpdate update(session, line);
    for (const auto& file : line.files) {
        update.read(file);
    }
    if (!line.declared.is_dry_run) {
        warn_of_dangers(session);
    }
    update.run();
    std::optional<Failure> failure;
    if (line.declared.is_prune) {
        try {
            update.prune();
        } catch (const Failure& why) {
            failure = why;
        }
    }
    print_result(update, line);
    warn_unless_kept("the import", update.durability());
    warn_about_groups(session, update.tables(), update.groups());
    if (failure) {
        throw Failure(*failure);
    }
    if (update.counts().refused > 0) {
        throw Failure(ExitStatus::kConflict, std::to_string(update.counts().refused) +
                                                 " lines are refused: see the lines above");
    }
    if (line.declared.is_dry_run && update.counts().differences() > 0) {
        throw Failure(ExitStatus::kFindings, "Redis differs from the files");
    }
}

}  // namespace tollgate::cli
