#include "module/management/admin/resource_path.hpp"

#include <gtest/gtest.h>

namespace tollgate::management {
namespace {

using Segments = std::vector<std::string>;

std::optional<Segments> segments_below(std::string_view base, std::string_view path) {
    const auto found = ResourcePath::below(base, path);
    return found ? std::optional(found->segments()) : std::nullopt;
}

TEST(ResourcePathTest, IsSplitBeforeItIsDecoded) {
    EXPECT_EQ(segments_below("/admin/", "/admin/keys"), Segments{"keys"});
    EXPECT_EQ(segments_below("/admin/", "/admin/keys/me%2F..%2Fvictim"),
              (Segments{"keys", "me/../victim"}));
    EXPECT_EQ(segments_below("/admin/", "/admin/keys/%2561"), (Segments{"keys", "%61"}));
    EXPECT_EQ(segments_below("/admin/", "/admin/keys/"), (Segments{"keys", ""}));
    EXPECT_EQ(segments_below("/admin/", "/admin/"), Segments{""});
    EXPECT_EQ(segments_below("/a/b/", "/%61/b/audit"), Segments{"audit"});
    EXPECT_EQ(segments_below("/", "/keys"), Segments{"keys"});
}

TEST(ResourcePathTest, IsNotNormalized) {
    EXPECT_EQ(segments_below("/admin/", "/x/../admin/keys"), std::nullopt);
    EXPECT_EQ(segments_below("/admin/", "//admin/keys"), std::nullopt);
    EXPECT_EQ(segments_below("/admin/", "/admin/keys/a/../b"), (Segments{"keys", "a", "..", "b"}));
    EXPECT_EQ(segments_below("/admin/", "/admin//keys"), (Segments{"", "keys"}));
}

TEST(ResourcePathTest, IsBelowTheLocation) {
    for (const auto* const path : {"", "/", "/admin", "/admi/keys", "/administrator/keys",
                                   "admin/keys", "/admin%2Fkeys", "/admin/%zz"}) {
        EXPECT_EQ(segments_below("/admin/", path), std::nullopt) << path;
    }
}

TEST(ResourcePathTest, HasOneText) {
    EXPECT_EQ(ResourcePath::below("/", "/keys/%61%2f")->text(), "keys/a%2F");
    EXPECT_EQ(ResourcePath::of_decoded("keys/a").text(), "keys/a");
}

}  // namespace
}  // namespace tollgate::management
