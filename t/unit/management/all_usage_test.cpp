// Pages of the usage of all ids, and of bans.

#include "module/management/all_usage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "module/management/ban.hpp"
#include "module/redis/topology/slot_tag.hpp"
#include "t/unit/management/given_replies.hpp"

namespace tollgate::management {
namespace {

/// Ids that exist and were revoked, each with one field of its hash `history` or `ban`.
class ManyIds final : public ReplyingDatabase {
  public:
    std::map<std::string, std::set<ListCursor>> lists;
    std::map<std::string, std::vector<std::string>> subjects;  ///< by the names of their lists
    std::map<std::string, std::string> days;                   ///< by id: `api:DAY`, of one unit
    std::map<std::string, std::string> until;                  ///< by id: the end of the ban
    int commands = 0;
    std::chrono::milliseconds time_of_command{};
    std::function<void()> before_command = [] {};
    bool is_cluster = false;

    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return !is_cluster;
    }
    std::chrono::milliseconds elapsed() const override { return commands * time_of_command; }

  private:
    static std::string id_in(const std::string& key) {
        const auto begin = key.find('{') + 1;
        return key.substr(begin, key.find('}') - begin);
    }

    redis::Value reply_to(const redis::Command& command) override {
        ++commands;
        before_command();
        const auto& name = command.front();
        if (name == "TIME") {
            return array_of({"1000", "0"});
        }
        const auto& key = command[1];
        if (name == "EXISTS") {
            return value_of(std::count_if(command.begin() + 1, command.end(),
                                          [&](auto& ban) { return until.contains(id_in(ban)); }));
        }
        if (name == "HGETALL") {
            auto& hash = key.starts_with("t:ban") ? until : days;
            const auto found = hash.find(id_in(key));
            if (found == hash.end()) {
                return array_of({});
            }
            return key.starts_with("t:ban") ? array_of({"until", found->second, "level", "2"})
                                            : array_of({found->second, "1"});
        }
        return name.front() == 'Z' ? reply_of_list(command) : array_of({});
    }

    /// The names after one, which begins with `(`; of `-`, all.
    redis::Value reply_of_names(const redis::Command& command) {
        auto range = array_of({});
        for (const auto& id : subjects[command[1]]) {
            if ((command[2] == "-" || id > command[2].substr(1)) &&
                range.elements.size() < std::stoul(command[6])) {
                range.elements.push_back(array_of({id}).elements.front());
            }
        }
        return range;
    }

    redis::Value reply_of_list(const redis::Command& command) {
        if (command[0] == "ZRANGEBYLEX") {
            return reply_of_names(command);
        }
        const auto& list = lists[command[1]];
        if (command[0] == "ZCARD") {
            return value_of(static_cast<std::int64_t>(list.size()));
        }
        if (command[0] == "ZMSCORE") {
            auto scores = array_of({});
            for (auto id = command.begin() + 2; id != command.end(); ++id) {
                scores.elements.push_back(score_of(list, *id));
            }
            return scores;
        }
        if (command[0] == "ZSCORE") {
            return score_of(list, command[2]);
        }
        if (command[0] == "ZRANK") {
            const auto found = std::ranges::find(list, command[2], &ListCursor::id);
            return found == list.end() ? redis::Value{}
                                       : value_of(std::distance(list.begin(), found));
        }
        if (command[0] == "ZRANGEBYSCORE") {
            const auto first =
                std::ranges::lower_bound(list, std::stod(command[2]), {}, &ListCursor::created);
            return places_from(list, first, std::stol(command.back()));
        }
        const auto rank = std::min(std::stol(command[2]), static_cast<long>(list.size()));
        return places_from(list, std::next(list.begin(), rank), std::stol(command[3]) - rank + 1);
    }

    static redis::Value score_of(const std::set<ListCursor>& list, const std::string& id) {
        const auto found = std::ranges::find(list, id, &ListCursor::id);
        return found == list.end() ? redis::Value{} : array_of({found->score()}).elements.front();
    }

    static redis::Value places_from(const std::set<ListCursor>& list,
                                    std::set<ListCursor>::iterator next, long count) {
        auto range = array_of({});
        for (; next != list.end() && count > 0; ++next, --count) {
            const auto place = array_of({next->id, next->score()});
            range.elements.insert(range.elements.end(), place.elements.begin(),
                                  place.elements.end());
        }
        return range;
    }
};

using Ids = std::vector<std::string>;

class AllUsageTest : public testing::Test {
  protected:
    ManyIds database_;
    const redis::Keys keys_{"t:"};

    AllUsageTest() {
        for (int i = 0; i < 3000; ++i) {
            database_.lists["t:ids"].insert(place(i, "i" + std::to_string(i)));
        }
        // One was issued again.
        database_.lists["t:revoked"] = {place(1, "r0"), place(3, "i5"), place(2500, "r1")};
    }

    static ListCursor place(int created, const std::string& id) {
        return {.created = static_cast<double>(created), .id = id};
    }

    /// The ids of all pages, and whether each page but the last one has an id.
    std::vector<std::string> all(
        DayRange days, std::size_t limit,
        CountedIds::Subjects subjects = CountedIds::Subjects::kOmittedInCluster) {
        std::vector<std::string> ids;
        std::optional<std::string> after;
        do {
            const auto page =
                run_to_end(read_all_usage(database_, keys_, {after, limit, days, subjects}, {}));
            EXPECT_TRUE(!page.next || !page.ids.empty());
            EXPECT_LE(page.ids.size(), limit);
            for (const auto& id : page.ids) {
                ids.push_back(id.id);
            }
            after = page.next;
        } while (after);
        return ids;
    }
};

TEST_F(AllUsageTest, HasExistingAndRevokedIdsByTheirFirstCreation) {
    for (const auto* const id : {"i0", "i3", "i4", "i5", "i2500", "i2501", "i2999", "r1"}) {
        database_.days[id] = "api:7";
    }
    const Ids expected{"i0", "i3", "i5", "i4", "i2500", "r1", "i2501", "i2999"};
    for (const std::size_t limit : {1, 2, 3, 4, 100}) {
        EXPECT_EQ(all({}, limit), expected) << limit;
    }
}

TEST_F(AllUsageTest, HasAnIdOnceThatIsRevokedOrIssuedAgainMeanwhile) {
    auto& existing = database_.lists["t:ids"];
    auto& revoked = database_.lists["t:revoked"];
    Ids ids;
    // Many were created in the same second.
    for (int i = 0; i < 400; ++i) {
        ids.push_back("i" + std::to_string(i));
        database_.days[ids.back()] = "api:7";
    }
    std::ranges::sort(ids);
    for (unsigned seed = 0; seed < 20; ++seed) {
        existing.clear();
        revoked.clear();
        for (int i = 0; i < 400; ++i) {
            existing.insert(place(i / 100, "i" + std::to_string(i)));
        }
        std::mt19937 random(seed);
        std::optional<ListCursor> begun;
        int issued = 1000;
        database_.before_command = [&] {
            if (begun) {
                existing.erase(*std::exchange(begun, std::nullopt));
                return;
            }
            const auto& id = ids[random() % ids.size()];
            const auto found = std::ranges::find(existing, id, &ListCursor::id);
            if (found == existing.end()) {
                existing.insert(place(++issued, id));
                return;
            }
            begun = *found;
            const auto is_of_id = [&](const ListCursor& other) { return other.id == id; };
            if (std::ranges::none_of(revoked, is_of_id)) {
                revoked.insert(*found);
            }
        };
        auto found = all({}, 7);
        database_.before_command = [] {};
        std::ranges::sort(found);
        EXPECT_EQ(found, ids) << seed;
        EXPECT_GT(revoked.size(), 100);
    }
}

TEST_F(AllUsageTest, HasSubjectsThatAreInNoOtherList) {
    database_.subjects["t:subjects"] = {"i7", "r1", "s1", "s2", "s3"};
    database_.days = {{"i7", "api:7"}, {"r1", "api:7"}, {"s1", "api:7"}, {"s3", "api:7"}};
    const Ids expected{"i7", "r1", "s1", "s3"};
    for (const std::size_t limit : {1, 2, 3, 4, 100}) {
        EXPECT_EQ(all({}, limit), expected) << limit;
    }
}

TEST_F(AllUsageTest, HasASubjectOnceThatIsIssuedAKeyMeanwhile) {
    database_.subjects["t:subjects"] = {"s1", "s2", "s3"};
    for (const auto* const id : {"s1", "s2", "s3"}) {
        database_.days[id] = "api:7";
    }
    const auto page = run_to_end(read_all_usage(database_, keys_, {{}, 1, {}}, {}));
    EXPECT_EQ(page.ids.front().id, "s1");
    EXPECT_EQ(page.next, "subjects:2999:i2999,0:s1");
    database_.lists["t:ids"].insert({place(3000, "s1"), place(3000, "s2")});
    database_.lists["t:revoked"].insert(place(3000, "s3"));
    const auto rest = run_to_end(read_all_usage(database_, keys_, {page.next, 9, {}}, {}));
    ASSERT_EQ(rest.ids.size(), 2);
    EXPECT_EQ(rest.ids[0].id, "s2");
    EXPECT_EQ(rest.ids[1].id, "s3");
    EXPECT_EQ(rest.next, std::nullopt);
}

TEST_F(AllUsageTest, ReadsTheSubjectsOfEachSlotOfACluster) {
    database_.is_cluster = true;
    database_.lists["t:ids"] = {place(0, "i0")};
    database_.lists["t:revoked"] = {};
    const redis::Slot last = redis::kSlots - 1;
    database_.subjects[keys_.subjects(redis::slot_tag(0))] = {"a1", "a2", "a3"};
    database_.subjects[keys_.subjects(redis::slot_tag(63))] = {"b1"};
    database_.subjects[keys_.subjects(redis::slot_tag(64))] = {"c1", "i0"};
    database_.subjects[keys_.subjects(redis::slot_tag(last))] = {"d1", "d2"};
    for (const auto* const id : {"i0", "a1", "a2", "a3", "b1", "c1", "d1", "d2"}) {
        database_.days[id] = "api:7";
    }
    EXPECT_EQ(all({}, 1), Ids{"i0"}) << "too many for a request";
    for (const std::size_t limit : {1, 2, 3, 4, 100}) {
        EXPECT_EQ(all({}, limit, CountedIds::Subjects::kIncluded),
                  (Ids{"i0", "a1", "a2", "a3", "b1", "c1", "d1", "d2"}))
            << limit;
    }
}

TEST_F(AllUsageTest, HasIdsWithADayInTheRange) {
    database_.days = {{"i1", "api:7"}, {"i2", "api:8"}, {"r1", "api:9"}};
    const std::chrono::sys_days day{std::chrono::days(8)};
    EXPECT_EQ(all({.from = day, .to = day}, 10), Ids{"i2"});
    EXPECT_EQ(all({.from = day}, 10), (Ids{"i2", "r1"}));
    EXPECT_EQ(all({.to = day}, 10), (Ids{"i1", "i2"}));
}

TEST_F(AllUsageTest, EndsAPageThatHasAnIdAfterManyIds) {
    database_.days = {{"i0", "api:7"}, {"i2999", "api:7"}};
    const auto page = run_to_end(read_all_usage(database_, keys_, {{}, 2, {}}, {}));
    EXPECT_EQ(page.ids.size(), 1);
    EXPECT_LT(database_.commands, 1500);
}

TEST_F(AllUsageTest, ReadsMoreIdsThanAPageWithFewHas) {
    database_.days = {{"i2999", "api:7"}};
    run_to_end(read_all_usage(database_, keys_, {{}, 1, {}}, {}));
    EXPECT_LT(database_.commands, 5000) << "16 ids at a time, each with one command";
}

TEST_F(AllUsageTest, EndsAPageThatTakesLong) {
    database_.days = {{"i2999", "api:7"}};
    database_.until = {{"i2999", "2000000"}};
    database_.time_of_command = std::chrono::milliseconds(50);
    auto usage = run_to_end(read_all_usage(database_, keys_, {{}, 100, {}}, {}));
    EXPECT_TRUE(usage.ids.empty() && usage.next);
    for (int pages = 1; usage.ids.empty() && usage.next && pages < 100; ++pages) {
        usage = run_to_end(read_all_usage(database_, keys_, {usage.next, 100, {}}, {}));
    }
    ASSERT_EQ(usage.ids.size(), 1) << "the next pages go on";

    database_.time_of_command = std::chrono::seconds(1);
    auto bans = run_to_end(read_bans(database_, keys_, {}, 100));
    EXPECT_TRUE(bans.bans.empty() && bans.next);
    for (int pages = 1; bans.bans.empty() && bans.next && pages < 100; ++pages) {
        bans = run_to_end(read_bans(database_, keys_, bans.next, 100));
    }
    ASSERT_EQ(bans.bans.size(), 1) << "the next pages go on";
}

TEST_F(AllUsageTest, RefusesAPlaceThatIsNone) {
    for (const auto* const after :
         {"", "x", "revoked", "revoked:x", "revoked:1:a", "1:a b", ":i0", "subjects:,",
          "subjects:,,", "subjects:,-1:a", "subjects:,16384:a", "subjects:,1:a b", "subjects:a,1:a",
          "subjects:1:a,1:b,1:a"}) {
        const auto read = [&] {
            run_to_end(read_all_usage(database_, keys_, {std::string(after), 1, {}}, {}));
        };
        EXPECT_THROW(read(), OperationError) << after;
    }
}

TEST_F(AllUsageTest, BansAreThoseThatHaveNotEnded) {
    database_.until = {{"i0", "999000"},     {"i1", "2000000"}, {"i400", "3000000"},
                       {"i2999", "1001000"}, {"s1", "2000000"}, {"s2", "999000"}};
    database_.subjects["t:subjects"] = {"i1", "s1", "s2"};
    Ids ids;
    std::optional<std::string> after;
    do {
        const auto page = run_to_end(read_bans(database_, keys_, after, 2));
        EXPECT_TRUE(!page.next || !page.bans.empty());
        for (const auto& ban : page.bans) {
            ids.push_back(ban.id);
            EXPECT_EQ(ban.level, 2);
        }
        after = page.next;
    } while (after);
    EXPECT_EQ(ids, (Ids{"i1", "i400", "i2999", "s1"}));
    EXPECT_LT(database_.commands, 1000) << "3,000 ids";
}

}  // namespace
}  // namespace tollgate::management
