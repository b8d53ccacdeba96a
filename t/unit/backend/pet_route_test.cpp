#include "backend/core/pet_route.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "backend/core/media_type.hpp"

namespace petstore {
namespace {

TEST(FindRoute, KnowsTheResources) {
    EXPECT_EQ(find_route("/pets")->resource, Resource::pets);
    EXPECT_EQ(find_route("/store/orders")->resource, Resource::orders);
    EXPECT_EQ(find_route("/pets/7")->resource, Resource::pet);
    EXPECT_EQ(find_route("/pets/7")->pet_id, 7);
    EXPECT_EQ(find_route("/pets/-9223372036854775808")->pet_id,
              std::numeric_limits<std::int64_t>::min());
}

TEST(FindRoute, KnowsPetsThatCantExist) {
    for (const char* path : {"/pets/x", "/pets/7x", "/pets/9223372036854775808", "/pets/ "}) {
        ASSERT_TRUE(find_route(path)) << path;
        EXPECT_EQ(find_route(path)->resource, Resource::pet) << path;
        EXPECT_FALSE(find_route(path)->pet_id) << path;
    }
}

TEST(FindRoute, LeadsNowhereElse) {
    for (const char* path : {"", "/", "pets", "/pets/", "/petsx", "/pets/7/", "/pets//", "/Pets",
                             "/store", "/store/orders/", "/store/orders/1"}) {
        EXPECT_FALSE(find_route(path)) << path;
    }
}

TEST(IsJson, GoesByTheMediaType) {
    for (const char* type :
         {"application/json", "Application/JSON", "application/json;charset=utf-8",
          "application/json ; charset=\"utf-8\""}) {
        EXPECT_TRUE(is_json(type)) << type;
    }
    for (const char* type :
         {"", "text/json", "application/jsonp", "application/json+x", "application/jso",
          "application/x-www-form-urlencoded", "; application/json"}) {
        EXPECT_FALSE(is_json(type)) << type;
    }
}

}  // namespace
}  // namespace petstore
