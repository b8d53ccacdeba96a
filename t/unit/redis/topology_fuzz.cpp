// The parsers of redis/topology, for libFuzzer. To build it:
//   clang++-14 -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I. -o topology_fuzz
//     t/unit/redis/topology_fuzz.cpp module/redis/topology/*.cpp
//     module/redis/protocol/{reply,command,error_scope}.cpp -lhiredis

#include <cstdint>
#include <cstdlib>

#include "t/unit/redis/topology_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (tollgate::redis::read_topology_input(bytes) < 0) {
        std::abort();
    }
    return 0;
}
