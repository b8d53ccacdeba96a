#include "module/management/admin/json_slices.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace tollgate::management {
namespace {

using Members = std::vector<std::pair<std::string_view, std::string_view>>;
using Elements = std::vector<std::string_view>;

TEST(JsonSlices, HasTheMembersOfAnObject) {
    EXPECT_EQ(members_in(R"( { "a" : 1 , "b":{"c":[1,"}"]} ,"d":"x\"},\\" } )"),
              (Members{{"a", "1"}, {"b", R"({"c":[1,"}"]})"}, {"d", R"("x\"},\\")"}}));
    EXPECT_EQ(members_in(R"({"a":1,"a":null})"), (Members{{"a", "1"}, {"a", "null"}}));
    EXPECT_TRUE(members_in("{ }").empty());
    EXPECT_TRUE(members_in("[1]").empty());
}

using Next = ListSlices::Next;

/// The elements of the list "a", and how it ends.
std::pair<Elements, Next> elements_in(std::string_view text) {
    constexpr std::size_t kMost = 12;
    ListSlices list(text, "a", kMost);
    Elements elements;
    auto next = list.next();
    for (; next == Next::kElement; next = list.next()) {
        elements.push_back(list.element());
    }
    return {elements, next};
}

TEST(JsonSlices, HasTheElementsOfAList) {
    EXPECT_EQ(elements_in(R"( {"a" : [1, -2.5e3 ,true,"a,b",[ 1,2 ],{"a":[]} ] } )"),
              std::pair(Elements{"1", "-2.5e3", "true", R"("a,b")", "[ 1,2 ]", R"({"a":[]})"},
                        Next::kEnd));
    EXPECT_EQ(elements_in(R"({"a":[]})"), std::pair(Elements{}, Next::kEnd));
}

TEST(JsonSlices, TellsHowAListEnds) {
    for (const std::string_view text : {"", "{", "[", "{}", "[1]", R"({"b":[1]})", R"({"a":{}})",
                                        R"({"a":1})", R"({"a":[],"b":1})"}) {
        EXPECT_EQ(elements_in(text), std::pair(Elements{}, Next::kOther)) << text;
    }
    for (const std::string_view text :
         {R"({"a":[1)", R"({"a":[1,)", R"({"a":[1 2]})", R"({"a":[1])", R"({"a":[1]} x)",
          R"({"a":[1]}])", R"({"a":[1}])"}) {
        EXPECT_EQ(elements_in(text), std::pair(Elements{"1"}, Next::kInvalid)) << text;
    }
    EXPECT_EQ(elements_in(R"({"a":[1,"2345678901"]})"),
              std::pair(Elements({"1", R"("2345678901")"}), Next::kEnd));
    EXPECT_EQ(elements_in(R"({"a":[1,"23456789012"]})"), std::pair(Elements{"1"}, Next::kTooLong));
    EXPECT_EQ(elements_in(R"({"a":[[[[[[[[[[[[[[[[[)"), std::pair(Elements{}, Next::kTooLong));
}

TEST(JsonSlices, EndsWithATextThatIsNotValid) {
    for (const std::string_view text :
         {"", "{", "[", "{\"a", "{\"a\":", "[1,", "[\"", "{1:2}", "[[[", "[}"}) {
        members_in(text);
        elements_in(text);
    }
}

}  // namespace
}  // namespace tollgate::management
