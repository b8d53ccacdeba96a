#include "module/redis/protocol/lookup.hpp"

#include <gtest/gtest.h>

#include <map>

#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {
namespace {

using Outcome = Lookup::Outcome;

/// The result of a look-up of a record with these fields; an absent one is nil.
Lookup lookup(const std::map<std::string, std::string>& record, const std::string& lifetime = "-1",
              const std::string& revoked = "$-1") {
    std::string text = "*" + std::to_string(record_fields().size() + 2) + "\r\n";
    for (const auto& described : record_fields()) {
        const auto field = record.find(std::string(described.name));
        text += field == record.end()
                    ? "$-1\r\n"
                    : "$" + std::to_string(field->second.size()) + "\r\n" + field->second + "\r\n";
    }
    text += revoked + "\r\n:" + lifetime + "\r\n";
    ReplyReader reader;
    reader.feed(text);
    return read_lookup(elements_of(*reader.next()));
}

const std::map<std::string, std::string> kRecord{
    {"id", "k1"}, {"name", "A \"name\""}, {"plan", "free"}, {"state", "active"}};

std::map<std::string, std::string> with(const std::string& field, const std::string& value) {
    auto record = kRecord;
    record[field] = value;
    return record;
}

TEST(Lookup, FindsARecord) {
    const auto found = lookup(with("limits", "5r/s"));
    EXPECT_EQ(found.outcome, Outcome::kFound);
    EXPECT_EQ(found.record.id, "k1");
    EXPECT_EQ(found.record.name, "A \"name\"");
    EXPECT_EQ(found.record.plan, "free");
    EXPECT_EQ(found.record.limits, "5r/s");
    EXPECT_TRUE(found.record.active);
    EXPECT_FALSE(found.record.expires);
}

TEST(Lookup, IsUnknownWithoutAnId) {
    EXPECT_EQ(lookup({}).outcome, Outcome::kUnknown);
}

TEST(Lookup, TellsWhichIdARevokedKeyHad) {
    const auto revoked = lookup({}, "-1", "$2\r\nk1");
    EXPECT_EQ(revoked.outcome, Outcome::kRevoked);
    EXPECT_EQ(revoked.record.id, "k1");
    EXPECT_EQ(lookup({}, "-1", "$2\r\n{}").outcome, Outcome::kUnknown) << "not an id";
    EXPECT_EQ(lookup(kRecord, "-1", "$2\r\nk1").outcome, Outcome::kFound);
}

TEST(Lookup, IsActiveOnlyInTheActiveState) {
    EXPECT_FALSE(lookup(with("state", "disabled")).record.active);
    EXPECT_FALSE(lookup(with("state", "")).record.active);
    EXPECT_FALSE(lookup({{"id", "k1"}, {"plan", "free"}}).record.active);
}

TEST(Lookup, ReadsTheEnd) {
    const auto found = lookup(with("expires", "1000"));
    ASSERT_TRUE(found.record.expires);
    const std::chrono::sys_seconds end(std::chrono::seconds(1000));
    EXPECT_TRUE(found.record.is_valid_at(end - std::chrono::seconds(1)));
    EXPECT_FALSE(found.record.is_valid_at(end));
    EXPECT_FALSE(lookup(with("expires", "")).record.expires);
}

TEST(Lookup, ReadsScopesAndMeta) {
    const auto record = lookup(kRecord).record;
    EXPECT_EQ(record.scopes, "");
    EXPECT_EQ(record.meta, "");
    EXPECT_EQ(lookup(with("scopes", "write  read")).record.scopes, "read write")
        << "in the canonical form";
    EXPECT_EQ(lookup(with("meta", R"({ "b": 1, "a": "x" })")).record.meta, R"({"a":"x","b":1})");
    EXPECT_EQ(lookup(with("meta", "{}")).record.meta, "");
}

TEST(Lookup, AKeyWithALifetimeIsRetiring) {
    EXPECT_FALSE(lookup(kRecord).record.retiring);
    EXPECT_TRUE(lookup(kRecord, "1000").record.retiring);
    EXPECT_TRUE(lookup(kRecord, "0").record.retiring);
}

TEST(Lookup, RefusesARecordThatNoCommandWrote) {
    for (const auto& record : {
             with("id", ""),
             with("id", "a b"),
             with("id", "a}"),
             with("id", "a\r\nb"),
             with("id", std::string("a\0b", 3)),
             with("id", std::string(65, 'a')),
             with("plan", ""),
             with("plan", "a\""),
             with("name", "a\nb"),
             with("name", std::string(257, 'a')),
             with("expires", "x"),
             with("expires", "-1"),
             with("expires", "1.5"),
             with("expires", "999999999999999"),
             with("scopes", "a\nb"),
             with("scopes", "a\""),
             with("scopes", std::string(257, 'a')),
             with("meta", "x"),
             with("meta", "[]"),
             with("meta", R"({"A":1})"),
             with("meta", R"({"a":null})"),
         }) {
        const auto found = lookup(record);
        EXPECT_EQ(found.outcome, Outcome::kMalformed);
        EXPECT_EQ(found.record.id, "");
    }
}

TEST(Lookup, ReportsOtherRepliesAsUnexpected) {
    for (const std::string_view text :
         {"*0\r\n", "*1\r\n$1\r\na\r\n",
          "*9\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
          "*9\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n"}) {
        ReplyReader reader;
        reader.feed(text);
        EXPECT_EQ(read_lookup(elements_of(*reader.next())).outcome, Outcome::kUnexpected) << text;
    }
}

}  // namespace
}  // namespace tollgate::redis
