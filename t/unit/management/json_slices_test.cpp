#include "module/management/admin/json_slices.hpp"

#include <gtest/gtest.h>

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

TEST(JsonSlices, HasTheElementsOfAnArray) {
    EXPECT_EQ(elements_in(R"([1, -2.5e3 ,true,"a,b",[ 1,2 ],{"a":[]} ])"),
              (Elements{"1", "-2.5e3", "true", R"("a,b")", "[ 1,2 ]", R"({"a":[]})"}));
    EXPECT_TRUE(elements_in(" [ ] ").empty());
    EXPECT_TRUE(elements_in("{}").empty());
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
