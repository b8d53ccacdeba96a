#include "module/management/key_changes.hpp"

#include <gtest/gtest.h>

#include "module/management/audit.hpp"

namespace tollgate::management {
namespace {

TEST(KeyChangesTest, AreUnambiguousAsText) {
    EXPECT_EQ(audit_text({.values = {{"name", "A_shop"}, {"plan", "pro"}}}),
              "plan=pro name=A_shop");
    EXPECT_EQ(audit_text({.values = {{"name", "x scopes=admin"}}}), "name=\"x scopes=admin\"");
    EXPECT_EQ(audit_text({.values = {{"name", "none"}}}), "name=\"none\"");
    EXPECT_EQ(audit_text({.values = {{"name", ""}}}), "name=none");
    EXPECT_EQ(audit_text({.values = {{"name", "\""}}}), "name=\"\\\"\"");
    EXPECT_EQ(audit_text({.values = {{"limits", "60r/m 1000r/d"}}}), "limits=\"60r/m 1000r/d\"");
    EXPECT_EQ(
        audit_text({.meta = MetaChanges{.members = {{"a", MetaValue(true)}, {"b", std::nullopt}}}}),
        "meta=a,b");
    EXPECT_EQ(audit_text({.meta = MetaChanges{.is_cleared = true}}), "meta=none");
    EXPECT_EQ(
        audit_text({.meta = MetaChanges{.is_cleared = true, .members = {{"a", MetaValue(true)}}}}),
        "meta=none meta=a");
    EXPECT_EQ(audit_text({.meta = MetaChanges{}}), "");
}

TEST(AuditTest, CutsALongDetail) {
    const redis::Keys keys("t:");
    const auto detail_of = [&](const std::string& detail) {
        return add_to_audit(keys, {.actor = "a", .action = "set", .id = "i", .detail = detail})
            .back();
    };
    const std::string longest(kLongestDetail, 'x');
    EXPECT_EQ(detail_of(longest), longest);
    EXPECT_EQ(detail_of(longest + "x"), longest.substr(3) + "…");
    std::string euros;
    while (euros.size() <= kLongestDetail) {
        euros += "€";
    }
    const auto cut = detail_of(euros);
    EXPECT_LE(cut.size(), kLongestDetail);
    EXPECT_EQ(cut, euros.substr(0, cut.size() - 3) + "…");
    EXPECT_EQ((cut.size() - 3) % 3, 0U) << "no character is cut";
}

}  // namespace
}  // namespace tollgate::management
