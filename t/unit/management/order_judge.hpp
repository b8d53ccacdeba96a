#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/indexed_fields.hpp"
#include "module/management/key_reader.hpp"
#include "t/unit/management/order_search.hpp"
#include "t/unit/management/ordered_operations.hpp"

namespace tollgate::management::orders {

using World = OrderSearch::World;

/// What Redis has of the id.
struct Found {
    explicit Found(const MemoryDatabase::Data& data) {
        MemoryDatabase database;
        database.data = data;
        KeyReader reader(database, all_keys());
        const auto listed = data.sets.find("t:id:{acme}");
        digests = listed == data.sets.end() ? std::set<std::string>() : listed->second;
        std::vector<std::string> all;
        for (const auto& [name, hash] : data.hashes) {
            if (name.starts_with("t:key:")) {
                all.push_back(name.substr(std::string_view("t:key:").size()));
            }
        }
        for (auto& key : run_to_end(reader.read_anything(std::move(all)))) {
            (key.is_key() ? keys : revoked).push_back(std::move(key));
        }
        const auto index = data.scores.find("t:index");
        for (const auto& [entry, score] :
             index == data.scores.end() ? std::map<std::string, std::string>() : index->second) {
            if (id_of_entry(entry) == kId) {
                entries.push_back(entry);
            }
        }
        const auto ids = data.scores.find("t:ids");
        is_listed = ids != data.scores.end() && ids->second.contains(kId);
        const auto groups = data.hashes.find("t:group_of_ids");
        if (groups != data.hashes.end() && groups->second.contains(kId)) {
            group = groups->second.at(kId);
        }
    }

    /// Whether a client can use the key: nobody knows a key that was not shown.
    static bool is_valid(const StoredKey& key) {
        return key.record.active && !key.is_unfinished() && !key.replaced;
    }
    std::vector<std::string> valid() const {
        std::vector<std::string> found;
        for (const auto& key : keys) {
            if (is_valid(key)) {
                found.push_back(key.digest);
            }
        }
        return found;
    }
    auto count(bool (StoredKey::*property)() const) const {
        return std::ranges::count_if(keys, std::mem_fn(property));
    }

    std::vector<StoredKey> keys{};     ///< of all digests
    std::vector<StoredKey> revoked{};  ///< the notes
    std::set<std::string> digests{};
    std::vector<std::string> entries{};
    bool is_listed = false;
    std::string group{};
};

/// Judges the orders of these operations.
class Judge {
  public:
    Judge(OrderSearch& search, Start start, std::vector<Kind> kinds, bool is_cluster)
        : search_(search), start_(start), kinds_(std::move(kinds)), is_cluster_(is_cluster) {}

    /// What is true between all transactions.
    void step(const World& world) const {
        check_balances(world);
        const bool is_disabled =
            (has_promised(world, Kind::kDisable) || has_promised(world, Kind::kDisableIf)) &&
            !has(Kind::kEnable) && !has(Kind::kBatch) && !makes_first_key();
        const bool is_revoked = has_promised(world, Kind::kRevoke);
        if (!is_disabled && !is_revoked) {
            return;
        }
        const Found found(world.data);
        const auto valid = found.valid();
        // In a cluster, a key may be valid until the change that made it so has ended.
        if (is_disabled && !is_cluster_) {
            EXPECT_TRUE(valid.empty()) << "a disabled id has a valid key, " << text(world);
        }
        if (is_revoked && start_ != Start::kNothing) {
            EXPECT_TRUE(std::ranges::find(valid, "first") == valid.end() &&
                        std::ranges::find(valid, "second") == valid.end())
                << "a revoked key is valid, " << text(world);
        }
    }

    void end(const World& world) const {
        Found found(world.data);
        if (world.killed) {
            // Redis removes what was reserved.
            std::erase_if(found.keys, std::mem_fn(&StoredKey::pending));
        }
        for (const auto& digest : found.valid()) {
            EXPECT_TRUE(found.digests.contains(digest))
                << digest << " is valid and cannot be revoked, " << text(world);
        }
        std::vector<StoredKey> finished = found.keys;
        std::erase_if(finished, std::mem_fn(&StoredKey::is_unfinished));
        EXPECT_LE(std::ranges::count_if(finished, std::mem_fn(&StoredKey::is_current)), 1)
            << "two current keys, " << text(world);
        // In a cluster, the index is in another slot: a killed operation may have removed an entry
        // that another one has added meanwhile.
        for (const auto& entry :
             is_cluster_&& world.killed ? std::vector<std::string>() : entries_of(finished)) {
            EXPECT_TRUE(std::ranges::binary_search(found.entries, entry))
                << "the index lacks " << entry << ", " << text(world);
        }
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            check_promise(world, found, i);
        }
        if (!world.killed) {
            check_whole(world, found);
        }
    }

  private:
    /// A balance has what its references say, and each of them was credited once.
    void check_balances(const World& world) const {
        constexpr std::string_view kCredits = "t:credits:";
        for (const auto& [name, ledger] : world.data.hashes) {
            if (!name.starts_with(kCredits)) {
                continue;
            }
            const auto quota = world.data.hashes.find("t:quota:" + name.substr(kCredits.size()));
            ASSERT_NE(quota, world.data.hashes.end()) << name << " has no balance, " << text(world);
            const auto sum = std::to_string(kCredited * static_cast<std::int64_t>(ledger.size()));
            for (const auto* const part : {"balance.left", "balance.credited"}) {
                const auto field = quota->second.find(part);
                EXPECT_TRUE(field != quota->second.end() && field->second == sum)
                    << part << " is not " << sum << ", " << text(world);
            }
            for (const auto& [reference, units] : ledger) {
                EXPECT_EQ(units, std::to_string(kCredited)) << reference << ", " << text(world);
            }
        }
    }
    static bool is_credited(const World& world, const std::string& reference) {
        return std::ranges::any_of(world.data.hashes, [&](const auto& hash) {
            return hash.first.starts_with("t:credits:") && hash.second.contains(reference);
        });
    }

    bool has(Kind kind) const { return std::ranges::find(kinds_, kind) != kinds_.end(); }
    bool makes_first_key() const { return has(Kind::kIssue) || has(Kind::kImport); }
    bool has_promised(const World& world, Kind kind) const {
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            if (kinds_[i] == kind && search_.has_succeeded(world, i)) {
                return true;
            }
        }
        return false;
    }
    bool has_failed(const World& world, Kind kind) const {
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            if (kinds_[i] == kind && search_.failure(world, i)) {
                return true;
            }
        }
        return false;
    }
    /// Whether another operation may undo what one has done.
    bool is_undone(std::size_t operation, std::initializer_list<Kind> by) const {
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            if (i != operation && std::ranges::find(by, kinds_[i]) != by.end()) {
                return true;
            }
        }
        return false;
    }

    std::string text(const World& world) const { return search_.text_of(world); }

    /// What an operation has acknowledged is there, unless another one undoes it.
    void check_promise(const World& world, const Found& found, std::size_t i) const {
        if (!search_.has_succeeded(world, i)) {
            return;
        }
        const auto all = [&](auto is_so) {
            return std::ranges::all_of(found.keys, [&](const StoredKey& key) {
                return key.is_unfinished() || is_so(key.record);
            });
        };
        const std::string value = "new" + std::to_string(i);
        bool holds = true;
        switch (kinds_[i]) {
            case Kind::kIssue:
            case Kind::kImport:
            case Kind::kRotate:
            case Kind::kReplace:
            case Kind::kRotateTo:
            case Kind::kReplaceTo:
                // A rotation that is killed leaves a key that has ended, or one that was not shown.
                holds = is_undone(i, {Kind::kRevoke}) ||
                        (world.killed && is_undone(i, {Kind::kRotate, Kind::kReplace,
                                                       Kind::kRotateTo, Kind::kReplaceTo})) ||
                        found.count(&StoredKey::is_current) == 1;
                break;
            case Kind::kRename:
                holds = is_undone(i, {Kind::kRename, Kind::kIssue, Kind::kImport}) ||
                        all([&](const KeyRecord& record) { return record.name == value; });
                break;
            case Kind::kMove:
                holds = is_undone(i, {Kind::kMove, Kind::kIssue, Kind::kImport}) ||
                        all([&](const KeyRecord& record) { return record.group == value; });
                break;
            case Kind::kDisable:
            case Kind::kDisableIf:
                holds = is_undone(i, {Kind::kEnable, Kind::kBatch, Kind::kIssue, Kind::kImport}) ||
                        found.valid().empty();
                break;
            case Kind::kEnable:
            case Kind::kBatch:
                holds =
                    is_undone(i, {Kind::kDisable, Kind::kDisableIf, Kind::kBatch, Kind::kRevoke}) ||
                    all([&](const KeyRecord& record) { return record.active; });
                break;
            case Kind::kRevoke:
                holds = is_undone(i, {Kind::kIssue, Kind::kImport}) || found.keys.empty();
                break;
            case Kind::kSetGroup:
            case Kind::kDeleteGroup: {
                const bool exists = world.data.hashes.contains("t:group:{team}");
                const bool is_listed = world.data.scores.contains("t:groups") &&
                                       world.data.scores.at("t:groups").contains("team");
                holds = is_undone(i, {Kind::kSetGroup, Kind::kDeleteGroup}) ||
                        (exists == (kinds_[i] == Kind::kSetGroup) && is_listed == exists);
                break;
            }
            case Kind::kCredit:
                holds = is_credited(world, "order");
                break;
            case Kind::kCreditMore:
                holds = is_credited(world, value);
                break;
            case Kind::kReset:
                break;
        }
        EXPECT_TRUE(holds) << "not as operation " << i << " has said, " << name_of(kinds_[i])
                           << text(world);
    }

    /// What is true if no operation was killed.
    void check_whole(const World& world, const Found& found) const {
        EXPECT_TRUE(world.unannounced.empty())
            << *world.unannounced.begin() << " is not announced, " << text(world);
        EXPECT_EQ(found.count(&StoredKey::is_unfinished), 0)
            << "an unfinished key, " << text(world);
        EXPECT_LE(found.keys.size(), 2U) << text(world);
        // A rotation without overlap that fails may have ended the key before.
        EXPECT_TRUE(found.count(&StoredKey::is_current) == 1 || found.keys.empty() ||
                    has_failed(world, Kind::kReplace) || has_failed(world, Kind::kReplaceTo) ||
                    start_ == Start::kRetiring)
            << "no current key, " << text(world);
        EXPECT_EQ(found.entries, entries_of(found.keys)) << "the index, " << text(world);
        if (!found.keys.empty()) {
            EXPECT_TRUE(found.is_listed) << "the list of ids, " << text(world);
            EXPECT_EQ(found.group, found.keys.front().record.group)
                << "the group in the index, " << text(world);
        } else if (has_promised(world, Kind::kRevoke)) {
            EXPECT_FALSE(found.is_listed) << "the list of ids, " << text(world);
        }
        check_audit(world);
        check_given(world);
        check_credits(world);
    }

    static bool is_given(Kind kind) { return kind == Kind::kRotateTo || kind == Kind::kReplaceTo; }

    /// A credit is in the audit. The entry is made first, so two credits with the same reference at
    /// the same time may have two, which name it.
    void check_credits(const World& world) const {
        int audited = 0;
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            audited += kinds_[i] == Kind::kCredit ? search_.audited(world, i) : 0;
        }
        EXPECT_TRUE(audited > 0 || !is_credited(world, "order"))
            << "a credit without an entry, " << text(world);
    }

    /// Rotations to the same digest are one rotation: it is in the audit, and nothing but another
    /// operation makes it fail.
    void check_given(const World& world) const {
        int succeeded = 0;
        int audited = 0;
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            if (is_given(kinds_[i])) {
                succeeded += search_.has_succeeded(world, i) ? 1 : 0;
                audited += search_.audited(world, i);
            }
        }
        EXPECT_TRUE(succeeded == 0 || audited > 0) << text(world);
        const bool is_possible = start_ == Start::kOneKey || start_ == Start::kRetiring;
        if (!is_possible || !std::ranges::all_of(kinds_, is_given)) {
            return;
        }
        EXPECT_GT(succeeded, 0) << text(world);
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const auto failure = search_.failure(world, i);
            EXPECT_TRUE(!failure || failure == Reason::kReplaced ||
                        failure == Reason::kConcurrentChange)
                << "a program would not repeat the rotation, " << text(world);
        }
    }

    /// An operation that has changed something and succeeded has one entry.
    void check_audit(const World& world) const {
        int revocations = 0;
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const int audited = search_.audited(world, i);
            if (is_given(kinds_[i]) || kinds_[i] == Kind::kCredit) {
                EXPECT_LE(audited, 1) << text(world);
            } else if (kinds_[i] == Kind::kRevoke) {
                // What is revoked already is not changed.
                EXPECT_LE(audited, 1) << text(world);
                revocations += audited;
            } else if (search_.has_succeeded(world, i)) {
                EXPECT_EQ(audited, kinds_[i] == Kind::kBatch ? 2 : 1)
                    << "entries of the audit of " << i << ", " << text(world);
            }
        }
        EXPECT_TRUE(revocations > 0 || start_ == Start::kRevoked ||
                    !has_promised(world, Kind::kRevoke))
            << "a revocation without an entry, " << text(world);
    }

    OrderSearch& search_;
    Start start_;
    std::vector<Kind> kinds_;
    bool is_cluster_;
};

}  // namespace tollgate::management::orders
