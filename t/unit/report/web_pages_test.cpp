#include "module/report/web_pages.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

constexpr PageTemplate kTemplate{"<meta content=\"", "\">", "default-src 'none'"};

TEST(DashboardPage, HasTheAddressOfTheStatus) {
    EXPECT_EQ(dashboard_page(kTemplate, "status"), R"(<meta content="status">)");
    for (const auto* uri :
         {"/tollgate/status", "../status", "./a:b", "/a//b", "?of=a:b", "/status#x"}) {
        EXPECT_NE(dashboard_page(kTemplate, uri).find(uri), std::string::npos) << uri;
    }
}

TEST(DashboardPage, EscapesIt) {
    EXPECT_EQ(dashboard_page(kTemplate, R"(/"><script>&)"),
              R"(<meta content="/&quot;&gt;&lt;script&gt;&amp;">)");
}

TEST(DashboardPage, TakesNoAddressOfAnotherHost) {
    for (const auto* uri : {"", "//host/status", "http://host/status", "javascript:x", "/\\host",
                            "\\\\host", "/\t/host", " //host", "/a\nb", "/a\x7f"}) {
        EXPECT_THROW(dashboard_page(kTemplate, uri), ParseError) << uri;
    }
}

TEST(ConsolePage, HasTheAddressOfTheApi) {
    EXPECT_EQ(console_page(kTemplate, "/admin/"), R"(<meta content="/admin/">)");
    EXPECT_EQ(console_page(kTemplate, "/a&\"b\"/"), R"(<meta content="/a&amp;&quot;b&quot;/">)");
    EXPECT_EQ(console_page(kTemplate, "/"), R"(<meta content="/">)");
}

TEST(ConsolePage, TakesOnlyAbsolutePathsOfLocations) {
    for (const auto* uri : {"", "admin/", "/admin", "//host/", "http://host/", "/\\host/", "/a?b/",
                            "/a#b/", "/a b/", "/a\n/"}) {
        EXPECT_THROW(console_page(kTemplate, uri), ParseError) << uri;
    }
}

}  // namespace
}  // namespace tollgate
