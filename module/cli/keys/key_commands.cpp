#include <algorithm>
#include <iostream>
#include <utility>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/key_options.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"
#include "module/management/group_index.hpp"
#include "module/management/key_index.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_search.hpp"
#include "module/management/operations.hpp"
#include "module/management/plan_rules.hpp"
#include "module/management/random_key.hpp"

namespace tollgate::cli {

namespace {

using Tables = std::vector<PlanTable>;

management::KeyReader reader_of(RedisSession& session) {
    return {session, session.keys()};
}

std::chrono::sys_seconds time_of(RedisSession& session) {
    return complete(reader_of(session).now());
}

/// Refuses a record that the gateways would not apply. Throws Failure.
void check_plan(const Tables& tables, const KeyRecord& record,
                const management::KeyChanges& changes, bool force) {
    using management::Forced;
    const auto check = [&](Forced forced) {
        management::check_changed_plan(tables, record, changes, forced);
    };
    check_options([&] { check(Forced::kYes); });
    check_options([&] { check(Forced(force)); }, ": see --force");
}

/// A key of a new id.
struct NewKey {
    management::FirstKey first;
    std::optional<Tables> tables;  ///< that its plan was checked with
};

/// Reads the options of a new key. Without `--id`, an id is generated.
NewKey read_new_key(RedisSession& session, const CommandLine& line) {
    const auto now = time_of(session);
    NewKey key{.first = {.record = {}, .created = now, .values = read_key_options(line, now)},
               .tables = {}};
    auto& record = key.first.record;
    if (line.new_id) {
        check_id(*line.new_id);
    }
    check_options([&] { management::apply(key.first.values, record); });
    record.id = line.new_id ? *line.new_id : management::random_key_id();
    key.tables = tables_to_check(session);
    check_plan(key.tables.value_or(Tables()), record, key.first.values, line.force);
    return key;
}

void warn_of_new_key(RedisSession& session, const NewKey& key) {
    if (key.tables) {
        warn_about(*key.tables, key.first.record);
        warn_about_groups(session, *key.tables, {key.first.record.group});
    }
    warn_of_dangers(session);
}

/// Confirms in Redis that the key was printed, durably. If a failover has undone the key, stores it
/// again. The key already works, so a connection failure is a warning and not an error.
void confirm(RedisSession& session, management::KeyMaking& making) {
    constexpr int kAttempts = 3;
    const auto& id = making.id();
    std::string why;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        try {
            if (attempt > 0) {
                session.reconnect();
            }
            warn_unless_kept(id, complete(making.confirm()));
            return;
        } catch (const Failure& failure) {
            if (failure.status() != ExitStatus::kRedis) {
                throw;
            }
            why = failure.what();
        }
    }
    warn("the key of \"" + id + "\" works, but is not confirmed in Redis (" + why +
         "): another run of this command would replace it. Run tollgate key set to confirm it");
}

/// Makes a new key, prints it and confirms it in Redis. The key is printed after it is durable: no
/// other key replaces it then. If the key cannot be printed, it stays unfinished, and the next run
/// of the command replaces it.
void print_new_key(RedisSession& session, management::KeyMaking making, Format format) {
    std::string key;
    complete(making.make([&](const std::string& prefix) {
        key = management::random_api_key(prefix);
        return management::KeyMaking::traits_of(key);
    }));
    const auto& id = making.id();
    if (!print(render_issued(format, making.keys(), time_of(session), key))) {
        throw Failure(ExitStatus::kRedis, "cannot write to standard output: the key of \"" + id +
                                              "\" is lost: run the command again");
    }
    if (format == Format::kText) {
        std::cerr << "The key of " << id << ". It is shown only this once.\n";
    }
    confirm(session, making);
}

/// Changes all keys of an id and prints them. `check` receives each changed record before it is
/// stored.
void update(RedisSession& session, const CommandLine& line, const std::string& action,
            const management::KeyChanges& changes,
            const std::function<void(const KeyRecord&)>& check) {
    const auto durability =
        complete(management::change_keys(caller_of(session), action, line.id, changes, check));
    show_key(session, line);
    warn_unless_kept(line.id, durability);
}

void set_state(RedisSession& session, const CommandLine& line, const std::string& action,
               std::string_view state) {
    update(session, line, action, {.values = {{redis::record_field::kState, std::string(state)}}},
           [](const KeyRecord&) {});
}

/// Asks on the terminal. Throws Failure if the answer is not yes, or if there is no terminal.
void confirm_revocation(RedisSession& session, const std::string& id) {
    if (!can_ask()) {
        throw Failure(ExitStatus::kUsage,
                      "without a terminal, key revoke needs --yes: it removes the id and its keys "
                      "permanently");
    }
    complete(management::is_not_yet_revoked(session, session.keys(), id));
    if (!ask("Remove \"" + id + "\" and its keys permanently?")) {
        throw Failure(ExitStatus::kUsage, "nothing is revoked");
    }
}

}  // namespace

void issue_key(RedisSession& session, const CommandLine& line) {
    const auto key = read_new_key(session, line);
    print_new_key(session, {caller_of(session), key.first}, line.format());
    warn_of_new_key(session, key);
}

void import_key(RedisSession& session, const CommandLine& line) {
    auto key = read_new_key(session, line);
    auto traits = management::KeyMaking::traits_of(read_api_key());
    auto& id = key.first.record.id;
    if (!line.new_id) {
        // Continue an interrupted import with the id that it generated.
        auto reader = reader_of(session);
        id = complete(management::unfinished_id(reader, traits.digest)).value_or(id);
    }
    key.first.is_imported = true;
    if (line.force) {
        key.first.revoked = management::KeyTransactions::Revoked::kRevived;
    }
    management::KeyMaking making(caller_of(session), key.first);
    complete(making.make([&](const std::string& /*prefix*/) { return traits; }));
    const auto made = making.keys();
    confirm(session, making);
    require_print(render_key(line.format(), made, key.first.created));
    warn_of_new_key(session, key);
}

void list_keys(RedisSession& session, const CommandLine& line) {
    constexpr std::size_t kIdsPerPage = 500;
    const auto now = time_of(session);
    const auto& list = line.list;
    management::KeyQuery query{.filter = {.plan = list.plan,
                                          .state = list.state,
                                          .name = list.name,
                                          .expires_before = {},
                                          .scope = list.scope,
                                          .meta = list.meta,
                                          .group = list.group},
                               .limit = kIdsPerPage,
                               .now = now};
    if (list.expires_before) {
        query.filter.expires_before = parse_time(*list.expires_before, now);
    }
    check_options([&] { management::validate(query.filter); });
    KeyListText text(line.format(), now, output_width());
    auto reader = reader_of(session);
    do {
        auto found = complete(management::find_keys(session, session.keys(), query));
        query.after = std::move(found.next);
        require_print(text.next(complete(reader.with_last_uses(std::move(found.ids)))));
    } while (query.after);
    require_print(text.end());
}

void find_key(RedisSession& session, const CommandLine& line) {
    auto digest = hex(sha256(read_api_key()));
    auto reader = reader_of(session);
    const auto keys = complete(reader.find(complete(reader.id_with(digest))));
    require_print(
        render_key(line.format(), complete(reader.with_last_uses(keys)), time_of(session), digest));
}

void show_key(RedisSession& session, const CommandLine& line) {
    auto reader = reader_of(session);
    const auto keys = complete(reader.find(line.id));
    require_print(
        render_key(line.format(), complete(reader.with_last_uses(keys)), time_of(session)));
}

void set_key(RedisSession& session, const CommandLine& line) {
    if (std::ranges::all_of(line.key, [](const auto& each) { return each.second.empty(); })) {
        std::string names;
        for (const auto& field : redis::record_fields()) {
            names.append(names.empty() || field.option.empty() ? "" : ", ").append(field.option);
        }
        throw Failure(ExitStatus::kUsage, "nothing to set: give at least one of " + names);
    }
    const auto changes = read_key_options(line, time_of(session));
    const auto tables = tables_to_check(session);
    KeyRecord changed;
    update(session, line, "set", changes, [&](const KeyRecord& record) {
        check_plan(tables.value_or(Tables()), record, changes, line.force);
        changed = record;
    });
    if (tables) {
        warn_about(*tables, changed);
        warn_about_groups(session, *tables, {changed.group});
    }
}

void disable_key(RedisSession& session, const CommandLine& line) {
    set_state(session, line, "disable", redis::key_state::kDisabled);
}

void enable_key(RedisSession& session, const CommandLine& line) {
    set_state(session, line, "enable", redis::key_state::kActive);
}

void revoke_key(RedisSession& session, const CommandLine& line) {
    if (!line.confirmed) {
        confirm_revocation(session, line.id);
    }
    warn_unless_kept(line.id, complete(management::revoke_keys(caller_of(session), line.id)));
    require_print(line.json ? json_document({{"id", line.id}, {"state", "revoked"}})
                            : "revoked " + line.id + "\n");
}

void rotate_key(RedisSession& session, const CommandLine& line) {
    const auto overlap = parse_duration_seconds(line.overlap);
    print_new_key(session,
                  {caller_of(session), management::Successor{.id = line.id, .overlap = overlap}},
                  line.format());
}

void reindex_keys(RedisSession& session, const CommandLine& line) {
    management::KeyIndex index(session, session.keys());
    const auto repairs = complete(index.rebuild());
    const auto corrected = complete(management::correct_group_index(session, session.keys()));
    require_print(line.json
                      ? json_document({{"added", repairs.added},
                                       {"removed", repairs.removed},
                                       {"corrected", corrected}})
                      : "the index of keys: " + std::to_string(repairs.added) + " added, " +
                            std::to_string(repairs.removed) + " removed\n" +
                            "the groups of ids: " + std::to_string(corrected) + " corrected\n");
}

namespace {

/// What Redis has of the kind that is to be completed. A shell waits for it, so there is a limit.
std::vector<std::string> listed_words(RedisSession& session, const CommandLine& line) {
    constexpr const char* kMost = "10000";
    if (line.listed == "plans") {
        return management::plan_names(read_tables(session));
    }
    if (line.listed == "groups") {
        return session
            .run(
                {"ZRANGEBYLEX", session.keys().groups(), "[" + line.word, "+", "LIMIT", "0", kMost})
            .texts();
    }
    return session.run({"ZRANGE", session.keys().ids(), "-" + std::string(kMost), "-1"}).texts();
}

}  // namespace

void list_words(RedisSession& session, const CommandLine& line) {
    const auto names = listed_words(session, line);
    std::string lines;
    for (const auto& name : names) {
        // A shell may interpret other characters.
        if (name.starts_with(line.word) && is_valid_key_id(name)) {
            lines += name + "\n";
        }
    }
    require_print(lines);
}

}  // namespace tollgate::cli
