#include "module/management/stored_key.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>

namespace tollgate::management {
namespace {

StoredKey a_key() {
    StoredKey key{.digest = "d", .created = std::chrono::sys_seconds(std::chrono::seconds(1))};
    key.record.id = "a";
    key.record.name = "n";
    key.record.plan = "p";
    return key;
}

TEST(KeyVersionTest, DependsOnWhatIsStored) {
    const auto version = version_of(a_key());
    const auto changed = [&](const std::function<void(StoredKey&)>& change) {
        auto key = a_key();
        change(key);
        return version_of(key) != version;
    };
    EXPECT_TRUE(changed([](StoredKey& key) { key.digest = "e"; }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.created += std::chrono::seconds(1); }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.record.expires = key.created; }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.record.active = !key.record.active; }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.replaced = true; }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.rotation = "r"; }));
    EXPECT_TRUE(changed([](StoredKey& key) { key.record.limits = "1r/m"; }));
    EXPECT_FALSE(changed([](StoredKey& key) { key.used = key.created; }));
    EXPECT_FALSE(changed([](StoredKey& key) { key.operation = "o"; }));
    EXPECT_FALSE(changed([](StoredKey& key) { key.record.retiring = true; }));
}

TEST(KeyVersionTest, TellsNeighbouringFieldsApart) {
    auto one = a_key();
    auto other = a_key();
    one.record.name = "plan";
    one.record.scopes = "";
    other.record.name = "";
    other.record.scopes = "plan";
    EXPECT_NE(version_of(one), version_of(other));
}

TEST(KeyVersionTest, IsThatOfTheCurrentKey) {
    KeysOfId keys{.id = "a", .keys = {}};
    EXPECT_EQ(version_of(keys), std::nullopt);
    keys.keys.push_back(a_key());
    keys.keys.push_back(a_key());
    keys.keys.back().digest = "old";
    EXPECT_EQ(version_of(keys), version_of(a_key()));
}

}  // namespace
}  // namespace tollgate::management
