#include "module/redis/protocol/error_scope.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

TEST(ErrorScope, KnowsTheErrorsOfAServer) {
    for (const auto* message :
         {"OOM command not allowed when used memory > 'maxmemory'.",
          "READONLY You can't write against a read only replica.",
          "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
          "NOREPLICAS Not enough good replicas to write.",
          "LOADING Redis is loading the dataset in memory",
          "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
          "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
          "CLUSTERDOWN The cluster is down", "NOAUTH Authentication required.",
          "WRONGPASS invalid username-password pair or user is disabled.",
          "NOPERM this user has no permissions to run the 'evalsha' command",
          "DENIED Redis is running in protected mode", "ERR max number of clients reached",
          "ERR max number of clients + cluster connections reached", "OOM",
          "ERR Protocol error: unauthenticated multibulk length",
          "ERR The user executing the script can't run this command or subcommand",
          "ERR ACL failure in script: User default has no permissions to run the 'zadd' command"}) {
        EXPECT_EQ(error_scope(message), ErrorScope::kServer) << message;
    }
}

TEST(ErrorScope, KnowsTheErrorsOfAPlaceInACluster) {
    for (const auto* message : {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
                                "TRYAGAIN Multiple keys request during rehashing of slot",
                                "CROSSSLOT Keys in request don't hash to the same slot"}) {
        EXPECT_EQ(error_scope(message), ErrorScope::kCluster) << message;
    }
}

TEST(ErrorScope, TreatsAllOthersAsErrorsOfTheCommand) {
    for (const auto* message :
         {"WRONGTYPE Operation against a key holding the wrong kind of value", "NOSCRIPT No",
          "ERR unknown command 'EVALSHA'", "ERR OOM", "BUSYGROUP Consumer Group name exists",
          "BUSYKEY Target key name already exists.", "oom", "OOMS", "", " OOM", "ERR",
          "ERR max number", "@user_script", "@user_script: 12", "ERR @user_script: x: OOM"}) {
        EXPECT_EQ(error_scope(message), ErrorScope::kCommand) << message;
    }
}

TEST(ErrorScope, ReadsErrorsInScriptsOfEachRedisVersion) {
    for (const auto* message :
         {"OOM command not allowed when used memory > 'maxmemory'. script: 5ac, on @user_script:3.",
          "@user_script: 12: The user executing the script can't run this command or subcommand",
          "@user_script: 12: -OOM command not allowed when used memory > 'maxmemory'.\r\n",
          "ERR Error running script (call to f_5ac): @user_script:3: @user_script: 3: -LOADING "
          "Redis"}) {
        EXPECT_EQ(error_scope(message), ErrorScope::kServer) << message;
    }
    EXPECT_EQ(error_scope("@user_script: 12: WRONGTYPE Operation"), ErrorScope::kCommand);
    EXPECT_EQ(error_scope("ERR no such thing script: 5ac, on @user_script:3."),
              ErrorScope::kCommand);
}

TEST(ErrorScope, SaysWhatToDoInADeploymentOfSeveralServers) {
    const auto expect = [](ErrorAction action, std::initializer_list<std::string_view> messages) {
        for (const auto message : messages) {
            EXPECT_EQ(error_action(message), action) << message;
        }
    };
    expect(ErrorAction::kMoved, {"MOVED 3999 127.0.0.1:6381", "MOVED"});
    expect(ErrorAction::kAsk, {"ASK 3999 127.0.0.1:6381"});
    expect(ErrorAction::kRetryLater, {"TRYAGAIN Multiple keys request during rehashing of slot"});
    expect(ErrorAction::kRediscover,
           {"CLUSTERDOWN The cluster is down", "CLUSTERDOWN Hash slot not served",
            "LOADING Redis is loading the dataset in memory",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "READONLY You can't write against a read only replica.",
            "@user_script: 12: -READONLY You can't write against a read only replica.\r\n"});
    expect(ErrorAction::kUnavailable,
           {"NOREPLICAS Not enough good replicas to write.", "MISCONF Redis is configured to save",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "@user_script: 12: -OOM command not allowed when used memory > 'maxmemory'.\r\n"});
    expect(ErrorAction::kNone,
           {"", "ERR", "ERR MOVED 1 a:1", "WRONGTYPE Operation", "NOSCRIPT No", "moved 1 a:1",
            "ASKING", "CROSSSLOT Keys in request don't hash to the same slot",
            "NOAUTH Authentication required.", "NOPERM this user has no permissions",
            "BUSY Redis is busy running a script.", "ERR max number of clients reached"});
}

TEST(ErrorScope, NamesTheCode) {
    EXPECT_TRUE(has_error_code("READONLY You can't write", "READONLY"));
    EXPECT_TRUE(has_error_code("@user_script: 12: -READONLY You can't write\r\n", "READONLY"));
    EXPECT_FALSE(has_error_code("READONLYX", "READONLY"));
    EXPECT_FALSE(has_error_code("", "READONLY"));
}

}  // namespace
}  // namespace tollgate::redis
