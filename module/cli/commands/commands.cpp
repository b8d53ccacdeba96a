#include "module/cli/commands/commands.hpp"

#include <iostream>
#include <utility>

#include "module/cli/bulk/key_files.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/keys/actor.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/key_input.hpp"
#include "module/cli/keys/meta_option.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/data_safety.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/counted_tables.hpp"
#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"
#include "module/management/ban.hpp"
#include "module/management/key_filter.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/plan_rules.hpp"
#include "module/management/random_key.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::cli {

namespace {

/// The values of a repeated option as one text, separated by spaces.
std::string joined(const std::vector<std::string>& values) {
    std::string text;
    for (const auto& value : values) {
        text += (text.empty() ? "" : " ") + value;
    }
    return text;
}

/// Runs a check whose messages begin with the name of a value, which is that of its option.
/// `advice` ends the message. Throws Failure.
template <typename Check>
auto check_options(const Check& check, const std::string& advice = {}) {
    try {
        return check();
    } catch (const management::OperationError& error) {
        std::string message = error.what();
        if (message.starts_with("scopes:")) {
            message.erase(message.find('s', 1), 1);  // an option is one of them
        }
        throw Failure(ExitStatus::kUsage, "--" + message + advice);
    }
}

/// What Redis stores of the value of an option. Throws Failure.
std::string value_of(const redis::RecordField& field, const std::vector<std::string>& given,
                     std::chrono::sys_seconds now) {
    const auto text = joined(given);
    if (!field.none.empty() && text == field.none) {
        return "";
    }
    if (field.form == redis::FieldForm::kTime) {
        return redis::unix_time(parse_expiry(text, now));
    }
    auto value = check_options([&] { return management::new_value(field, text); });
    // It would be a scope of this name.
    if (field.form == redis::FieldForm::kWords &&
        (" " + value + " ").find(" " + std::string(field.none) + " ") != std::string::npos) {
        throw Failure(ExitStatus::kUsage, std::string(field.option) + ": " +
                                              std::string(field.none) +
                                              " cannot be given with other scopes");
    }
    return value;
}

/// Reads the options that describe a key, and validates them. Throws Failure.
management::KeyChanges changes_of(const KeyOptions& options, std::chrono::sys_seconds now) {
    management::KeyChanges changes;
    for (const auto& field : redis::record_fields()) {
        const auto& given = options.of(field);
        if (given.empty()) {
            continue;
        }
        if (field.form == redis::FieldForm::kMeta) {
            changes.meta = read_meta_options(given);
        } else {
            changes.values.emplace(field.name, value_of(field, given, now));
        }
    }
    return changes;
}

/// Refuses a record that the gateways would not apply. Throws Failure.
void check_plan(const std::vector<PlanTable>& tables, const KeyRecord& record, bool force) {
    if (!force) {
        check_options([&] { management::require_usable_plan(tables, record); }, ": see --force");
    }
    check_options([&] { management::refuse_sliding_month(tables, record); });
}

/// Warns about a record that the gateways do not apply as written.
void warn_about(const std::vector<PlanTable>& tables, const KeyRecord& record) {
    for (const auto& warning : plan_warnings(tables, record)) {
        warn(warning);
    }
}

management::KeyFilter filter_of(const ListOptions& options, std::chrono::sys_seconds now) {
    management::KeyFilter filter{
        .plan = options.plan, .state = options.state, .name = options.name, .expires_before = {}};
    if (options.expires_before) {
        filter.expires_before = parse_time(*options.expires_before, now);
    }
    check_options([&] { management::validate(filter); });
    return filter;
}

/// Validates an id from the command line. Throws Failure.
void require_valid_id(const std::string& id) {
    try {
        management::require_valid_id(id);
    } catch (const management::OperationError& error) {
        throw failure_of(error);
    }
}

}  // namespace

void Commands::issue(const KeyOptions& options, const std::optional<std::string>& id) {
    const auto now = time();
    const auto changes = changes_of(options, now);
    const auto record = new_record(changes, id);
    const auto tables = tables_to_check();
    check_plan(tables.value_or(std::vector<PlanTable>()), record, options.force);
    management::KeyMaking making(
        caller(), management::FirstKey{.record = record, .created = now, .values = changes});
    print_new_key(making);
    if (tables) {
        warn_about(*tables, record);
    }
    warn_of_dangers(session_);
}

void Commands::import(const KeyOptions& options, const std::optional<std::string>& id) {
    const auto now = time();
    const auto changes = changes_of(options, now);
    auto record = new_record(changes, id);
    const auto tables = tables_to_check();
    check_plan(tables.value_or(std::vector<PlanTable>()), record, options.force);
    auto digest = hex(sha256(read_api_key()));
    if (!id) {
        // Continue an interrupted import with the id that it generated.
        record.id = complete(management::unfinished_id(reader_, digest)).value_or(record.id);
    }
    management::KeyMaking making(
        caller(), management::FirstKey{
                      .record = record, .created = now, .values = changes, .is_imported = true});
    complete(making.make([&] { return digest; }));
    const auto made = making.keys();
    confirm(making);
    require_print(render_key(format_, made, now));
    if (tables) {
        warn_about(*tables, record);
    }
    warn_of_dangers(session_);
}

void Commands::list(const ListOptions& options) {
    constexpr std::size_t kIdsPerPage = 500;
    const auto now = time();
    const auto filter = filter_of(options, now);
    KeyListText text(format_, now, output_width());
    std::optional<management::Place> last;
    do {
        auto page = complete(reader_.page(last, kIdsPerPage));
        std::erase_if(page.ids, [&](const auto& keys) { return !filter.matches(keys, now); });
        require_print(text.next(complete(reader_.with_last_uses(std::move(page.ids)))));
        last = page.next();
    } while (last);
    require_print(text.end());
}

void Commands::find() {
    auto digest = hex(sha256(read_api_key()));
    const auto found = complete(reader_.read({digest}));
    if (found.empty() || found.front().pending) {
        throw Failure(ExitStatus::kUnknownId, "no id has this key");
    }
    const auto keys = complete(reader_.find(found.front().record.id));
    require_print(render_found(format_, complete(reader_.with_last_uses(keys)), time(), digest));
}

void Commands::show(const std::string& id) {
    require_valid_id(id);
    const auto keys = complete(reader_.find(id));
    require_print(render_key(format_, complete(reader_.with_last_uses(keys)), time()));
}

void Commands::set(const std::string& id, const KeyOptions& options) {
    require_valid_id(id);
    if (options.empty()) {
        std::string names;
        for (const auto& field : redis::record_fields()) {
            names.append(names.empty() || field.option.empty() ? "" : ", ").append(field.option);
        }
        throw Failure(ExitStatus::kUsage, "nothing to set: give at least one of " + names);
    }
    const auto changes = changes_of(options, time());
    const auto tables = tables_to_check();
    KeyRecord changed;
    update("set", id, changes, [&](const KeyRecord& record) {
        if (tables && (changes.has(redis::record_field::kPlan) ||
                       changes.has(redis::record_field::kLimits))) {
            check_plan(*tables, record, options.force);
        }
        changed = record;
    });
    if (tables) {
        warn_about(*tables, changed);
    }
}

void Commands::set_active(const std::string& id, bool active) {
    require_valid_id(id);
    namespace state = redis::key_state;
    const std::string value(active ? state::kActive : state::kDisabled);
    update(active ? "enable" : "disable", id, {.values = {{redis::record_field::kState, value}}},
           [](const KeyRecord&) {});
}

/// Changes all keys of an id and prints them. `check` receives each changed record before it is
/// stored.
void Commands::update(const std::string& action, const std::string& id,
                      const management::KeyChanges& changes,
                      const std::function<void(const KeyRecord&)>& check) {
    const auto durability = complete(management::change_keys(caller(), action, id, changes, check));
    show(id);
    warn_unless_kept(id, durability);
}

void Commands::revoke(const std::string& id, bool confirmed) {
    require_valid_id(id);
    if (!confirmed) {
        confirm_revocation(id);
    }
    const auto durability = complete(management::revoke_keys(caller(), id));
    warn_unless_kept(id, durability);
    require_print(render_revoked(format_, id));
}

/// Asks on the terminal. Throws Failure if the answer is not yes, or if there is no terminal.
void Commands::confirm_revocation(const std::string& id) {
    if (!can_ask()) {
        throw Failure(ExitStatus::kUsage,
                      "without a terminal, key revoke needs --yes: it removes the id and its keys "
                      "permanently");
    }
    complete(reader_.require_id(id));
    if (!ask("Remove \"" + id + "\" and its keys permanently?")) {
        throw Failure(ExitStatus::kUsage, "nothing is revoked");
    }
}

void Commands::rotate(const std::string& id, const std::string& overlap) {
    require_valid_id(id);
    const auto span = parse_duration_seconds(overlap);
    management::KeyMaking making(caller(), management::Successor{.id = id, .overlap = span});
    print_new_key(making);
}

void Commands::show_ban(const std::string& id) {
    require_valid_id(id);
    complete(reader_.require_id(id));
    require_print(render_ban(format_, complete(management::read_ban(database_, keys_, id))));
}

void Commands::lift_ban(const std::string& id) {
    require_valid_id(id);
    complete(reader_.require_id(id));
    warn_unless_kept(id, complete(management::lift_ban_of(caller(), id)));
    show_ban(id);
}

void Commands::import_files(const std::vector<std::string>& files, bool force) {
    const auto tables = tables_to_check().value_or(std::vector<PlanTable>());
    const std::function<void(const KeyRecord&)> check = [&](const KeyRecord& record) {
        if (!force) {
            management::require_usable_plan(tables, record);
        }
        management::refuse_sliding_month(tables, record);
    };
    warn_of_dangers(session_);
    cli::import_files(database_, keys_, format_, files, check,
                      [this](auto durability) { warn_unless_kept("the import", durability); });
}

void Commands::export_keys() {
    cli::export_keys(database_, keys_);
}

void Commands::audit(const std::string& id, bool follows) {
    if (!id.empty()) {
        require_valid_id(id);
    }
    print_audit(database_, keys_, format_, id, follows);
}

void Commands::usage(const std::string& id) {
    require_valid_id(id);
    const auto tables = read_tables();
    auto counting =
        tables.empty() ? search_tables(session_, keys_, id) : management::known_tables(tables);
    const auto usage = complete(management::read_usage(database_, keys_, id, std::move(counting)));
    require_print(render_usage(format_, usage));
    if (tables.empty()) {
        warn("no gateway has published its plan tables with the prefix \"" + prefix_ +
             "\": the limits of plans are unknown" +
             (usage.complete ? "" : ", and only a part of Redis was searched for counts"));
    }
    if (!usage.keys.keys.empty()) {
        warn_about(tables, usage.keys.keys.front().record);
    }
}

void Commands::history(const std::string& id) {
    require_valid_id(id);
    const auto tables = tables_with_history();
    const auto history =
        complete(management::read_history(database_, keys_, id, management::known_tables(tables)));
    if (history.empty()) {
        complete(reader_.require_id(id));
    }
    require_print(render_history(format_, id, history));
}

void Commands::export_usage(const ExportedDays& days) {
    cli::export_usage(session_, database_, keys_, tables_with_history(), format_, days);
}

void Commands::list_words(const std::string& kind, const std::string& word) {
    // A shell waits for them.
    constexpr const char* kFirst = "-10000";
    const auto names = kind == "plans"
                           ? management::plan_names(read_tables())
                           : session_.run({"ZRANGE", keys_.ids(), kFirst, "-1"}).texts();
    std::string lines;
    for (const auto& name : names) {
        // A shell may interpret other characters.
        if (name.starts_with(word) && is_valid_key_id(name)) {
            lines += name + "\n";
        }
    }
    require_print(lines);
}

void Commands::top(const TopOptions& options) {
    run_top(session_, keys_, format_, options);
}

std::chrono::sys_seconds Commands::time() {
    return complete(reader_.now());
}

management::Caller Commands::caller() {
    return {database_, keys_, user_at_host()};
}

/// Makes the record of a new id. Without `id`, an id is generated.
KeyRecord Commands::new_record(const management::KeyChanges& changes,
                               const std::optional<std::string>& id) {
    if (id) {
        require_valid_id(*id);
    }
    KeyRecord record;
    check_options([&] { management::apply(changes, record); });
    record.id = id ? *id : management::random_key_id();
    return record;
}

/// Makes a new key, prints it and confirms it in Redis. The key is printed after it is durable: no
/// other key replaces it then. If the key cannot be printed, it stays unfinished, and the next run
/// of the command replaces it.
void Commands::print_new_key(management::KeyMaking& making) {
    std::string key;
    complete(making.make([&] {
        key = management::random_api_key();
        return hex(sha256(key));
    }));
    const auto& id = making.id();
    if (!print(render_issued(format_, making.keys(), time(), key))) {
        throw Failure(ExitStatus::kRedis, "cannot write to standard output: the key of \"" + id +
                                              "\" is lost: run the command again");
    }
    if (format_ == Format::kText) {
        std::cerr << "The key of " << id << ". It is shown only this once.\n";
    }
    confirm(making);
}

/// Confirms in Redis that the key was printed, durably. If a failover has undone the key, stores it
/// again. The key already works, so a connection failure is a warning and not an error.
void Commands::confirm(management::KeyMaking& making) {
    constexpr int kAttempts = 3;
    const auto& id = making.id();
    std::string why;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        try {
            if (attempt > 0) {
                session_.reconnect();
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

/// Warns if a failover may undo the change of an id.
void Commands::warn_unless_kept(const std::string& id, management::Durability durability) {
    switch (durability) {
        case management::Durability::kConfirmed:
        case management::Durability::kUndone:  // the operation was repeated
            break;
        case management::Durability::kUnconfirmed:
            warn("no replica of Redis has confirmed the change of \"" + id +
                 "\" within one second: a failover may undo it and make a key valid again. "
                 "Run the command again");
            break;
        case management::Durability::kUnverified:
            warn("it is unknown whether the change of \"" + id +
                 "\" was made at the present master: not enough servers answer, or a failover "
                 "does not end. Run the command again");
            break;
        case management::Durability::kForbidden:
            warn(
                "it is unknown whether a replica of Redis has the change: the user may not call "
                "ROLE and WAIT. Add +role +wait to its ACL");
            break;
    }
}

std::vector<PlanTable> Commands::read_tables() {
    return complete(management::read_published_tables(database_, keys_));
}

/// The published plan tables, to check the plan of a key. If they cannot be read, warns and returns
/// nothing: the user may not be permitted to.
std::optional<std::vector<PlanTable>> Commands::tables_to_check() {
    try {
        return read_tables();
    } catch (const Failure& failure) {
        warn(std::string("the plan cannot be checked: ") + failure.what());
        return std::nullopt;
    }
}

/// The published plan tables. Warns if there are none: it is then not known which tables keep a
/// history.
std::vector<PlanTable> Commands::tables_with_history() {
    auto tables = read_tables();
    if (tables.empty()) {
        warn("no gateway has published its plan tables with the prefix \"" + prefix_ +
             "\": the last day of an id may be missing");
    }
    return tables;
}

}  // namespace tollgate::cli
