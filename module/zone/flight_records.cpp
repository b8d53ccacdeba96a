#include "module/zone/flight_records.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "module/zone/set_associative.hpp"

namespace tollgate {

static_assert(std::is_trivially_copyable_v<FlightRecord> && sizeof(FlightRecord) == 3 * kCacheLine);

std::uint64_t FlightKey::hash() const noexcept {
    return place_hash(std::span(id).first<sizeof(std::uint64_t)>(), redis ^ table);
}

std::int64_t Flight::requests() const {
    std::int64_t sum = 0;
    for_each_worker([&](const FlightRecord::Worker& worker) { sum += worker.requests; });
    return sum;
}

/// The entry of this worker, or a free one.
FlightRecord::Worker* Flight::find(std::uint32_t process, bool is_free) const {
    FlightRecord::Worker* found = nullptr;
    for_each_worker([&](FlightRecord::Worker& worker) {
        const bool matches =
            is_free ? worker.requests == 0 : worker.requests != 0 && worker.process == process;
        found = found == nullptr && matches ? &worker : found;
    });
    return found;
}

bool Flight::has_room_for(std::uint32_t process) const {
    return find(process, false) != nullptr || find(process, true) != nullptr;
}

bool Flight::add(std::uint32_t process, std::int32_t count) {
    FlightRecord::Worker* worker = find(process, false);
    const bool is_new = worker == nullptr && count > 0 && size_ > 0;
    if (is_new) {
        worker = find(process, true);
    }
    if (is_new && worker == nullptr && free_ != nullptr && size_ < kMost) {
        *free_ = {.name = name(), .use = FlightRecord::Use::kFurther, .node = {}, .workers = {}};
        records_[size_++] = free_;
        worker = &std::exchange(free_, nullptr)->workers.front();
    }
    if (worker == nullptr) {
        return false;
    }
    if (worker->requests == 0) {
        worker->process = process;
    }
    worker->requests = std::max(worker->requests + count, 0);
    return true;
}

void Flight::free() {
    for (std::size_t i = 0; i < size_; ++i) {
        records_[i]->use = FlightRecord::Use::kFree;
    }
    size_ = 0;
}

FlightRecords::FlightRecords(std::span<std::byte> memory)
    : records_(reinterpret_cast<FlightRecord*>(memory.data()),
               memory.size() / sizeof(FlightRecord)) {
    if (records_.empty()) {
        throw std::length_error("no memory for requests in flight");
    }
}

/// A key's records are among so many.
std::size_t FlightRecords::searched() const {
    constexpr std::size_t kMostSearched = 64;
    return std::min(records_.size(), kMostSearched);
}

FlightRecord& FlightRecords::near(const FlightKey& key, std::size_t distance) const {
    return records_[(key.hash() + distance) % records_.size()];
}

Flight FlightRecords::find(const FlightKey& key) const {
    Flight flight;
    for (std::size_t i = 0; i < searched() && flight.size_ < Flight::kMost; ++i) {
        FlightRecord& record = near(key, i);
        if (record.use == FlightRecord::Use::kFree) {
            flight.free_ = flight.free_ == nullptr ? &record : flight.free_;
        } else if (record.name.key == key) {
            flight.records_[flight.size_++] = &record;
            if (record.use == FlightRecord::Use::kFirst) {
                std::swap(flight.records_.front(), flight.records_[flight.size_ - 1]);
            }
        }
    }
    return flight;
}

Flight FlightRecords::find_or_make(const FlightName& name) const {
    Flight flight = find(name.key);
    make(flight, name);
    return flight;
}

Flight FlightRecords::find_or_make(const FlightName& name, Displacement& displacement) const {
    Flight flight = find(name.key);
    if (flight.free_ == nullptr && !flight.has_room_for(displacement.process)) {
        flight.free_ = displace(name.key, displacement);
    }
    make(flight, name);
    return flight;
}

/// Makes the first record of a key, if it has none and a record is free.
void FlightRecords::make(Flight& flight, const FlightName& name) {
    if (flight.size_ == 0 && flight.free_ != nullptr) {
        *flight.free_ = {.name = name, .use = FlightRecord::Use::kFirst, .node = {}, .workers = {}};
        flight.records_[flight.size_++] = std::exchange(flight.free_, nullptr);
    }
}

/// Frees a record for this key; nullptr if no other key can do without its own.
FlightRecord* FlightRecords::displace(const FlightKey& key, Displacement& displacement) const {
    for (const bool may_be_held : {false, true}) {
        for (std::size_t i = 0; i < searched(); ++i) {
            FlightRecord& record = near(key, i);
            const bool is_held = record.node.are_held(displacement.now);
            if (record.use != FlightRecord::Use::kFirst || is_held != may_be_held ||
                record.node.is_awaited(displacement.now)) {
                continue;
            }
            Flight other = find(record.name.key);
            if (other.requests() > 0 ||
                (is_held && !displacement.returns.can_return(record.name.key))) {
                continue;
            }
            if (is_held) {
                displacement.held = {record.name, record.node.version};
            }
            other.free();
            return &record;
        }
    }
    return nullptr;
}

}  // namespace tollgate
