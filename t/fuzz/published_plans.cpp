// A plan table that a gateway published in Redis.

#include "module/plan/published_plans.hpp"

#include "t/fuzz/fuzz_target.hpp"

void tollgate::fuzz::check(std::string_view input) {
    const auto table = read_published_table("api", input);
    if (!table) {
        return;
    }
    const std::string written = write_published_table(*table, {});
    const auto again = read_published_table("api", written);
    require(again && write_published_table(*again, {}) == written);
}
