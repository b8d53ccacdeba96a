// Pages of the list of all ids, while other ids join and leave the list.

#include "module/management/key_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "t/unit/management/replying_database.hpp"

namespace tollgate::management {
namespace {

/// The list of all ids. Ids have no keys.
class ListOfIds final : public ReplyingDatabase {
  public:
    void add(double created, const std::string& id) {
        remove(id);
        places.insert({created, id});
    }
    void remove(const std::string& id) {
        std::erase_if(places, [&](const ListCursor& place) { return place.id == id; });
    }

    std::set<ListCursor> places;
    std::function<void()> before_command;
    int commands = 0;

  private:
    redis::Value reply_to(const redis::Command& command) override {
        ++commands;
        if (before_command) {
            before_command();
        }
        using Kind = redis::Value::Kind;
        redis::Value value;
        if (command[0] == "ZCARD") {
            value.kind = Kind::kInteger;
            value.integer = static_cast<std::int64_t>(places.size());
        } else if (command[0] == "ZRANK" || command[0] == "ZSCORE") {
            const auto found = std::ranges::find(places, command[2], &ListCursor::id);
            if (found != places.end()) {
                value.kind = command[0] == "ZRANK" ? Kind::kInteger : Kind::kText;
                value.integer = std::distance(places.begin(), found);
                value.text = std::to_string(found->created);
            }
        } else {
            value.kind = Kind::kArray;
            if (command[0] == "ZRANGE") {
                add_range(value, std::stol(command[2]), std::stol(command[3]));
            } else if (command[0] == "ZRANGEBYSCORE") {
                const auto first = std::ranges::lower_bound(places, std::stod(command[2]), {},
                                                            &ListCursor::created);
                const auto rank = std::distance(places.begin(), first);
                add_range(value, rank, rank + std::stol(command.back()) - 1);
            }
        }
        return value;
    }
    void add_range(redis::Value& value, long first, long last) const {
        long rank = 0;
        for (const ListCursor& place : places) {
            if (rank >= first && rank <= last) {
                for (const auto& text : {place.id, std::to_string(place.created)}) {
                    value.elements.emplace_back().kind = redis::Value::Kind::kText;
                    value.elements.back().text = text;
                }
            }
            ++rank;
        }
    }
};

struct KeyReaderTest : testing::Test {
    /// The ids of all pages of two, up to 100 pages.
    std::vector<std::string> all_ids() {
        std::vector<std::string> ids;
        std::optional<ListCursor> last;
        for (int pages = 0; pages < 100; ++pages) {
            const auto page = next(last);
            std::ranges::transform(page.ids, std::back_inserter(ids), &KeysOfId::id);
            last = page.next();
            if (!last) {
                break;
            }
        }
        return ids;
    }
    KeyPage next(const std::optional<ListCursor>& last) { return run_to_end(reader.page(last, 2)); }
    /// Ten ids that remain.
    static std::vector<std::string> stable_ids() {
        return {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"};
    }
    void add_stable_ids(double seconds_between = 10) {
        double created = kFirst;
        for (const auto& id : stable_ids()) {
            list.add(created, id);
            created += seconds_between;
        }
    }
    static constexpr double kFirst = 1000;
    /// The stable ones of these ids, in this order.
    static std::vector<std::string> stable_of(std::vector<std::string> ids) {
        std::erase_if(ids, [](const std::string& id) { return id.front() != 's'; });
        return ids;
    }

    ListOfIds list;
    const redis::Keys keys{"t:"};
    KeyReader reader{list, keys};
};

TEST_F(KeyReaderTest, HasEachIdOnOnePage) {
    EXPECT_EQ(all_ids(), std::vector<std::string>{});
    add_stable_ids();
    list.add(1010, "another of the same second");
    list.add(1010.5, "of another program");
    EXPECT_EQ(all_ids().size(), 12);
    EXPECT_EQ(stable_of(all_ids()), stable_ids());
}

TEST_F(KeyReaderTest, MissesNoIdWhileOlderOnesJoin) {
    for (const double seconds_between : {10, 0}) {
        list.places.clear();
        add_stable_ids(seconds_between);
        int added = 0;
        list.before_command = [&] {
            // Three between the commands of a page, which has two.
            for (int i = 0; i < 3 && added < 200; ++i) {
                list.add(seconds_between > 0 ? 1 : kFirst, "older" + std::to_string(++added));
            }
        };
        EXPECT_EQ(stable_of(all_ids()), stable_ids());
        EXPECT_GT(added, 20);
    }
}

TEST_F(KeyReaderTest, MissesNoIdWhileOlderOnesLeave) {
    for (const double seconds_between : {10, 0}) {
        list.places.clear();
        add_stable_ids(seconds_between);
        for (int i = 0; i < 200; ++i) {
            list.add(seconds_between > 0 ? 1 : kFirst, "older" + std::to_string(i));
        }
        const auto before = list.places.size();
        int removed = 0;
        list.before_command = [&] {
            for (int i = 0; i < 3 && removed < 200; ++i) {
                list.remove("older" + std::to_string(removed++));
            }
        };
        EXPECT_EQ(stable_of(all_ids()), stable_ids());
        EXPECT_LT(list.places.size(), before - 20);
    }
}

TEST_F(KeyReaderTest, GoesOnAfterAnIdThatWasIssuedAgain) {
    add_stable_ids();
    const auto page = next(std::nullopt);
    ASSERT_EQ(page.next()->id, "s1");
    list.add(5000, "s1");
    EXPECT_EQ(next(page.next()).ids.front().id, "s2");
    EXPECT_LT(list.commands, 60);
}

TEST_F(KeyReaderTest, GoesOnAfterAnyPlace) {
    add_stable_ids();
    EXPECT_EQ(next(ListCursor{1, "s5"}).ids.front().id, "s0");
    EXPECT_EQ(next(ListCursor{1015, "unknown"}).ids.front().id, "s2");
    EXPECT_TRUE(next(ListCursor{1e12, "s0"}).ids.empty());
    EXPECT_LT(list.commands, 150);
}

TEST_F(KeyReaderTest, GoesOnAmongManyIdsOfOneSecond) {
    const auto id = [](int i) { return "a" + std::to_string(1000 + i); };
    for (int i = 0; i < 1000; ++i) {
        list.add(kFirst, id(i));
    }
    list.remove(id(500));
    for (const int i : {0, 7, 8, 499, 500, 997}) {
        EXPECT_EQ(next(ListCursor{kFirst, id(i)}).ids.front().id, id(i == 499 ? 501 : i + 1)) << i;
    }
    EXPECT_TRUE(next(ListCursor{kFirst, id(999)}).ids.empty());
    EXPECT_LT(list.commands, 150);
}

TEST(ListCursor, IsRepeatedByItsCursor) {
    for (const ListCursor& place :
         {ListCursor{1795000000, "acme"}, ListCursor{1795000000.25, "a.b-c_d"}}) {
        EXPECT_EQ(ListCursor::of_cursor(place.cursor()), place);
    }
    EXPECT_EQ((ListCursor{1795000000, "acme"}).cursor(), "1795000000:acme");
    for (const auto* const text : {"", "acme", ":acme", "abc:acme", "nan:acme", "inf:acme",
                                   "1x:acme", "1:", "1:a b", "1 :acme"}) {
        EXPECT_FALSE(ListCursor::of_cursor(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate::management
