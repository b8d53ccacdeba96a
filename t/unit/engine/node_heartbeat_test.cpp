// How the nodes that share a Redis are counted, and what the count is used for.

#include "module/engine/node_heartbeat.hpp"

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class NodeHeartbeatTest : public EngineTest {
  protected:
    std::int64_t nodes(Worker& worker) { return worker.engine.nodes(); }
    /// Enters this number of other nodes in Redis.
    void add_nodes(int count, std::chrono::milliseconds time = 1h) {
        for (int i = 0; i < count; ++i) {
            redis.nodes["other" + std::to_string(i)] = workers.front()->clock.wall() + time;
        }
    }
};

TEST_F(NodeHeartbeatTest, OneWorkerEntersItsNodeEachSecond) {
    Worker& first = start();
    start();
    run_for(10ms);
    EXPECT_EQ(redis.nodes.size(), 1U);
    EXPECT_TRUE(redis.nodes.contains("0000000000000007"));
    const int sent = redis.heartbeats;
    EXPECT_EQ(sent, 1);
    run_for(10s);
    EXPECT_EQ(redis.heartbeats, sent + 10);
    add_nodes(4);
    run_for(1100ms);
    EXPECT_EQ(nodes(first), 5);
}

TEST_F(NodeHeartbeatTest, ANodeThatIsGoneIsForgotten) {
    Worker& worker = start();
    add_nodes(4, 2500ms);
    run_for(1100ms);
    EXPECT_EQ(nodes(worker), 5);
    run_for(4s);
    EXPECT_EQ(nodes(worker), 5) << "they may enter themselves again";
    run_for(2s);
    EXPECT_EQ(nodes(worker), 1);
}

TEST_F(NodeHeartbeatTest, ALossOfTheSetIsNoLossOfNodes) {
    Worker& worker = start();
    add_nodes(4);
    run_for(1100ms);
    EXPECT_EQ(nodes(worker), 5);
    redis.nodes.clear();
    run_for(1s);
    EXPECT_EQ(redis.nodes.size(), 1U);
    EXPECT_EQ(nodes(worker), 5);
    add_nodes(2);
    run_for(1s);
    EXPECT_EQ(nodes(worker), 5) << "two of four have returned";
    run_for(2s);
    EXPECT_EQ(nodes(worker), 3) << "the others are gone";
    add_nodes(4);
    run_for(1s);
    EXPECT_EQ(nodes(worker), 5);
}

TEST_F(NodeHeartbeatTest, ManyNodesSendFewer) {
    Worker& worker = start();
    add_nodes(999);
    run_for(1100ms);
    EXPECT_EQ(nodes(worker), 1000);
    const int sent = redis.heartbeats;
    run_for(60s);
    EXPECT_GE(redis.heartbeats, sent + 5);
    EXPECT_LE(redis.heartbeats, sent + 7);
}

TEST_F(NodeHeartbeatTest, TheFirstCountsAfterAnOutageOnlyRaiseTheNumber) {
    Worker& worker = start();
    add_nodes(4, 2500ms);
    run_for(1100ms);
    worker.transport.reachable = false;
    run_for(10s);
    EXPECT_EQ(nodes(worker), 5) << "as when Redis was last reachable";
    worker.transport.reachable = true;
    run_for(1100ms);
    EXPECT_EQ(redis.nodes.size(), 1U);
    EXPECT_EQ(nodes(worker), 5) << "the others have yet to return";
    run_for(1100ms);
    EXPECT_EQ(nodes(worker), 5) << "... which may take two seconds";
    run_for(2s);
    EXPECT_EQ(nodes(worker), 1);
}

TEST_F(NodeHeartbeatTest, ARefusalIsLoggedOnceAndRepeatedLessAndLess) {
    Worker& worker = start();
    int sent = 0;
    worker.transport.replace_reply = [&](const redis::Call& call) {
        ++sent;
        return call.script == &redis::heartbeat_script() ? std::optional("-NOPERM no zadd\r\n")
                                                         : std::nullopt;
    };
    run_for(59s);
    EXPECT_EQ(sent, 6) << "after 1, 2, 4, 8 and 16 seconds";
    EXPECT_EQ(worker.log.lines, (std::vector<std::string>{
                                    "redis \"main\": nodes are not counted; a node that decides "
                                    "alone grants all that is left: NOPERM no zadd"}));
    run_for(10min);
    EXPECT_EQ(sent, 6 + 10) << "at last each minute";
    EXPECT_EQ(worker.log.lines.size(), 1U);
    EXPECT_EQ(nodes(worker), 1);
}

TEST_F(NodeHeartbeatTest, ANodeThatIsRefusedForAMomentIsCountedSoon) {
    Worker& worker = start();
    worker.transport.replace_reply = [&](const redis::Call&) {
        redis.nodes.clear();
        return std::optional("-NOPERM no evalsha\r\n");
    };
    run_for(3s);
    ASSERT_TRUE(redis.nodes.empty());
    worker.transport.replace_reply = {};
    run_for(4s);
    EXPECT_EQ(redis.nodes.size(), 1U);
    const int sent = redis.heartbeats;
    run_for(10s);
    EXPECT_EQ(redis.heartbeats, sent + 10) << "each second again";
}

TEST_F(NodeHeartbeatTest, AnErrorOfTheSetAloneIsARefusal) {
    Worker& worker = start();
    worker.transport.replace_reply = [](const redis::Call&) {
        return std::optional("*1\r\n*1\r\n$22\r\nWRONGTYPE not a string\r\n");
    };
    run_for(59s);
    EXPECT_EQ(worker.log.lines.size(), 1U);
}

TEST_F(NodeHeartbeatTest, AnErrorThatEndsByItselfChangesNothing) {
    Worker& worker = start();
    std::string error;
    int sent = 0;
    worker.transport.replace_reply = [&](const redis::Call&) {
        ++sent;
        return std::optional(error);
    };
    for (const auto* text :
         {"LOADING", "NOREPLICAS", "READONLY", "MISCONF", "CLUSTERDOWN", "MOVED", "TRYAGAIN"}) {
        error = std::string("-") + text + " x\r\n";
        const int before = sent;
        run_for(5s);
        EXPECT_EQ(sent, before + 5) << text;
    }
    EXPECT_TRUE(worker.log.lines.empty());
}

TEST_F(NodeHeartbeatTest, OtherRepliesAreIgnored) {
    Worker& worker = start();
    std::string reply;
    worker.transport.replace_reply = [&](const redis::Call&) { return reply; };
    for (const auto* text : {"*1\r\n*0\r\n", "*0\r\n", "*2\r\n:9\r\n:9\r\n", "*1\r\n$-1\r\n"}) {
        reply = text;
        run_for(2s);
        EXPECT_EQ(nodes(worker), 1) << text;
    }
    reply = "*1\r\n:-5\r\n";
    run_for(2s);
    EXPECT_EQ(nodes(worker), 1);
    reply = "*1\r\n:9223372036854775807\r\n";
    run_for(2s);
    EXPECT_EQ(nodes(worker), 100'000);
}

TEST_F(NodeHeartbeatTest, NodesThatRefuseInAnOutageAreCountedForTheirRequestsInFlight) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& worker = start();
    add_nodes(2);
    run_for(2s);
    EXPECT_EQ(nodes(worker), 3);
}

TEST_F(NodeHeartbeatTest, AnExitingWorkerSendsNone) {
    Worker& worker = start();
    run_for(1100ms);
    worker.process.exiting = true;
    const int sent = redis.heartbeats;
    run_for(5s);
    EXPECT_EQ(redis.heartbeats, sent);
}

TEST_F(NodeHeartbeatTest, InAnOutageANodeGrantsItsShare) {
    Worker& worker = start();
    add_key("k");
    add_nodes(4);
    run_for(1100ms);
    EXPECT_EQ(granted(worker, "k", 1), 1);
    TableQuota quota;
    quota.table = "api";
    redis.counts.count("k", quota, {10, 60s}).count += 4;
    EXPECT_EQ(granted(worker, "k", 1), 1) << "Redis counts 6 of 10; 2 are of this node";
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, "k", 10), 2) << "a third of 4, rounded up";
}

}  // namespace
}  // namespace tollgate::engine
