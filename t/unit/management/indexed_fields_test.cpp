// What the index has of a record, and how a change of the record changes it.

#include "module/management/indexed_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tollgate::management {
namespace {

using namespace std::chrono_literals;
using FieldEntries = std::vector<std::string>;

StoredKey key_with(KeyRecord record) {
    record.id = "k1";
    record.plan = "free";
    return {.digest = "d", .record = std::move(record), .created = std::chrono::sys_seconds(1000s)};
}

StoredKey full_key() {
    KeyRecord record;
    record.name = "ACME Ä";
    record.scopes = "read write";
    record.meta = R"({"contract":4711,"vip":true})";
    record.group = "team";
    return key_with(std::move(record));
}

TEST(IndexedFields, MakeAnEntryOfEachValue) {
    EXPECT_EQ(entries_of(full_key()),
              (FieldEntries{"group:team\n000000001000:k1", "meta:contract=4711\n000000001000:k1",
                            "meta:vip=true\n000000001000:k1", "name:acme ä\nk1",
                            "scope:read\n000000001000:k1", "scope:write\n000000001000:k1"}));
    EXPECT_EQ(entries_of(key_with({})), FieldEntries{});
}

TEST(IndexedFields, HaveTheTimeWhenTheIdWasIssued) {
    auto key = full_key();
    key.record.meta.clear();
    key.record.scopes.clear();
    key.issued = "7";
    EXPECT_EQ(entries_of(key), (FieldEntries{"group:team\n000000000007:k1", "name:acme ä\nk1"}));
}

TEST(IndexedFields, ShortenLongValues) {
    const std::string at_most(64, 'x');
    EXPECT_EQ(value_in_index(at_most), at_most);
    const auto shortened = value_in_index(at_most + "y");
    EXPECT_EQ(shortened.size(), 33);
    EXPECT_EQ(shortened.front(), '#');
    EXPECT_NE(shortened, value_in_index(at_most + "z"));
    KeyRecord record;
    record.scopes = at_most + "y";
    record.meta = R"({"note":")" + std::string(400, 'n') + R"("})";
    for (const auto& entry : entries_of(key_with(std::move(record)))) {
        EXPECT_LT(entry.size(), 80) << entry;
    }
}

TEST(IndexedFields, HaveNothingOfAMalformedMeta) {
    KeyRecord record;
    record.meta = "no meta";
    EXPECT_EQ(entries_of(key_with(std::move(record))), FieldEntries{});
}

TEST(IndexedFields, ChangeWithTheRecord) {
    const auto before = full_key();
    auto after = before;
    after.record.name = "Acme ä";
    after.record.scopes = "admin read";
    after.record.meta = R"({"contract":4711})";
    after.record.group.clear();
    const auto change = index_change(before, after);
    EXPECT_EQ(change.added, FieldEntries{"scope:admin\n000000001000:k1"});
    EXPECT_EQ(change.removed,
              (FieldEntries{"group:team\n000000001000:k1", "meta:vip=true\n000000001000:k1",
                            "scope:write\n000000001000:k1"}));
    const auto none = index_change(after, after);
    EXPECT_TRUE(none.added.empty() && none.removed.empty());
}

TEST(IndexedFields, LeadToTheId) {
    for (const auto& entry : entries_of(full_key())) {
        EXPECT_EQ(id_of_entry(entry), "k1") << entry;
    }
    for (const auto* const text : {"", "k1", "group:team", "group:team\n", "group:team\n1:a b"}) {
        EXPECT_EQ(id_of_entry(text), "") << text;
    }
    EXPECT_EQ(id_of_entry(complete_entry()), "");
}

TEST(IndexedFields, LeadToThePlaceAmongTheIds) {
    const ListCursor place{.created = 1000, .id = "k1"};
    EXPECT_EQ(end_of_entry(place), "000000001000:k1");
    EXPECT_EQ(place_of_entry("group:team\n000000001000:k1"), place);
    EXPECT_EQ(end_of_entry({.created = -1, .id = "k1"}), "000000000000:k1");
    EXPECT_EQ(end_of_entry({.created = 1e300, .id = "k1"}), "999999999999:k1");
    for (const auto* const text :
         {"", "name:acme\nk1", "group:team\n1000:k1", "group:team\n00000000100x:k1",
          "group:team\n000000001000:k1:k2", "000000001000:k1"}) {
        EXPECT_FALSE(place_of_entry(text)) << text;
    }
}

TEST(IndexedFields, OrderEntriesByCreationThenId) {
    const std::vector<ListCursor> places{{.created = 9, .id = "z"},
                                         {.created = 10, .id = "B"},
                                         {.created = 10, .id = "a"},
                                         {.created = 11, .id = "-"}};
    for (std::size_t i = 1; i < places.size(); ++i) {
        EXPECT_LT(places[i - 1], places[i]);
        EXPECT_LT(end_of_entry(places[i - 1]), end_of_entry(places[i]));
    }
}

}  // namespace
}  // namespace tollgate::management
