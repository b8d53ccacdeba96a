#include "module/key/redaction.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tollgate {
namespace {

std::string redacted(std::string line, const std::vector<std::string>& fields = {}) {
    redact_credentials(line, fields);
    return line;
}

std::string without(std::string line, std::string_view value) {
    redact_value(line, value);
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

TEST(RedactCredentials, BlanksTheFieldsWithKeys) {
    const std::vector<std::string> fields{"apikey", "x-key"};
    EXPECT_EQ(redacted("http header: \"ApiKey: k 1\"\n", fields), "http header: \"ApiKey: ****\n");
    EXPECT_EQ(redacted("\"GET / HTTP/1.0\r\napikey: k\r\nX-Key:k\r\nHost: b\r\n", fields),
              "\"GET / HTTP/1.0\r\napikey: *\r\nX-Key:*\r\nHost: b\r\n");
    EXPECT_EQ(redacted("invalid header line: \"x-key \t: k\", client: c", fields),
              "invalid header line: \"x-key \t: *************");
    EXPECT_EQ(redacted("apikey: k\napikey: k", fields), "apikey: *\napikey: *");
    EXPECT_EQ(redacted("apikey: k", {}), "apikey: k");
}

TEST(RedactCredentials, LeavesOtherFieldsAlone) {
    for (const std::string_view line :
         {"\"x-apikey: k\"", "\"apikeys: k\"", "apikey", "\"apikey \"", "GET /apikey: k",
          "request: \"GET /apikey:k HTTP/1.1\"", "apikey:", "apikey: "}) {
        EXPECT_EQ(redacted(std::string(line), {"apikey"}), line);
    }
}

TEST(RedactCredentials, BlanksTheLiteralsOfHttp3) {
    EXPECT_EQ(redacted("*5 http3 parse literal done \"key\"\n", {"apikey"}),
              "*5 http3 parse literal done \"****\n");
    EXPECT_EQ(redacted("http3 insert [1] \"apikey\":\"key\"", {"apikey"}),
              "http3 insert ******************");
    EXPECT_EQ(redacted("http3 parse literal done \"key\"", {}), "http3 parse literal done \"key\"");
}

TEST(RedactValue, BlanksItWithoutItsName) {
    EXPECT_EQ(without("http script var: \"12345678\" 12345678", "12345678"),
              "http script var: \"********\" ********");
    EXPECT_EQ(without("1234567812345678", "12345678"), "****************");
    EXPECT_EQ(without("123456", "12345678"), "123456");
}

TEST(RedactValue, HidesNoClient) {
    EXPECT_EQ(without("a 10.1.1.11, client: 10.1.1.11, server: s", "10.1.1.11"),
              "a *********, client: 10.1.1.11, server: s");
    EXPECT_EQ(without("a 1234567", "1234567"), "a 1234567") << "too short";
    EXPECT_EQ(without("a", ""), "a");
}

TEST(RedactCredentials, LeavesNoPieceOfACutLine) {
    const std::string line = "x: \"Authorization: Bearer KKKK\", client: c\n";
    for (std::size_t length = 0; length <= line.size(); ++length) {
        EXPECT_EQ(redacted(line.substr(0, length)).find('K'), std::string::npos) << length;
    }
    const std::string field = "x: \"x-api: KKKK\", client: c\n";
    for (std::size_t length = 0; length <= field.size(); ++length) {
        EXPECT_EQ(redacted(field.substr(0, length), {"x-api"}).find('K'), std::string::npos);
    }
}

}  // namespace
}  // namespace tollgate
