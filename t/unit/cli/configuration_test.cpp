#include "module/cli/configuration/configuration.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {
namespace {

std::string configuration_refusal(std::string_view text) {
    try {
        parse_configuration(text);
    } catch (const ParseError& error) {
        return error.what();
    }
    return "";
}

TEST(Configuration, ReadsTheDirectives) {
    const auto all = parse_configuration(
        "# a comment\nredis redis://h:1/2;\nprefix 'a b:';\npassword_file /etc/p;\n");
    EXPECT_EQ(all.redis, "redis://h:1/2");
    EXPECT_EQ(all.prefix, "a b:");
    EXPECT_EQ(all.password_file, "/etc/p");
    EXPECT_FALSE(parse_configuration("#redis x;\n").redis);
    EXPECT_EQ(parse_configuration("prefix '';").prefix, "");
}

TEST(Configuration, RefusesMistakesWithTheirLine) {
    EXPECT_EQ(configuration_refusal("prefix a;\nprefix b;"), "line 2: \"prefix\" is duplicate");
    EXPECT_EQ(configuration_refusal("redis;"), "line 1: invalid number of arguments in \"redis\"");
    EXPECT_EQ(configuration_refusal("redis a b;"),
              "line 1: invalid number of arguments in \"redis\"");
    EXPECT_EQ(configuration_refusal("\nredis://:secret@h;"),
              "line 2: unknown directive: use redis, prefix or password_file");
    EXPECT_EQ(configuration_refusal("http { prefix a; }"), "line 1: a block is not expected");
    EXPECT_EQ(configuration_refusal("prefix a"),
              "line 1: unexpected end of file, expecting \";\" or \"}\"");
}

TEST(Configuration, TakesTheFirst) {
    const Configuration user{.redis = {}, .prefix = "u:", .password_file = {}};
    const Configuration system{.redis = "s", .prefix = "s:", .password_file = "/s"};
    const auto both = merged(user, system);
    EXPECT_EQ(both.prefix, "u:");
    EXPECT_EQ(both.redis, "s");
    EXPECT_EQ(both.password_file, "/s");
    EXPECT_EQ(merged({.redis = {}, .prefix = {}, .password_file = "/u"}, system).password_file,
              "/u");
}

TEST(Configuration, APasswordFileIsThatOfItsRedis) {
    const Configuration system{.redis = "s", .prefix = "s:", .password_file = "/s"};
    const auto other = merged({.redis = "u", .prefix = {}, .password_file = {}}, system);
    EXPECT_EQ(other.redis, "u");
    EXPECT_EQ(other.prefix, "s:");
    EXPECT_FALSE(other.password_file);
}

}  // namespace
}  // namespace tollgate::cli
