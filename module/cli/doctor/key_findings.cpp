#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/doctor/finding.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/management/group_index.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_index.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

constexpr std::size_t kPage = 500;

/// Who has the same problem: the number, and the first ones.
class Affected {
  public:
    void add(const std::string& name) {
        constexpr std::size_t kShown = 3;
        if (++count_ <= kShown) {
            names_ += (names_.empty() ? "\"" : ", \"") + name + "\"";
        } else {
            rest_ = " and " + std::to_string(count_ - kShown) + " more";
        }
    }
    std::string text() const { return names_ + rest_; }

  private:
    std::size_t count_ = 0;
    std::string names_;
    std::string rest_;
};

/// The fields of a record that is stored for a digest.
struct Record {
    std::string digest;
    std::string id;
};

/// The records of these hashes, without pending ones and other hashes.
std::vector<Record> read_records(RedisSession& session, const std::vector<std::string>& keys) {
    std::vector<redis::Command> commands;
    commands.reserve(keys.size());
    for (const auto& key : keys) {
        commands.push_back({"HMGET", key, std::string(redis::record_field::kId),
                            std::string(redis::record_field::kState)});
    }
    // What is no hash is no valid key.
    const auto replies = session.answers_to(commands);
    const std::size_t begin = session.keys().key("").size();
    std::vector<Record> records;
    for (std::size_t i = 0; i < replies.size(); ++i) {
        const auto& fields = replies[i].elements;
        if (fields.size() == 2 && !fields[0].is_nil() &&
            fields[1].text != redis::key_state::kPending) {
            records.push_back({keys[i].substr(begin), fields[0].text});
        }
    }
    return records;
}

/// Adds the ids of the records that their id, or the list of ids, does not have.
void add_unlisted(RedisSession& session, const std::vector<Record>& records, Affected& unlisted) {
    std::vector<redis::Command> commands;
    for (const auto& record : records) {
        commands.push_back({"SISMEMBER", session.keys().id(record.id), record.digest});
        commands.push_back({"ZSCORE", session.keys().ids(), record.id});
    }
    const auto replies = session.run_all(commands);
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (replies[2 * i].integer == 0 || replies[2 * i + 1].is_nil()) {
            unlisted.add(session.keys().key(records[i].digest));
        }
    }
}

/// Adds the ids of which the index does not have all entries.
void add_unindexed(RedisSession& session, const std::vector<management::KeysOfId>& ids,
                   Affected& unindexed) {
    std::vector<redis::Command> commands;
    std::vector<std::string> ids_of_commands;
    for (const auto& id : ids) {
        for (auto& entry : management::entries_of(id.keys)) {
            commands.push_back({"ZSCORE", session.keys().index(), std::move(entry)});
            ids_of_commands.push_back(id.id);
        }
    }
    const auto scores = session.run_all(commands);
    std::string last;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (scores[i].is_nil() && ids_of_commands[i] != last) {
            last = ids_of_commands[i];
            unindexed.add(last);
        }
    }
}

/// Adds the ids whose groups the index of groups does not have.
void add_in_other_groups(RedisSession& session, const std::vector<management::KeysOfId>& ids,
                         Affected& others) {
    for (const auto& other : complete(management::in_other_groups(session, session.keys(), ids))) {
        others.add(other.id);
    }
}

/// Which of the groups have a record.
std::vector<std::string> with_record(RedisSession& session, std::vector<std::string> groups) {
    std::vector<redis::Command> commands;
    commands.reserve(groups.size());
    for (const auto& group : groups) {
        commands.push_back({"EXISTS", session.keys().group(group)});
    }
    const auto exist = session.run_all(commands);
    std::size_t i = 0;
    std::erase_if(groups, [&](const std::string& /*group*/) { return exist[i++].integer == 0; });
    return groups;
}

/// Compares the groups of all ids with those that have a record, which gateways with `by=group`
/// need.
void add_groups(RedisSession& session, const std::vector<PlanTable>& tables,
                std::map<std::string, Affected> ids_of_group, std::vector<Finding>& findings) {
    const auto counting = management::tables_for(tables, management::PlanOf::kGroup);
    const bool has_default = std::ranges::none_of(
        counting, [](const PlanTable& table) { return table.default_plan.empty(); });
    std::map<std::string, Affected> by_problem;
    Affected unused;
    std::string last;
    do {
        const auto page = complete(management::read_groups(session, session.keys(), last, kPage));
        for (const auto& group : page.groups) {
            if (ids_of_group.erase(group.id) == 0) {
                unused.add(group.id);
            }
            for (const auto& problem :
                 plan_problems(tables, management::record_of(group), management::PlanOf::kGroup)) {
                by_problem[problem].add(group.id);
            }
        }
        last = page.next.value_or("");
    } while (!last.empty());
    for (const auto& [problem, groups] : by_problem) {
        findings.push_back({"groups", "groups " + groups.text() + ": " + problem});
    }
    if (const auto groups = unused.text(); !groups.empty()) {
        findings.push_back(
            {"groups", "no id is in the groups " + groups, "use tollgate group delete"});
    }
    std::vector<std::string> unlisted;
    unlisted.reserve(ids_of_group.size());
    for (const auto& [group, ids] : ids_of_group) {
        unlisted.push_back(group);
    }
    Affected only_unlisted;
    for (const auto& group : with_record(session, std::move(unlisted))) {
        only_unlisted.add(group);
        ids_of_group.erase(group);
    }
    if (const auto groups = only_unlisted.text(); !groups.empty()) {
        findings.push_back(
            {"groups", "the list of groups does not have " + groups, "use tollgate group set"});
    }
    Affected without_record;
    for (const auto& [group, ids] : ids_of_group) {
        without_record.add(group);
    }
    if (const auto groups = without_record.text(); !groups.empty() && !counting.empty()) {
        findings.push_back(
            {"groups",
             "the groups " + groups + " have no plan, so their keys " +
                 (has_default ? "get the default plan" : "are refused with 403 plan_not_allowed"),
             "use tollgate group set"});
    }
}

}  // namespace

std::vector<Finding> findings_of_ids(RedisSession& session, const std::vector<PlanTable>& tables) {
    std::map<std::string, Affected> by_problem;
    Affected without_keys;
    Affected unindexed;
    Affected in_other_groups;
    std::map<std::string, Affected> ids_of_group;
    management::KeyReader reader(session, session.keys());
    management::KeyIndex index(session, session.keys());
    const bool is_indexed = complete(index.is_complete());
    bool has_ids = false;
    std::optional<management::ListCursor> place;
    do {
        const auto page = complete(reader.page(place, kPage));
        has_ids = has_ids || !page.ids.empty();
        for (const auto& id : page.ids) {
            if (id.keys.empty()) {
                // The command that makes the key may be running.
                const auto keys = complete(reader.all_keys(id.id));
                if (keys.keys.empty()) {
                    without_keys.add(id.id);
                }
                continue;
            }
            const KeyRecord& record = id.keys.front().record;
            for (const auto& problem : plan_problems(tables, record)) {
                by_problem[problem].add(id.id);
            }
            if (!record.group.empty()) {
                ids_of_group[record.group].add(id.id);
            }
        }
        if (is_indexed) {
            add_unindexed(session, page.ids, unindexed);
        }
        add_in_other_groups(session, page.ids, in_other_groups);
        place = page.next();
    } while (place);

    std::vector<Finding> findings;
    findings.reserve(by_problem.size() + 2);
    for (const auto& [problem, ids] : by_problem) {
        findings.push_back({"plans", "keys of " + ids.text() + ": " + problem});
    }
    if (const auto ids = without_keys.text(); !ids.empty()) {
        findings.push_back({"ids", "no key exists of the listed " + ids,
                            "use tollgate key revoke, or issue another key"});
    }
    if (const auto ids = unindexed.text(); !ids.empty()) {
        findings.push_back({"index", "searches do not find " + ids + " by all values",
                            "use tollgate key reindex"});
    }
    if (has_ids && !is_indexed) {
        findings.push_back({"index",
                            "the index of keys is not complete: searches by name may find too few "
                            "keys, and others examine all keys",
                            "use tollgate key reindex"});
    }
    if (const auto ids = in_other_groups.text(); !ids.empty()) {
        findings.push_back({"groups",
                            "usage and bans of " + ids + " are looked for in another group",
                            "use tollgate key reindex"});
    }
    add_groups(session, tables, std::move(ids_of_group), findings);
    return findings;
}

std::vector<Finding> findings_of_records(RedisSession& session) {
    Affected unlisted;
    RedisSession::ScanPosition position;
    const std::string pattern = escape_glob(session.keys().key("")) + "*";
    do {
        const auto keys = session.scan(position, pattern, kPage);
        add_unlisted(session, read_records(session, keys), unlisted);
    } while (!position.is_at_start());
    if (const auto records = unlisted.text(); !records.empty()) {
        return {{"records", "gateways accept keys that no id lists: " + records,
                 "delete these records, or list their ids again"}};
    }
    return {};
}

}  // namespace tollgate::cli
