#include "module/cli/notify/notice.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "module/cli/notify/key_notices.hpp"

namespace tollgate::cli {
namespace {

using namespace std::chrono_literals;

redis::Value text(std::string text) {
    redis::Value value;
    value.kind = redis::Value::Kind::kText;
    value.text = std::move(text);
    return value;
}

redis::Value entry(std::vector<std::string> fields, std::string id = "1800000000000-0") {
    redis::Value list;
    list.kind = redis::Value::Kind::kArray;
    for (auto& field : fields) {
        list.elements.push_back(text(std::move(field)));
    }
    redis::Value entry;
    entry.kind = redis::Value::Kind::kArray;
    entry.elements = {text(std::move(id)), std::move(list)};
    return entry;
}

std::vector<std::string> threshold() {
    return {"id",     "acme",  "table", "api", "value", "",     "period", "86400",
            "number", "20000", "level", "80",  "limit", "1000", "used",   "812"};
}

TEST(Notice, IsAWebhook) {
    const auto notice = read_notice(entry(threshold()));
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->entry, "1800000000000-0");
    EXPECT_EQ(notice->body,
              R"({"type":"quota.threshold_reached","timestamp":"2027-01-15T08:00:00Z",)"
              R"("data":{"id":"acme","table":"api","period":"day",)"
              R"("begin":"2024-10-04T00:00:00Z","end":"2024-10-05T00:00:00Z",)"
              R"("level":80,"limit":1000,"used":812}})");
}

TEST(Notice, NamesTheGroupOfItsCounter) {
    auto fields = threshold();
    fields[5] = "group";
    const auto notice = read_notice(entry(fields)).value();
    EXPECT_NE(notice.body.find(R"("data":{"group":"acme","table":"api","period")"),
              std::string::npos)
        << notice.body;
    EXPECT_NE(notice.id, read_notice(entry(threshold())).value().id);
}

TEST(Notice, HasTheIdOfItsWindowAndLevelAndLimit) {
    const auto id_with = [](std::size_t at, const std::string& value) {
        auto fields = threshold();
        fields[at] = value;
        return read_notice(entry(fields, "1800000099999-0")).value().id;
    };
    const auto id = read_notice(entry(threshold())).value().id;
    EXPECT_EQ(id_with(15, "990"), id) << "another count";
    const std::set<std::string> ids{id,
                                    id_with(1, "other"),
                                    id_with(3, "search"),
                                    id_with(5, "0123456789abcdef"),
                                    id_with(7, "3600"),
                                    id_with(9, "20001"),
                                    id_with(11, "100"),
                                    id_with(13, "2000")};
    EXPECT_EQ(ids.size(), 8U);
}

TEST(Notice, OfAKeyHasTheIdOfItsExpiry) {
    const auto read = [](const std::string& digest, const std::string& expires,
                         const std::string& level) {
        return read_notice(
                   entry({"id", "acme", "digest", digest, "expires", expires, "level", level}))
            .value();
    };
    const auto notice = read("d1", "1800604800", "7");
    EXPECT_EQ(notice.body, R"({"type":"key.expires_soon","timestamp":"2027-01-15T08:00:00Z",)"
                           R"("data":{"id":"acme","expires":"2027-01-22T08:00:00Z","days":7}})");
    EXPECT_EQ(read("d2", "1800604800", "7").id, notice.id) << "of the key that replaces it";
    const std::set<std::string> ids{notice.id, read("d1", "1800604801", "7").id,
                                    read("d1", "1800604800", "1").id};
    EXPECT_EQ(ids.size(), 3U);
}

TEST(Notice, HasTheTimeOfTheEntryThatWasMoved) {
    auto fields = threshold();
    const auto before = read_notice(entry(fields)).value();
    fields.insert(fields.end(), {"moved", "1800000000000-0"});
    const auto notice = read_notice(entry(fields, "1800000099999-0")).value();
    EXPECT_EQ(notice.entry, "1800000099999-0");
    EXPECT_EQ(notice.body, before.body);
    EXPECT_EQ(notice.noted, before.noted);
}

TEST(Notice, IsNoOtherEntry) {
    EXPECT_FALSE(read_notice(redis::Value()));
    EXPECT_FALSE(read_notice(entry({})));
    EXPECT_FALSE(read_notice(entry({"id", "acme"})));
    EXPECT_FALSE(
        read_notice(entry({"id", "acme", "digest", "d", "expires", "soon", "level", "7"})));
    for (const std::size_t at : {7, 9, 11, 13, 15}) {
        for (const auto* value : {"", "x", "-1", "99999999999999999999"}) {
            auto fields = threshold();
            fields[at] = value;
            EXPECT_FALSE(read_notice(entry(fields))) << fields[at - 1] << " " << value;
        }
    }
    EXPECT_FALSE(read_notice(entry(threshold(), "no id")));
}

TEST(DaysLeft, OfAKeyThatExpires) {
    const std::chrono::sys_seconds now(std::chrono::days(20000));
    management::StoredKey key;
    key.created = now - std::chrono::days(400);
    const auto left = [&](std::chrono::seconds rest) {
        key.record.expires = now + rest;
        return days_left(key, now).value_or(0);
    };
    EXPECT_EQ(left(31 * 24h), 0);
    EXPECT_EQ(left(30 * 24h), 30);
    EXPECT_EQ(left(7 * 24h + 1s), 30);
    EXPECT_EQ(left(7 * 24h), 7);
    EXPECT_EQ(left(24h + 1s), 7);
    EXPECT_EQ(left(24h), 1);
    EXPECT_EQ(left(1s), 1);
    EXPECT_EQ(left(0s), 0);
    key.created = now - 1h;
    key.issued = std::to_string((now - std::chrono::days(400)).time_since_epoch().count());
    EXPECT_EQ(left(29 * 24h), 30) << "a rotation made the key";
    key.issued.clear();
    EXPECT_EQ(left(29 * 24h), 0) << "it was never valid for more than 30 days";
    EXPECT_EQ(left(7 * 24h), 7);
    EXPECT_EQ(left(23h), 0);
    key.created = now - std::chrono::days(400);
    key.record.retiring = true;
    EXPECT_EQ(left(24h), 0);
    key.record.retiring = false;
    key.record.active = false;
    EXPECT_EQ(left(24h), 0);
    key.record.active = true;
    key.record.expires.reset();
    EXPECT_FALSE(days_left(key, now));
}

}  // namespace
}  // namespace tollgate::cli
