// What Redis refuses to a script of a node is a text: no error reply says that the connection is of
// no use.

#include "module/redis/protocol/node_script.hpp"

#include <functional>
#include <regex>
#include <set>

#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/flight_call.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/node_calls.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class NodeScript : public AcquireScript {
  protected:
    ReplyPtr eval(const Call& call) {
        Words words{"EVAL", call.script->text};
        words.add(call.keys.size());
        words.add(call.keys);
        words.add("token");
        words.add(call.arguments);
        return redis_->run(words);
    }
    /// Runs the calls, each time with another command of their script that the user may not use.
    void refuse_each_command(const Script& script,
                             const std::function<std::vector<Call>()>& calls) {
        const std::regex command(R"((?:call\(|\{)'([A-Z]+)')");
        std::set<std::string> commands;
        for (std::sregex_iterator at(script.text.begin(), script.text.end(), command), end;
             at != end; ++at) {
            commands.insert((*at)[1]);
        }
        ASSERT_FALSE(commands.empty());
        int refused = 0;
        for (const std::string& name : commands) {
            redis_->run({"FLUSHALL"});
            redis_->run({"ZADD", keys_.changes(), "1", "k"});
            redis_->run({"SADD", keys_.id("k"), "digest"});
            redis_->run({"ACL", "SETUSER", "default", "-" + name});
            for (const Call& call : calls()) {
                const ReplyPtr reply = eval(call);
                const auto elements = elements_of(*reply);
                ASSERT_FALSE(elements.empty()) << name << ": " << text_of(*reply);
                EXPECT_EQ(text_of(*elements.front()), "token") << name;
                if (const auto refusal = read_refusal(elements.subspan(1))) {
                    EXPECT_TRUE(is_forbidden(*refusal)) << *refusal;
                    ++refused;
                }
            }
            redis_->run({"ACL", "SETUSER", "default", "+@all"});
        }
        EXPECT_GT(refused, 0);
    }
};

TEST_F(NodeScript, AnAcquireIsRefusedByAText) {
    Acquire acquire = acquire_of(
        Quotas{table("api", {{5, kHour}, {50, kDay}}), table("search", {{9, kHour}}, true)});
    acquire.demand.ban = BanPolicy{.after = 2, .within = 1min, .first = 1min, .up_to = 1h};
    acquire.demand.refusals_strike = true;
    acquire.count = 3;
    acquire.lease = 1;
    acquire.report_numbers.resize(2);
    std::vector<Acquire> acquires(4, acquire);
    refuse_each_command(acquire_script(), [&] {
        std::vector<Call> calls;
        for (const std::string node : {"n1", "n2", "n1", "n1"}) {
            context_.node = node;
            calls.push_back(acquire_call(acquires, keys_, context_));
        }
        return calls;
    });
}

TEST_F(NodeScript, ACallForPlacesIsRefusedByAText) {
    refuse_each_command(flight_script(), [&] {
        const PlacesWanted one{
            .id = "k", .table = "api", .node = "n1", .limit = 3, .places = 3, .lifetime = 10s};
        PlacesWanted other = one;
        other.node = "n2";
        PlacesWanted none = one;
        none.version = 1;
        return std::vector{flight_call(keys_, one), flight_call(keys_, other),
                           flight_call(keys_, none)};
    });
}

TEST_F(NodeScript, CallsWithoutARequestAreRefusedByTexts) {
    refuse_each_command(heartbeat_script(),
                        [&] { return std::vector{heartbeat_call(keys_, "n1", 3s)}; });
    refuse_each_command(use_script(), [&] {
        Call call = use_call();
        add_use(call, keys_, "k", "digest", 5s);
        return std::vector{call};
    });
    refuse_each_command(changes_script(), [&] {
        Call call{&changes_script(), {keys_.changes()}, {"1000", ""}};
        return std::vector{call};
    });
    refuse_each_command(lookup_script(), [&] {
        return std::vector{Call{&lookup_script(), {keys_.key("none")}}};
    });
    PlanTable table;
    table.name = "api";
    table.anonymous = {{30, 60s}};
    refuse_each_command(publish_script(), [&] {
        const std::array<const PlanTable*, 1> tables{&table};
        return std::vector{publish_call(keys_, tables, std::chrono::sys_seconds(1s))};
    });
    refuse_each_command(budget_script(), [&] {
        const std::array windows{WindowCharge{.number = window_number(now(), 60s), .units = 1}};
        Call call = budget_call();
        add_budget(call, keys_, {"192.0.2.1", table, windows});
        return std::vector{call, call};
    });
}

TEST_F(NodeScript, ErrorsThatAreAboutTheServerStayErrors) {
    redis_->run({"REPLICAOF", "127.0.0.1", "1"});
    const ReplyPtr reply = eval(heartbeat_call(keys_, "n1", 3s));
    redis_->run({"REPLICAOF", "NO", "ONE"});
    ASSERT_EQ(reply->type, REDIS_REPLY_ERROR);
    EXPECT_TRUE(text_of(*reply).starts_with("READONLY"));
}

TEST_F(NodeScript, AKeyOfAnotherTypeIsRefusedByAText) {
    redis_->run({"SET", keys_.flight("k"), "text"});
    const ReplyPtr reply = eval(flight_call(
        keys_,
        {.id = "k", .table = "api", .node = "n1", .limit = 3, .places = 1, .lifetime = 10s}));
    const auto refusal = read_refusal(elements_of(*reply).subspan(1));
    ASSERT_TRUE(refusal);
    EXPECT_TRUE(refusal->starts_with("WRONGTYPE"));
}

}  // namespace
}  // namespace tollgate::redis
