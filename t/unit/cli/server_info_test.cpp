#include "module/cli/redis/server_info.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tollgate::cli {
namespace {

/// A reply to INFO of a server that started an hour ago and has neither file nor snapshot, with
/// changed fields.
std::string info_with(const std::map<std::string, std::string>& changed) {
    std::map<std::string, std::string> fields{{"server_time_usec", "1800003600000000"},
                                              {"uptime_in_seconds", "3600"},
                                              {"maxmemory", "0"},
                                              {"maxmemory_policy", "noeviction"},
                                              {"rdb_changes_since_last_save", "3"},
                                              {"rdb_last_save_time", "1800000000"},
                                              {"rdb_last_bgsave_status", "ok"},
                                              {"aof_enabled", "0"}};
    for (const auto& [name, value] : changed) {
        fields[name] = value;
    }
    std::string info = "# Server\r\n";
    for (const auto& [name, value] : fields) {
        info.append(name).append(":").append(value).append("\r\n");
    }
    return info;
}

std::size_t dangers_with(const std::map<std::string, std::string>& changed) {
    return dangers_in(info_with(changed)).size();
}

TEST(DataSafety, NeedsAFileOrARecentSnapshot) {
    ASSERT_EQ(dangers_with({}), 1U);
    EXPECT_TRUE(dangers_in(info_with({})).front().text.starts_with("loses keys when it ends: "));
    EXPECT_EQ(dangers_with({{"aof_enabled", "1"}}), 0U);
    EXPECT_EQ(dangers_with({{"rdb_changes_since_last_save", "0"}}), 0U);
    EXPECT_EQ(dangers_with({{"rdb_last_save_time", "1800003300"}}), 0U);
    EXPECT_EQ(dangers_with({{"rdb_last_save_time", "1800003299"}}), 1U);
    EXPECT_EQ(
        dangers_with({{"rdb_last_save_time", "1800003600"}, {"rdb_last_bgsave_status", "err"}}),
        1U);
}

TEST(DataSafety, TheStartOfTheServerIsNoSnapshot) {
    EXPECT_EQ(dangers_with({{"uptime_in_seconds", "60"}, {"rdb_last_save_time", "1800003540"}}),
              1U);
    EXPECT_EQ(dangers_with({{"uptime_in_seconds", "60"}, {"rdb_last_save_time", "1800003550"}}),
              0U);
}

TEST(DataSafety, NeedsNoEviction) {
    const std::map<std::string, std::string> kept{{"aof_enabled", "1"}, {"maxmemory", "1000000"}};
    EXPECT_EQ(dangers_with(kept), 0U);
    for (const auto* policy : {"allkeys-lru", "volatile-ttl"}) {
        auto evicting = kept;
        evicting["maxmemory_policy"] = policy;
        ASSERT_EQ(dangers_with(evicting), 1U) << policy;
        EXPECT_NE(dangers_in(info_with(evicting)).front().text.find(policy), std::string::npos);
        evicting["maxmemory"] = "0";
        EXPECT_EQ(dangers_with(evicting), 0U) << "without maxmemory nothing is evicted";
    }
}

TEST(OldVersion, IsBefore6_2) {
    for (const auto* version : {"6.0.16", "6.1", "5.0.14", "2.8.24"}) {
        EXPECT_EQ(old_version_in(info_with({{"redis_version", version}})), version);
    }
    for (const auto* version : {"6.2.0", "6.10.1", "7.0.15", "10.0", "", "6", "x.y", "-1.2"}) {
        EXPECT_EQ(old_version_in(info_with({{"redis_version", version}})), "") << version;
    }
    EXPECT_EQ(
        old_version_in(info_with(
            {{"redis_version", "7.2.4"}, {"server_name", "valkey"}, {"valkey_version", "8.1.1"}})),
        "");
    EXPECT_EQ(old_version_in(info_with({})), "") << "not said";
}

TEST(DataSafety, UnknownFieldsAreNoDanger) {
    EXPECT_TRUE(dangers_in("").empty());
    EXPECT_TRUE(dangers_in("no fields\r\n# X\r\n:\r\naof_enabled").empty());
}

}  // namespace
}  // namespace tollgate::cli
