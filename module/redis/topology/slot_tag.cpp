#include "module/redis/topology/slot_tag.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tollgate::redis {

namespace {

/// For each slot the smallest number from 1 on whose digits have this slot.
std::vector<std::uint32_t> smallest_numbers() {
    std::vector<std::uint32_t> numbers(kSlots);
    std::size_t missing = numbers.size();
    for (std::uint32_t number = 1; missing > 0; ++number) {
        std::uint32_t& found = numbers[key_slot(std::to_string(number))];
        if (found == 0) {
            found = number;
            --missing;
        }
    }
    return numbers;
}

}  // namespace

std::string slot_tag(Slot slot) {
    static const std::vector<std::uint32_t> numbers = smallest_numbers();
    return std::to_string(numbers[slot % kSlots]);
}

}  // namespace tollgate::redis
