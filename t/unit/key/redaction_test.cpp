#include "module/key/redaction.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

std::string redacted(std::string line) {
    redact_credentials(line);
    return line;
}

TEST(RedactCredentials, BlanksTheFieldToTheEndOfItsLine) {
    EXPECT_EQ(redacted("http header: \"Authorization: Bearer k\"\n"),
              "http header: \"Authorization: *********\n");
    EXPECT_EQ(redacted("GET / HTTP/1.0\r\nAUTHORIZATION: Basic a\r\nHost: b\r\n"),
              "GET / HTTP/1.0\r\nAUTHORIZATION: *******\r\nHost: b\r\n");
    EXPECT_EQ(redacted("var: \"Bearer \"key\"\"\n"), "var: \"Bearer \"***\"\"\n");
    EXPECT_EQ(redacted("\"authorization: Bearer \"k\"\"\n"), "\"authorization: ***********\n");
}

TEST(RedactCredentials, BlanksEveryToken) {
    EXPECT_EQ(redacted("a Bearer kk, bearer   k\" x"), "a Bearer **, bearer   *\" x");
    EXPECT_EQ(redacted("\"Authorization : BEARER key\"\n"), "\"Authorization : BEARER ***\"\n");
    EXPECT_EQ(redacted("authorization: a\nauthorization: b"), "authorization: *\nauthorization: *");
}

// The scheme twice is a common mistake of clients.
TEST(RedactCredentials, BlanksATokenAfterAnotherOne) {
    EXPECT_EQ(redacted("x-key: \"Bearer Bearer kk\"\n"), "x-key: \"Bearer ****** **\"\n");
    EXPECT_EQ(redacted("x-key: \"Bearer abearer kk\"\n"), "x-key: \"Bearer ******* **\"\n");
    EXPECT_EQ(redacted("authorization: authorization: k\nbearer bearer k"),
              "authorization: ****************\nbearer ****** *");
}

TEST(RedactCredentials, LeavesOtherTextAlone) {
    for (const std::string_view line :
         {"", "bearer", "Bearer ", "forbearers", "authorization:", "authorization: ",
          "request: \"GET /authorization:x?bearer=1 HTTP/1.1\"", "authorized: yes"}) {
        EXPECT_EQ(redacted(std::string(line)), line);
    }
}

TEST(RedactCredentials, LeavesNoPieceOfACutLine) {
    const std::string line = "x: \"Authorization: Bearer KKKK\", client: c\n";
    for (std::size_t length = 0; length <= line.size(); ++length) {
        EXPECT_EQ(redacted(line.substr(0, length)).find('K'), std::string::npos) << length;
    }
}

}  // namespace
}  // namespace tollgate
