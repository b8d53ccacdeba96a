#include "module/cli/simulation/log_line.hpp"

#include <gtest/gtest.h>

namespace tollgate::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kTen = Instant(1795428000s);  // 2026-11-23T10:00:00Z

/// A line, its parser and what it says.
struct Parsed {
    explicit Parsed(std::string text, const LogFields& fields = {})
        : line(std::move(text)), parser(fields), reason(parser.parse(line, request)) {}

    std::string line;
    LogLineParser parser;
    LoggedRequest request;
    std::string reason;
};

const std::string kDocument =
    R"({"time":"2026-11-23T10:00:01+00:00","msec":1795428001.250,)"
    R"("request":"0123456789abcdef0123456789abcdef","client":"192.0.2.1","method":"GET",)"
    R"("uri":"/a?b=\"c\"","status":"200","bytes":314,"seconds":0.150,"upstream_status":"",)"
    R"("agent":"agent \"x\"\\","verdict":"granted","key_id":"k1","key_name":"a \"name\"",)"
    R"("plan":"free","cost":"3","limit":"60","remaining":"12","reset":"1795428060"})";

/// kDocument with a text instead of another.
std::string changed(const std::string& from, const std::string& to) {
    std::string line = kDocument;
    const auto at = line.find(from);
    EXPECT_NE(at, std::string::npos);
    return line.replace(at, from.size(), to);
}

TEST(LogLine, ReadsADocument) {
    const Parsed parsed(kDocument);
    EXPECT_EQ(parsed.reason, "");
    EXPECT_EQ(parsed.request.began, kTen + 1100ms);
    EXPECT_EQ(parsed.request.id, "k1");
    EXPECT_EQ(parsed.request.plan, "free");
    EXPECT_EQ(parsed.request.uri, "/a?b=\"c\"");
    EXPECT_EQ(parsed.request.request, "0123456789abcdef0123456789abcdef");
    EXPECT_EQ(parsed.request.cost, 3);
    EXPECT_TRUE(parsed.request.has_id_field);
    EXPECT_FALSE(parsed.request.is_forbidden);
    EXPECT_FALSE(parsed.request.is_refused);
}

TEST(LogLine, ReadsFurtherLinesWithOtherMembers) {
    LogLineParser parser({});
    LoggedRequest request;
    for (const auto* line :
         {R"({"key_id":"a","msec":1.5})", R"({"msec":2.5,"key_id":"b"})",
          R"({"key_id":"c","other":{"key_id":"x"},"msec":3.5})", R"({"key_id":"a","msec":4.5})"}) {
        EXPECT_EQ(parser.parse(line, request), "");
        EXPECT_EQ(request.id, std::string_view(&line[std::string_view(line).find(":\"") + 2], 1));
    }
    EXPECT_EQ(request.began, Instant(4500ms));
    EXPECT_EQ(parser.parse(R"({"msec":5})", request), "");
    EXPECT_EQ(request.id, "");
    EXPECT_FALSE(request.has_id_field);
}

TEST(LogLine, TakesTheMiddleOfASecond) {
    EXPECT_EQ(Parsed(changed("\"msec\":1795428001.250,", "")).request.began, kTen + 1350ms);
    EXPECT_EQ(Parsed(changed("1795428001.250", "1795428001")).request.began, kTen + 1350ms);
}

TEST(LogLine, ReadsVerdicts) {
    EXPECT_TRUE(Parsed(changed("granted", "limited")).request.is_refused);
    EXPECT_TRUE(Parsed(changed("granted", "banned")).request.is_refused);
    EXPECT_TRUE(Parsed(changed("granted", "forbidden")).request.is_forbidden);
    EXPECT_FALSE(Parsed(changed("\"200\"", "\"429\"")).request.is_refused)
        << "the upstream refused it";
    EXPECT_TRUE(Parsed(R"({"msec":1.5,"key_id":"a","status":429})").request.is_refused);
}

TEST(LogLine, AcceptsMissingValues) {
    const Parsed parsed(
        R"({ "msec" : 1.5 , "key_id" : null, "plan":"-", "cost":"", "request":"GET / HTTP/1.1" } )");
    EXPECT_EQ(parsed.reason, "");
    EXPECT_EQ(parsed.request.id, "");
    EXPECT_TRUE(parsed.request.has_id_field);
    EXPECT_EQ(parsed.request.plan, "");
    EXPECT_EQ(parsed.request.cost, 1);
    EXPECT_EQ(parsed.request.request, "");
}

TEST(LogLine, AcceptsBytesThatAreNotUtf8) {
    EXPECT_EQ(Parsed(changed("agent ", "\xff\xfe")).reason, "");
    EXPECT_EQ(Parsed(changed("\"k1\"", "\"\xff\\\"\"")).request.id, "\xff\\\"");
    EXPECT_EQ(Parsed(changed("\"k1\"", R"("\u00e4\ud83d\ude00")")).request.id, "ä😀");
}

TEST(LogLine, RefusesWhatItCannotRead) {
    const std::string no_document = "not a JSON document";
    for (const auto* line :
         {"{", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1", "{\"a\":\"1}", "{,}",
          "{\"a\":[1}", "{\"a\":1 \"b\":2}", "{\"a\":\"\\\"}", "{a:1}"}) {
        const Parsed parsed(line);
        EXPECT_TRUE(parsed.reason == no_document || parsed.reason == "no time") << line;
    }
    EXPECT_EQ(Parsed(kDocument.substr(0, 200)).reason, no_document);
    EXPECT_EQ(Parsed(kDocument + "{").reason, no_document);
    EXPECT_EQ(Parsed("{}").reason, "no time");
    EXPECT_EQ(Parsed(changed("1795428001.250", "\"soon\"")).reason, "invalid time");
    EXPECT_EQ(Parsed(changed("0.150", "-1")).reason, "invalid duration");
    EXPECT_EQ(Parsed(changed("\"3\"", "-3")).reason, "invalid cost");
    EXPECT_EQ(Parsed(changed("\"3\"", "1000000000002")).reason, "invalid cost");
    // The gateway logs this of a request that names a larger cost.
    EXPECT_EQ(Parsed(changed("\"3\"", "1000000000001")).request.cost, 1'000'000'000'001);
    EXPECT_EQ(Parsed("").reason, "no time");
    EXPECT_EQ(Parsed("192.0.2.1 - - [23/Nov/2026:10:00:01 +0000").reason,
              "a quote or bracket is not closed");
    EXPECT_EQ(Parsed("192.0.2.1 - - [yesterday] \"GET / HTTP/1.1\" 200").reason, "invalid time");
    EXPECT_EQ(Parsed("{\"msec\":1.5,\"seconds\":2}").reason, "invalid duration");
}

const std::string kCombined =
    R"(192.0.2.1 - alice [23/Nov/2026:11:00:01 +0100] "GET /a?b=c HTTP/1.1" 429 314 "-" "a [x] \"y\"" key-7)";

TEST(LogLine, ReadsCombined) {
    const Parsed parsed(kCombined, {.id = "remote_user"});
    EXPECT_EQ(parsed.reason, "");
    EXPECT_EQ(parsed.request.began, kTen + 1500ms);
    EXPECT_EQ(parsed.request.id, "alice");
    EXPECT_EQ(parsed.request.plan, "");
    EXPECT_EQ(parsed.request.uri, "/a?b=c");
    EXPECT_TRUE(parsed.request.is_refused);
    EXPECT_EQ(Parsed(kCombined, {.id = "remote_addr"}).request.id, "192.0.2.1");
    EXPECT_EQ(Parsed(kCombined, {.id = "9"}).request.id, "a [x] \\\"y\\\"");
    EXPECT_EQ(Parsed(kCombined, {.id = "10"}).request.id, "key-7");
    EXPECT_EQ(Parsed(kCombined, {.id = "8"}).request.id, "");
    EXPECT_TRUE(Parsed(kCombined, {.id = "8"}).request.has_id_field);
    EXPECT_FALSE(Parsed(kCombined, {.id = "11"}).request.has_id_field);
    EXPECT_FALSE(Parsed(kCombined).request.has_id_field);
    EXPECT_EQ(
        Parsed(R"(::1 - a b [23/Nov/2026:11:00:01 +0100] "-" 400 0 "-" "-")", {.id = "remote_user"})
            .request.id,
        "a b");
}

TEST(LogLine, ReadsNamedWords) {
    const std::string line =
        R"(192.0.2.1 [23/Nov/2026:10:00:01 +0000] "GET / HTTP/1.1" 200 verdict=limited key=k1 )"
        R"(plan=free time=0.5 request_time=0.250 name="a b" cost=- msec=1795428001.900)";
    const Parsed parsed(line);
    EXPECT_EQ(parsed.reason, "");
    EXPECT_EQ(parsed.request.began, kTen + 1650ms);
    EXPECT_EQ(parsed.request.id, "k1");
    EXPECT_EQ(parsed.request.plan, "free");
    EXPECT_TRUE(parsed.request.is_refused);
    EXPECT_EQ(parsed.request.cost, 1);
    EXPECT_EQ(Parsed(line, {.id = "name"}).request.id, "a b");
}

TEST(LogLine, ReadsOtherFields) {
    const Parsed parsed(
        R"({"ts":"2026-11-23T10:00:01.250Z","who":"bob","tier":"gold","units":7,"msec":1.5})",
        {.id = "who", .plan = "tier", .cost = "units", .time = "ts"});
    EXPECT_EQ(parsed.reason, "");
    EXPECT_EQ(parsed.request.began, kTen + 1250ms);
    EXPECT_EQ(parsed.request.id, "bob");
    EXPECT_EQ(parsed.request.plan, "gold");
    EXPECT_EQ(parsed.request.cost, 7);
}

TEST(LogTimeText, ReadsTheFormatsOfNginx) {
    const auto exact = LogTime{kTen + 250ms, true};
    EXPECT_EQ(parse_log_time("1795428000.250"), exact);
    EXPECT_EQ(parse_log_time("1795428000.2509"), exact);
    EXPECT_EQ(parse_log_time("2026-11-23T10:00:00.25Z"), exact);
    EXPECT_EQ(parse_log_time("2026-11-23T12:00:00.250+02:00"), exact);
    const auto second = LogTime{kTen, false};
    EXPECT_EQ(parse_log_time("1795428000"), second);
    EXPECT_EQ(parse_log_time("2026-11-23T10:00:00+00:00"), second);
    EXPECT_EQ(parse_log_time("23/Nov/2026:10:00:00 +0000"), second);
    EXPECT_EQ(parse_log_time("23/Nov/2026:04:30:00 -0530"), second);
    for (const auto* text :
         {"", "-", "soon", "1795428000.", ".5", "-1", "1e9", "1795428000.x", "23/Nov/2026:10:00:00",
          "23/nov/2026:10:00:00 +0000", "31/Feb/2026:10:00:00 +0000", "2026-11-23T10:00:00.Z",
          "999999999999999"}) {
        EXPECT_EQ(parse_log_time(text), std::nullopt) << text;
    }
}

TEST(LogTimeText, ReadsDurations) {
    EXPECT_EQ(parse_log_seconds("0.000"), 0ms);
    EXPECT_EQ(parse_log_seconds("12.034"), 12034ms);
    EXPECT_EQ(parse_log_seconds("7"), 7s);
    for (const auto* text : {"", "-", "-0.1", "0.1, 0.2", "999999999"}) {
        EXPECT_EQ(parse_log_seconds(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace tollgate::cli
