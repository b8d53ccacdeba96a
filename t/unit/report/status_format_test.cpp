#include "module/report/status.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

constexpr auto kJson = StatusFormat::kJson;
constexpr auto kPrometheus = StatusFormat::kPrometheus;

TEST(PreferredStatusFormat, IsJsonUnlessTextIsNamed) {
    EXPECT_EQ(preferred_status_format(""), kJson);
    EXPECT_EQ(preferred_status_format("*/*"), kJson);
    EXPECT_EQ(preferred_status_format("text/html,application/xhtml+xml,*/*;q=0.8"), kJson);
    EXPECT_EQ(preferred_status_format("application/json"), kJson);
    EXPECT_EQ(preferred_status_format("text/plainer"), kJson);
}

TEST(PreferredStatusFormat, IsPrometheusForItsServers) {
    // Prometheus 2.37, 2.50 and 3.0.
    EXPECT_EQ(preferred_status_format("application/openmetrics-text; version=0.0.1,text/plain;"
                                      "version=0.0.4;q=0.5,*/*;q=0.1"),
              kPrometheus);
    EXPECT_EQ(preferred_status_format("application/openmetrics-text;version=1.0.0;q=0.75,text/"
                                      "plain;version=0.0.4;q=0.5,*/*;q=0.1"),
              kPrometheus);
    EXPECT_EQ(preferred_status_format("application/openmetrics-text;version=1.0.0;escaping=allow-"
                                      "utf-8;q=0.6,text/plain;version=0.0.4;q=0.2,/;q=0.1"),
              kPrometheus);
    EXPECT_EQ(preferred_status_format("text/plain"), kPrometheus);
    EXPECT_EQ(preferred_status_format(" TEXT/Plain ; Q=0.1 "), kPrometheus);
}

TEST(PreferredStatusFormat, WeighsTextAgainstJson) {
    EXPECT_EQ(preferred_status_format("application/json, text/plain, */*"), kJson);
    EXPECT_EQ(preferred_status_format("text/plain, application/json"), kJson);
    EXPECT_EQ(preferred_status_format("text/plain, application/json;q=0.9"), kPrometheus);
    EXPECT_EQ(preferred_status_format("text/plain;q=0.25,application/json;q=0.3"), kJson);
    EXPECT_EQ(preferred_status_format("text/plain;q=0.31,application/json;q=0.305"), kPrometheus);
    EXPECT_EQ(preferred_status_format("text/plain;q=0"), kJson);
    EXPECT_EQ(preferred_status_format("text/plain;q=0.000,application/json;q=0"), kJson);
    EXPECT_EQ(preferred_status_format("text/plain;q=0.2,text/plain;version=0.0.4,"
                                      "application/json;q=0.5"),
              kPrometheus);
}

TEST(PreferredStatusFormat, IgnoresInvalidParameters) {
    for (const auto* text : {",", ";", ";;,,;q", "text/plain;q=,", "q=1", "text/plain;q=0.x", "=",
                             "text/plain;q=0.99999999999999999999999999"}) {
        preferred_status_format(text);
    }
    EXPECT_EQ(preferred_status_format("text/plain;q=x,application/json;q=0.5"), kPrometheus);
}

}  // namespace
}  // namespace tollgate
