// The entry point of libFuzzer, for all fuzzers.

#include "t/fuzz/fuzz_target.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tollgate::fuzz::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
