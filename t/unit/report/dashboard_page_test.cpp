#include "module/report/dashboard_page.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

constexpr DashboardTemplate kTemplate{"<meta content=\"", "\">", "default-src 'none'"};

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

}  // namespace
}  // namespace tollgate
