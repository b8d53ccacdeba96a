// Slot maps, redirections, addresses and Sentinel's replies.

#include "t/fuzz/fuzz_target.hpp"
#include "t/unit/redis/topology_input.hpp"

void tollgate::fuzz::check(std::string_view input) {
    require(redis::read_topology_input(input).violation.empty());
}
