#include "module/redis/protocol/record_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tollgate::redis {
namespace {

KeyRecord a_record() {
    return {.id = "k1",
            .name = "A \"name\"",
            .plan = "own",
            .limits = "5r/s",
            .scopes = "read write",
            .meta = R"({"a":1})",
            .expires = std::chrono::sys_seconds(std::chrono::seconds(1000)),
            .active = true};
}

KeyRecord read_record(const KeyRecord& written) {
    KeyRecord record;
    for (const auto& field : record_fields()) {
        EXPECT_TRUE(read_field(field, stored_text(field, written), record)) << field.name;
    }
    return record;
}

TEST(RecordFields, AreReadAsTheyAreWritten) {
    EXPECT_EQ(read_record(a_record()), a_record());
    KeyRecord least;
    least.id = "k1";
    least.plan = "free";
    EXPECT_EQ(read_record(least), least);
}

TEST(RecordFields, HaveNamesOfTheirOwn) {
    std::set<std::string_view> names;
    for (const auto& field : record_fields()) {
        EXPECT_TRUE(names.insert(field.name).second) << field.name;
    }
    EXPECT_EQ(record_fields().front().name, "id");
}

TEST(RecordFields, AGatewayKeepsEachText) {
    using Text = std::string KeyRecord::*;
    std::set<const std::string*> kept;
    const KeyRecord record;
    for (const auto text : {&KeyRecord::id, &KeyRecord::plan, &KeyRecord::limits, &KeyRecord::group,
                            &KeyRecord::billing_day}) {
        kept.insert(&(record.*text));
    }
    for (const auto text : kDetails) {
        kept.insert(&(record.*text));
    }
    for (const auto& field : record_fields()) {
        if (const auto* const text = std::get_if<Text>(&field.member)) {
            EXPECT_TRUE(kept.contains(&(record.**text))) << field.name;
        }
    }
}

TEST(RecordFields, AnInvalidOneIsKeptAndIsNoPermission) {
    for (const auto& field : record_fields()) {
        KeyRecord record = a_record();
        const bool is_valid = read_field(field, "\n", record);
        EXPECT_EQ(is_valid, field.name == "limits" || field.name == "state") << field.name;
        EXPECT_TRUE(field.form == FieldForm::kTime || field.form == FieldForm::kState ||
                    stored_text(field, record) == "\n")
            << field.name;
        EXPECT_EQ(record.is_valid_at(std::chrono::sys_seconds(std::chrono::seconds(1))),
                  field.form != FieldForm::kTime && field.form != FieldForm::kState)
            << field.name;
    }
}

}  // namespace
}  // namespace tollgate::redis
