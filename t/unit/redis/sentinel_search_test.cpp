#include "module/redis/topology/sentinel_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "t/unit/redis/resp.hpp"
#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using namespace resp;
using namespace std::chrono_literals;
using Question = SentinelSearch::Question;
using Time = SentinelSearch::Time;

ServerAddress server(int number) {
    return {"10.0.0." + std::to_string(number), 6379};
}
std::string address_of(const ServerAddress& master) {
    return array({bulk(master.host), bulk(std::to_string(master.port))});
}
std::string state_of(const ServerAddress& master, int epoch, const char* flags = "master") {
    return array({bulk("ip"), bulk(master.host), bulk("port"), bulk(std::to_string(master.port)),
                  bulk("flags"), bulk(flags), bulk("config-epoch"), bulk(std::to_string(epoch))});
}
const std::string kMaster = array({bulk("master"), number(0), array({})});
const std::string kReplica =
    array({bulk("slave"), bulk("10.0.0.9"), number(6379), bulk("connected"), number(0)});
const std::string kUnknownName = "*-1\r\n";

/// A search with a clock; delays are the longest.
class Search {
  public:
    explicit Search(std::size_t sentinels) : search_(sentinels) { search_.start(now_, 1.0); }

    /// What to do next, as a text.
    std::string step() const {
        const auto& step = search_.step();
        if (const auto* ask = std::get_if<SentinelSearch::Ask>(&step)) {
            return (ask->question == Question::kAddress ? "ask " : "ask for state ") +
                   std::to_string(ask->sentinel);
        }
        if (const auto* confirm = std::get_if<SentinelSearch::Confirm>(&step)) {
            return "confirm " + to_text(confirm->master);
        }
        if (const auto* wait = std::get_if<SentinelSearch::Wait>(&step)) {
            const auto delay = wait->until - now_;
            return "wait " +
                   std::to_string(std::chrono::floor<std::chrono::milliseconds>(delay).count());
        }
        const auto* found = std::get_if<SentinelSearch::Found>(&step);
        return found != nullptr ? "found " + to_text(found->master) : "idle";
    }

    std::string answer(std::size_t sentinel, const std::string& reply) {
        search_.on_answer(sentinel, *parsed(reply), now_, 1.0);
        return step();
    }
    std::string fail(std::size_t sentinel) {
        search_.on_failure(sentinel, now_, 1.0);
        return step();
    }
    std::string role(const std::string& reply) {
        search_.on_role(*parsed(reply), now_, 1.0);
        return step();
    }
    std::string refuse() {
        search_.on_unreachable(now_, 1.0);
        return step();
    }
    std::string switch_to(const ServerAddress& master) {
        search_.switch_to(master);
        return step();
    }
    void avoid(const std::optional<ServerAddress>& deposed) {
        search_.avoid(deposed ? server_hash(*deposed) : 0);
    }
    std::string timer(std::chrono::milliseconds later) {
        now_ += later;
        search_.on_timer(now_, 1.0);
        return step();
    }
    std::string start() {
        search_.start(now_, 1.0);
        return step();
    }

  private:
    SentinelSearch search_;
    Time now_ = kStart;
};

TEST(SentinelSearch, IsIdleUntilItStarts) {
    SentinelSearch search(2);
    search.on_timer(kStart, 1.0);
    search.on_failure(0, kStart, 1.0);
    search.on_answer(0, *parsed(address_of(server(1))), kStart, 1.0);
    search.on_role(*parsed(kMaster), kStart, 1.0);
    search.on_unreachable(kStart, 1.0);
    EXPECT_TRUE(std::holds_alternative<SentinelSearch::Idle>(search.step()));
}

TEST(SentinelSearch, UsesTheFirstAnswer) {
    Search search(3);
    EXPECT_EQ(search.step(), "ask 0");
    EXPECT_EQ(search.answer(0, address_of(server(1))), "confirm 10.0.0.1:6379");
    EXPECT_EQ(search.role(kMaster), "found 10.0.0.1:6379");
}

TEST(SentinelSearch, AsksTheNextSentinelIfOneDoesNotHelp) {
    Search search(6);
    EXPECT_EQ(search.fail(0), "ask 1");
    EXPECT_EQ(search.answer(1, kUnknownName), "ask 2");
    EXPECT_EQ(search.answer(2, error("NOAUTH Authentication required.")), "ask 3");
    EXPECT_EQ(search.answer(3, array({bulk("a b"), bulk("x")})), "ask 4");
    EXPECT_EQ(search.timer(300ms), "ask 5");
    EXPECT_EQ(search.answer(5, address_of(server(1))), "confirm 10.0.0.1:6379");
}

TEST(SentinelSearch, Gives300MillisecondsToEachSentinel) {
    Search search(2);
    EXPECT_EQ(search.timer(299ms), "ask 0");
    EXPECT_EQ(search.timer(1ms), "ask 1");
    EXPECT_EQ(search.timer(299ms), "ask 1");
    EXPECT_EQ(search.timer(1ms), "wait 50");
}

TEST(SentinelSearch, BeginsWithTheSentinelThatAnsweredLast) {
    Search search(3);
    search.fail(0);
    search.fail(1);
    search.answer(2, address_of(server(1)));
    search.role(kMaster);
    EXPECT_EQ(search.start(), "ask 2");
    EXPECT_EQ(search.fail(2), "ask 0") << "then the others in their order";
    EXPECT_EQ(search.fail(0), "ask 1");
    EXPECT_EQ(search.answer(1, address_of(server(1))), "confirm 10.0.0.1:6379");
    search.role(kMaster);
    EXPECT_EQ(search.start(), "ask 1");
    EXPECT_EQ(search.fail(1), "ask 2");
    EXPECT_EQ(search.fail(2), "ask 0");
}

TEST(SentinelSearch, AsksAllIfTheRoleContradicts) {
    for (const auto& role : {kReplica, array({bulk("sentinel"), array({})}), array({}), kNil,
                             error("NOAUTH Authentication required.")}) {
        Search search(3);
        search.answer(0, address_of(server(1)));
        EXPECT_EQ(search.role(role), "ask for state 0") << role;
        EXPECT_EQ(search.answer(0, state_of(server(1), 4)), "ask for state 1");
        EXPECT_EQ(search.answer(1, state_of(server(2), 6)), "ask for state 2");
        EXPECT_EQ(search.answer(2, state_of(server(3), 5)), "confirm 10.0.0.2:6379");
        EXPECT_EQ(search.role(kMaster), "found 10.0.0.2:6379");
        EXPECT_EQ(search.start(), "ask 1") << "its answer was used";
    }
}

TEST(SentinelSearch, AsksAllIfTheMasterIsUnreachable) {
    Search search(4);
    search.answer(0, address_of(server(1)));
    EXPECT_EQ(search.refuse(), "ask for state 0");
    EXPECT_EQ(search.fail(0), "ask for state 1");
    EXPECT_EQ(search.timer(300ms), "ask for state 2");
    EXPECT_EQ(search.answer(2, error("ERR No such master with that name")), "ask for state 3");
    EXPECT_EQ(search.answer(3, state_of(server(2), 1)), "confirm 10.0.0.2:6379");
}

TEST(SentinelSearch, AcceptsAServerThatForbidsRole) {
    for (const auto* message : {"NOPERM this user has no permissions to run the 'role' command",
                                "ERR unknown command 'ROLE'"}) {
        Search search(1);
        search.answer(0, address_of(server(1)));
        EXPECT_EQ(search.role(error(message)), "found 10.0.0.1:6379");
    }
}

TEST(SentinelSearch, WaitsIfAllHaveTheRefutedAddress) {
    Search search(2);
    search.answer(0, address_of(server(1)));
    search.refuse();
    search.answer(0, state_of(server(1), 4));
    EXPECT_EQ(search.answer(1, state_of(server(1), 4)), "wait 50");
    EXPECT_EQ(search.timer(49ms), "wait 1");
    EXPECT_EQ(search.timer(1ms), "ask 0") << "then the search begins again";
}

TEST(SentinelSearch, DoesNotUseALowerEpochThanThatOfTheRefutedAddress) {
    Search search(2);
    search.answer(0, address_of(server(1)));
    search.refuse();
    search.answer(0, state_of(server(1), 4));
    EXPECT_EQ(search.answer(1, state_of(server(2), 3)), "wait 50");
}

TEST(SentinelSearch, PrefersANewAddressThenOneThatIsNotDownInTheSameEpoch) {
    Search search(4);
    search.answer(0, address_of(server(1)));
    search.refuse();
    search.answer(0, state_of(server(1), 4));  // leads the failover: the new epoch, the old address
    search.answer(1, state_of(server(2), 4, "s_down,master"));
    search.answer(2, state_of(server(3), 4));
    EXPECT_EQ(search.answer(3, state_of(server(1), 4)), "confirm 10.0.0.3:6379");
}

TEST(SentinelSearch, WaitsIfTheHighestEpochIsRefutedToo) {
    Search search(1);
    search.answer(0, address_of(server(1)));
    search.role(kReplica);
    EXPECT_EQ(search.answer(0, state_of(server(2), 4)), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.refuse(), "wait 50");
    EXPECT_EQ(search.timer(50ms), "ask 0");
}

TEST(SentinelSearch, WaitsLongerEachTimeUpToASecond) {
    Search search(1);
    for (const auto delay : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
        EXPECT_EQ(search.fail(0), "wait " + std::to_string(delay.count()));
        EXPECT_EQ(search.timer(delay), "ask 0");
    }
    search.answer(0, address_of(server(1)));
    search.role(kMaster);
    search.start();
    EXPECT_EQ(search.fail(0), "wait 50") << "a master was found";
}

TEST(SentinelSearch, JittersDelays) {
    SentinelSearch search(1);
    search.start(kStart, 0.0);
    search.on_failure(0, kStart, 0.0);
    const auto* wait = std::get_if<SentinelSearch::Wait>(&search.step());
    ASSERT_NE(wait, nullptr);
    EXPECT_EQ(wait->until, kStart + 25ms);
}

TEST(SentinelSearch, IgnoresWhatDoesNotBelongToTheStep) {
    Search search(3);
    EXPECT_EQ(search.answer(1, address_of(server(1))), "ask 0");
    EXPECT_EQ(search.fail(2), "ask 0");
    EXPECT_EQ(search.fail(99), "ask 0");
    EXPECT_EQ(search.role(kMaster), "ask 0");
    EXPECT_EQ(search.refuse(), "ask 0");
    EXPECT_EQ(search.start(), "ask 0");
    search.timer(300ms);
    EXPECT_EQ(search.answer(0, address_of(server(1))), "ask 1") << "too late";
    EXPECT_EQ(search.answer(1, address_of(server(2))), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.answer(1, address_of(server(3))), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.fail(1), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.start(), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.timer(1h), "confirm 10.0.0.2:6379");
    search.role(kMaster);
    EXPECT_EQ(search.role(kReplica), "found 10.0.0.2:6379");
    EXPECT_EQ(search.refuse(), "found 10.0.0.2:6379");
    EXPECT_EQ(search.timer(1h), "found 10.0.0.2:6379");
    EXPECT_EQ(search.fail(0), "found 10.0.0.2:6379");
}

TEST(SentinelSearch, UsesTheAddressOfAMessageAtEachStep) {
    Search search(2);
    EXPECT_EQ(search.switch_to(server(1)), "confirm 10.0.0.1:6379") << "while a Sentinel is asked";
    EXPECT_EQ(search.switch_to(server(2)), "confirm 10.0.0.2:6379") << "while a role is asked for";
    EXPECT_EQ(search.refuse(), "ask for state 0");
    search.fail(0);
    EXPECT_EQ(search.fail(1), "wait 50");
    EXPECT_EQ(search.switch_to(server(3)), "confirm 10.0.0.3:6379") << "during a delay";
    EXPECT_EQ(search.role(kMaster), "found 10.0.0.3:6379");
    EXPECT_EQ(search.switch_to(server(4)), "confirm 10.0.0.4:6379") << "after a search";
    EXPECT_EQ(search.role(kMaster), "found 10.0.0.4:6379");
}

TEST(SentinelSearch, AsksAllIfTheAddressOfAMessageIsNoMasterYet) {
    Search search(2);
    search.avoid(server(1));
    search.switch_to(server(2));
    EXPECT_EQ(search.role(kReplica), "ask for state 0");
    search.answer(0, state_of(server(1), 5));
    EXPECT_EQ(search.answer(1, state_of(server(2), 5)), "wait 50") << "one is deposed, one refuted";
    EXPECT_EQ(search.timer(50ms), "ask 0");
    EXPECT_EQ(search.answer(0, address_of(server(1))), "ask 1");
    EXPECT_EQ(search.answer(1, address_of(server(2))), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.role(kMaster), "found 10.0.0.2:6379");
}

TEST(SentinelSearch, DoesNotReturnToADeposedMaster) {
    Search search(3);
    search.answer(0, address_of(server(1)));
    search.role(kMaster);
    search.avoid(server(1));
    EXPECT_EQ(search.start(), "ask 0");
    EXPECT_EQ(search.answer(0, address_of(server(1))), "ask 1")
        << "it has not heard of the failover";
    EXPECT_EQ(search.answer(1, address_of(server(2))), "confirm 10.0.0.2:6379");
    EXPECT_EQ(search.refuse(), "ask for state 1");
    search.answer(1, state_of(server(1), 5));  // leads the failover: the new epoch, the old address
    search.answer(0, state_of(server(1), 4));
    EXPECT_EQ(search.answer(2, state_of(server(3), 5, "s_down,master")), "confirm 10.0.0.3:6379");
}

TEST(SentinelSearch, WaitsIfAllNameTheDeposedMaster) {
    Search search(2);
    search.avoid(server(1));
    search.answer(0, address_of(server(1)));
    EXPECT_EQ(search.answer(1, address_of(server(1))), "wait 50");
    search.avoid(std::nullopt);
    EXPECT_EQ(search.timer(50ms), "ask 0");
    EXPECT_EQ(search.answer(0, address_of(server(1))), "confirm 10.0.0.1:6379")
        << "it may be the master again";
}

TEST(SentinelSearch, WaitsWithoutSentinels) {
    Search search(0);
    EXPECT_EQ(search.step(), "wait 50");
    EXPECT_EQ(search.start(), "wait 50");
    EXPECT_EQ(search.timer(50ms), "wait 100");
}

TEST(SentinelSearch, AsksWithTheCommandsOfSentinel) {
    EXPECT_EQ(sentinel_command(Question::kAddress, "mymaster").bytes(),
              "$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n$8\r\nmymaster\r\n");
    EXPECT_EQ(sentinel_command(Question::kState, "mymaster").bytes(),
              "$8\r\nSENTINEL\r\n$6\r\nMASTER\r\n$8\r\nmymaster\r\n");
}

/// A deployment that answers at random, until it is healthy: then the Sentinels that are up know
/// the master.
class Deployment {
  public:
    Deployment(std::size_t sentinels, unsigned seed) : random_(seed), search_(sentinels) {
        for (std::size_t i = 0; i < sentinels; ++i) {
            is_up_.push_back(random_() % 3 != 0);
        }
        is_up_[random_() % sentinels] = true;
        search_.start(now_, jitter());
    }

    /// Performs one step. Returns false once the search has ended.
    bool perform(bool is_healthy) {
        const SentinelSearch::Step step = search_.step();
        if (const auto* ask = std::get_if<SentinelSearch::Ask>(&step)) {
            EXPECT_TRUE(pass_.insert(ask->sentinel).second) << "a Sentinel is asked once per pass";
            EXPECT_EQ(ask->until, now_ + 300ms);
            ask_one(*ask, is_healthy);
            if (!is_asking(ask->question)) {
                const bool has_answer =
                    std::holds_alternative<SentinelSearch::Confirm>(search_.step());
                EXPECT_TRUE((has_answer && ask->question == Question::kAddress) ||
                            pass_.size() == is_up_.size())
                    << "each Sentinel is asked before the pass ends";
                pass_.clear();
            }
        } else if (std::holds_alternative<SentinelSearch::Confirm>(step)) {
            confirm(std::get<SentinelSearch::Confirm>(step).master, is_healthy);
        } else if (const auto* wait = std::get_if<SentinelSearch::Wait>(&step)) {
            EXPECT_GE(wait->until - now_, 25ms);
            EXPECT_LE(wait->until - now_, 1s);
            now_ = wait->until;
            search_.on_timer(now_, jitter());
            EXPECT_TRUE(is_asking(Question::kAddress));
        } else {
            EXPECT_TRUE(std::holds_alternative<SentinelSearch::Found>(step));
            return false;
        }
        return true;
    }

    ServerAddress found() const { return std::get<SentinelSearch::Found>(search_.step()).master; }
    Time now() const { return now_; }

    static inline const ServerAddress kTheMaster{"master", 6379};

  private:
    double jitter() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    bool is_asking(Question question) const {
        const auto* ask = std::get_if<SentinelSearch::Ask>(&search_.step());
        return ask != nullptr && ask->question == question;
    }

    void ask_one(const SentinelSearch::Ask& ask, bool is_healthy) {
        if (is_healthy && is_up_[ask.sentinel]) {
            const auto reply = ask.question == Question::kAddress ? address_of(kTheMaster)
                                                                  : state_of(kTheMaster, 100);
            search_.on_answer(ask.sentinel, *parsed(reply), now_, jitter());
            return;
        }
        const ServerAddress lie = server(static_cast<int>(random_() % 3));
        const int epoch = static_cast<int>(random_() % 4);
        switch (random_() % (is_healthy ? 2 : 6)) {
            case 0:
                search_.on_failure(ask.sentinel, now_, jitter());
                break;
            case 1:
                now_ = ask.until;
                search_.on_timer(now_, jitter());
                break;
            case 2:
                search_.on_answer(ask.sentinel, *parsed(kUnknownName), now_, jitter());
                break;
            case 3:
                search_.on_answer(ask.sentinel, *parsed(error("ERR no")), now_, jitter());
                break;
            case 4:
                search_.on_answer(ask.sentinel, *parsed(address_of(lie)), now_, jitter());
                break;
            default:
                search_.on_answer(ask.sentinel, *parsed(state_of(lie, epoch)), now_, jitter());
        }
    }

    void confirm(const ServerAddress& master, bool is_healthy) {
        if (is_healthy && master == kTheMaster) {
            search_.on_role(*parsed(kMaster), now_, jitter());
        } else if (random_() % 2 == 0) {
            search_.on_role(*parsed(kReplica), now_, jitter());
        } else {
            search_.on_unreachable(now_, jitter());
        }
    }

    std::minstd_rand random_;
    SentinelSearch search_;
    Time now_ = kStart;
    std::vector<bool> is_up_;
    std::set<std::size_t> pass_;  ///< asked in this pass
};

TEST(SentinelSearch, EndsWheneverADeploymentBecomesHealthy) {
    for (unsigned seed = 1; seed <= 500; ++seed) {
        const std::size_t sentinels = 1 + seed % 5;
        Deployment deployment(sentinels, seed);
        for (unsigned i = 0; i < seed % 97; ++i) {
            ASSERT_TRUE(deployment.perform(false)) << "no server is the master: seed " << seed;
        }
        const Time healthy = deployment.now();
        int steps = 0;
        while (deployment.perform(true)) {
            ASSERT_LT(++steps, 50) << "seed " << seed;
        }
        EXPECT_EQ(deployment.found(), Deployment::kTheMaster);
        // Two passes at most over Sentinels that do not answer, and a delay.
        EXPECT_LE(deployment.now() - healthy, 3 * sentinels * 300ms + 1s);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tollgate::redis
