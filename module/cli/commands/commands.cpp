#include "module/cli/commands/commands.hpp"

#include <iostream>

#include "module/cli/failure.hpp"
#include "module/cli/keys/key_reader.hpp"
#include "module/cli/keys/key_store.hpp"
#include "module/cli/keys/meta_option.hpp"
#include "module/cli/keys/new_key.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/key_usage.hpp"
#include "module/cli/usage/stored_usage.hpp"
#include "module/key/api_key.hpp"
#include "module/key/scopes.hpp"
#include "module/quota/rate.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw Failure(ExitStatus::kUsage, why);
}

/// Formats rates uniformly: ascending, in the largest possible units, separated by one space.
std::string canonical_limits(const std::string& text) {
    std::string limits;
    try {
        for (const auto& rate : parse_rates(text)) {
            limits += (limits.empty() ? "" : " ") + format_rate(rate);
        }
    } catch (const ParseError& error) {
        refuse("--limits: " + std::string(error.what()) +
               ": use one to four rates such as \"60r/m 1000r/d\" or \"100r/15m\"");
    }
    return limits;
}

/// The scopes of all `--scope` options together.
std::string scopes_of(const std::vector<std::string>& lists) {
    std::string all;
    for (const auto& list : lists) {
        all += (all.empty() ? "" : " ") + list;
    }
    try {
        return all == "none" ? "" : parse_scopes(all);
    } catch (const ParseError& error) {
        refuse("--scope: " + std::string(error.what()));
    }
}

/// Validates the options and applies them to a record. Throws Failure.
void apply(const KeyOptions& options, std::chrono::sys_seconds now, KeyRecord& record) {
    if (options.plan) {
        if (!is_valid_name(*options.plan)) {
            refuse("--plan: invalid name: use 1 to 64 letters, digits, _, - and .");
        }
        record.plan = *options.plan;
    }
    if (options.name) {
        if (!is_valid_key_name(*options.name) || !is_utf8_line(*options.name)) {
            refuse(
                "--name: invalid name: use at most 256 bytes of UTF-8 without control characters");
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
    if (!options.scopes.empty()) {
        record.scopes = scopes_of(options.scopes);
    }
    apply_meta(options.meta, record.meta);
}

/// Validates an id from the command line. Throws Failure.
void require_valid_id(const std::string& id) {
    // Reject a key in place of an id: ids are printed, logged and sent to Redis.
    if (id.starts_with("tg_") && has_valid_checksum(id)) {
        refuse("the id is invalid because it is a key: use the id of the key");
    }
    if (!is_valid_key_id(id)) {
        refuse("invalid id: use 1 to 64 letters, digits, _, - and .");
    }
}

}  // namespace

void Commands::issue(const KeyOptions& options, const std::optional<std::string>& id) {
    KeyStore store(session_, keys_);
    const auto now = store.now();
    const auto record = record_of(options, id, now);
    const auto key = random_api_key();
    print_new_key(store, store.create(sha256(key), record, now), now, key);
    warn_about(record);
}

void Commands::import(const KeyOptions& options, const std::optional<std::string>& id) {
    KeyStore store(session_, keys_);
    const auto now = store.now();
    auto record = record_of(options, id, now);
    const auto digest = sha256(read_api_key());
    if (!id) {
        // Continue an interrupted import with the id that it generated.
        record.id = store.unfinished_id(digest).value_or(record.id);
    }
    const auto keys = store.create(digest, record, now);
    confirm(store, digest, record.id);
    require_print(render_key(format_, keys, now));
    warn_about(record);
}

void Commands::list() {
    KeyListText text(format_, KeyStore(session_, keys_).now());
    KeyReader(session_, keys_).list([&](const auto& ids) { require_print(text.next(ids)); });
    require_print(text.end());
}

void Commands::show(const std::string& id) {
    require_valid_id(id);
    const auto keys = KeyReader(session_, keys_).find(id);
    require_print(render_key(format_, keys, KeyStore(session_, keys_).now()));
}

void Commands::set(const std::string& id, const KeyOptions& options) {
    require_valid_id(id);
    if (options.empty()) {
        throw Failure(
            ExitStatus::kUsage,
            "nothing to set: give --plan, --name, --limits, --expires, --scope or --meta");
    }
    KeyStore store(session_, keys_);
    const auto now = store.now();
    KeyRecord changed;
    store.update(id, [&](KeyRecord& record) {
        apply(options, now, record);
        changed = record;
    });
    show(id);
    warn_about(changed);
    confirm_replication(id);
}

void Commands::set_active(const std::string& id, bool active) {
    require_valid_id(id);
    KeyStore(session_, keys_).update(id, [&](KeyRecord& record) { record.active = active; });
    show(id);
    if (!active) {
        confirm_replication(id);
    }
}

void Commands::revoke(const std::string& id) {
    require_valid_id(id);
    KeyStore(session_, keys_).revoke(id);
    confirm_replication(id);
    require_print(render_revoked(format_, id));
}

void Commands::rotate(const std::string& id, const std::string& overlap) {
    require_valid_id(id);
    const auto span = parse_duration_seconds(overlap);
    KeyStore store(session_, keys_);
    const auto key = random_api_key();
    const auto keys = store.rotate(id, sha256(key), span);
    confirm_replication(id);
    print_new_key(store, keys, store.now(), key);
}

void Commands::show_ban(const std::string& id) {
    require_valid_id(id);
    KeyReader(session_, keys_).require_id(id);
    require_print(render_ban(format_, read_ban(session_, keys_, id)));
}

void Commands::lift_ban(const std::string& id) {
    require_valid_id(id);
    KeyReader(session_, keys_).require_id(id);
    cli::lift_ban(session_, keys_, id);
    show_ban(id);
}

void Commands::usage(const std::string& id) {
    require_valid_id(id);
    const auto tables = read_plan_tables(session_, keys_);
    const auto usage = read_usage(session_, keys_, id, tables);
    require_print(render_usage(format_, usage));
    if (tables.empty()) {
        warn("no gateway has published its plan tables with the prefix \"" + prefix_ +
             "\": the limits of plans are unknown" +
             (usage.complete ? "" : ", and only a part of Redis was searched for counts"));
    }
    if (!usage.keys.keys.empty()) {
        warn_about(usage.keys.keys.front().record);
    }
}

void Commands::top(const TopOptions& options) {
    run_top(session_, keys_, format_, options);
}

/// Makes the record of a new id from the options.
KeyRecord Commands::record_of(const KeyOptions& options, const std::optional<std::string>& id,
                              std::chrono::sys_seconds now) {
    if (id) {
        require_valid_id(*id);
    }
    KeyRecord record;
    apply(options, now, record);
    record.id = id ? *id : random_key_id();
    return record;
}

/// Prints a new key and confirms it in Redis. If the key cannot be printed, it stays unfinished,
/// and the next run of the command replaces it.
void Commands::print_new_key(KeyStore& store, const KeysOfId& keys, std::chrono::sys_seconds now,
                             const std::string& key) {
    if (!print(render_issued(format_, keys, now, key))) {
        throw Failure(ExitStatus::kRedis, "cannot write to standard output: the key of \"" +
                                              keys.id + "\" is lost: run the command again");
    }
    if (format_ == Format::kText) {
        std::cerr << "The key of " << keys.id << ". It is shown only this once.\n";
    }
    confirm(store, sha256(key), keys.id);
}

/// Confirms in Redis that the key was printed. The key already works, so a connection failure is a
/// warning and not an error.
void Commands::confirm(KeyStore& store, const KeyDigest& digest, const std::string& id) {
    constexpr int kAttempts = 3;
    std::string why;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        try {
            if (attempt > 0) {
                session_.reconnect();
            }
            store.confirm(digest, id);
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

/// Warns if no replica has the change of an id yet. A failover to such a replica undoes it.
void Commands::confirm_replication(const std::string& id) {
    switch (session_.await_replicas()) {
        case Replication::kConfirmed:
            break;
        case Replication::kUnconfirmed:
            warn("no replica of Redis has confirmed the change of \"" + id +
                 "\" within one second: a failover may undo it and make a key valid again. "
                 "Run the command again");
            break;
        case Replication::kForbidden:
            warn(
                "it is unknown whether a replica of Redis has the change: the user may not call "
                "ROLE and WAIT. Add +role +wait to its ACL");
            break;
    }
}

/// Warns about a record that the gateways do not apply as written. A failure of this check is a
/// warning too, because the command itself has succeeded.
void Commands::warn_about(const KeyRecord& record) {
    try {
        const auto tables = read_plan_tables(session_, keys_);
        for (const auto& warning : plan_warnings(tables, record)) {
            warn(warning);
        }
        const auto other_prefix = tables.empty() ? prefix_warning(session_, prefix_) : "";
        if (!other_prefix.empty()) {
            warn(other_prefix);
        }
    } catch (const Failure& failure) {
        warn(std::string("the plan cannot be checked: ") + failure.what());
    }
}

}  // namespace tollgate::cli
