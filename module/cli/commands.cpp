#include "module/cli/commands.hpp"

#include <iostream>

#include "module/cli/failure.hpp"
#include "module/cli/key_ban.hpp"
#include "module/cli/key_lookup.hpp"
#include "module/cli/key_store.hpp"
#include "module/cli/key_usage.hpp"
#include "module/cli/output.hpp"
#include "module/cli/random_text.hpp"
#include "module/cli/time_text.hpp"
#include "module/cli/token.hpp"
#include "module/core/api_key.hpp"

namespace tollgate::cli {

void Commands::issue(const KeyOptions& options, const std::optional<std::string>& id) {
    const auto key = random_api_key();
    print_new_key(store(key, options, id), key);
}

void Commands::import(const KeyOptions& options, const std::optional<std::string>& id) {
    show(store(read_token(std::cin), options, id));
}

void Commands::list() {
    const auto now = KeyStore(session_, keys_).now();
    require_print(render_list(format_, KeyLookup(session_, keys_).list(), now));
}

void Commands::show(const std::string& id) {
    require_valid_id(id);
    const auto keys = KeyLookup(session_, keys_).find(id);
    require_print(render_key(format_, keys, KeyStore(session_, keys_).now()));
}

void Commands::set(const std::string& id, const KeyOptions& options) {
    require_valid_id(id);
    if (options.empty()) {
        throw Failure(ExitStatus::kUsage,
                      "nothing to set: give --plan, --name, --limits or --expires");
    }
    KeyStore store(session_, keys_);
    const auto now = store.now();
    store.update(id, [&](KeyRecord& record) { apply(options, now, record); });
    show(id);
}

void Commands::set_active(const std::string& id, bool active) {
    require_valid_id(id);
    KeyStore(session_, keys_).update(id, [&](KeyRecord& record) { record.active = active; });
    show(id);
}

void Commands::revoke(const std::string& id) {
    require_valid_id(id);
    KeyStore(session_, keys_).revoke(id);
    require_print(render_revoked(format_, id));
}

void Commands::rotate(const std::string& id, const std::string& overlap) {
    require_valid_id(id);
    const auto span = parse_span(overlap);
    KeyStore store(session_, keys_);
    for (const auto& current : KeyLookup(session_, keys_).find(id).keys) {
        if (!current.retiring &&
            current.record.expires.value_or(std::chrono::sys_seconds::max()) <= store.now()) {
            throw Failure(ExitStatus::kConflict, "\"" + id + "\" has expired: set --expires first");
        }
    }
    const auto key = random_api_key();
    store.rotate(id, sha256(key), span);
    print_new_key(id, key);
}

void Commands::show_ban(const std::string& id) {
    require_valid_id(id);
    KeyLookup(session_, keys_).require_id(id);
    require_print(render_ban(format_, read_ban(session_, keys_, id)));
}

void Commands::lift_ban(const std::string& id) {
    require_valid_id(id);
    KeyLookup(session_, keys_).require_id(id);
    cli::lift_ban(session_, keys_, id);
    show_ban(id);
}

void Commands::usage(const std::string& id) {
    require_valid_id(id);
    require_print(render_usage(format_, read_usage(session_, keys_, id)));
}

void Commands::top(const TopOptions& options) {
    run_top(session_, keys_, format_, options);
}

/// Stores a new id with its key; the id.
std::string Commands::store(const std::string& token, const KeyOptions& options,
                            const std::optional<std::string>& id) {
    if (id) {
        require_valid_id(*id);
    }
    KeyStore store(session_, keys_);
    const auto now = store.now();
    KeyRecord record;
    apply(options, now, record);
    record.id = id.value_or(random_key_id());
    while (!store.claim(record.id, now)) {
        if (id) {
            throw Failure(ExitStatus::kConflict, "the id \"" + *id + "\" exists already");
        }
        record.id = random_key_id();
    }
    store.create(sha256(token), record, now);
    return record.id;
}

void Commands::print_new_key(const std::string& id, const std::string& token) {
    std::string text;
    try {
        const auto keys = KeyLookup(session_, keys_).find(id);
        text = render_issued(format_, keys, KeyStore(session_, keys_).now(), token);
    } catch (const Failure&) {
        // It is stored already, and this is the only moment when it can be shown.
        text = render_issued(format_, {.id = id, .keys = {}}, {}, token);
    }
    if (!print(text)) {
        throw Failure(ExitStatus::kRedis, "standard output can't be written: the key of \"" + id +
                                              "\" is lost, rotate or revoke it");
    }
    if (format_ == Format::kText) {
        std::cerr << "The key of " << id << ". It is shown only this once.\n";
    }
}

}  // namespace tollgate::cli
