#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "module/key/digest.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/store/named_blocks.hpp"

namespace tollgate {

/// Whose requests are in flight: those of an id in a plan table of a Redis.
struct FlightKey {
    IdHash id{};
    std::uint32_t redis = 0;  ///< name_hash
    std::uint32_t table = 0;  ///< name_hash of the table

    bool operator==(const FlightKey&) const = default;
    std::uint64_t hash() const noexcept;
};

/// The places that a node has in Redis, as far as it knows.
struct NodePlaces {
    std::int64_t version = 0;  ///< see redis::PlacesGiven
    SteadyTime until{};        ///< the places are the node's own until then
    SteadyTime asked{};        ///< when Redis was last asked for them
    SteadyTime answered{};     ///< when it last answered; before, when the record was made
    SteadyTime most_since{};   ///< see `most`
    SteadyTime full_until{};   ///< Redis is not asked for more until then: the limit was reached
    std::int32_t places = 0;
    std::int32_t others = 0;  ///< the places of other nodes, when Redis last answered
    std::int32_t most = 0;    ///< requests in flight at a time, since `most_since`
};

/// Places of an id and its requests in flight. Plain memory; all zeros is free.
struct alignas(kCacheLine) FlightRecord {
    struct Worker {
        std::uint32_t process;
        std::int32_t requests;  ///< 0: free
    };
    enum class Use : std::uint32_t {
        kFree,
        kFirst,
        kFurther,  ///< of the same key, for more workers; `node` is not used
    };
    FlightKey key;
    Use use;
    NodePlaces node;
    std::array<Worker, 5> workers;
};

/// The records of one key, found under the lock of its stripe, and valid until it is released.
class Flight {
  public:
    /// Places of the node; nullptr if no record of the key exists.
    NodePlaces* node() const { return size_ == 0 ? nullptr : &records_.front()->node; }
    /// Requests in flight at the node.
    std::int64_t requests() const;
    /// Adds `count` requests to those of a worker. False if there is no record for it, or no
    /// node(). A negative count removes them.
    bool add(std::uint32_t process, std::int32_t count);
    /// Removes the requests of the workers for which this is true.
    template <typename IsGone>
    void drop(IsGone is_gone) {
        for_each_worker([&](FlightRecord::Worker& worker) {
            if (worker.requests != 0 && is_gone(worker.process)) {
                worker.requests = 0;
            }
        });
    }
    /// Frees the records. The key has no requests.
    void free();

  private:
    friend class FlightRecords;
    static constexpr std::size_t kMost = 16;

    template <typename Visit>
    void for_each_worker(Visit visit) const {
        for (std::size_t i = 0; i < size_; ++i) {
            for (FlightRecord::Worker& worker : records_[i]->workers) {
                visit(worker);
            }
        }
    }
    FlightRecord::Worker* find(std::uint32_t process, bool is_free) const;

    std::array<FlightRecord*, kMost> records_{};
    std::size_t size_ = 0;
    FlightRecord* free_ = nullptr;  ///< for one more record
    FlightKey key_{};
};

/// The records of a stripe, in memory of zeros at first. The caller holds the lock of the stripe.
class FlightRecords {
  public:
    /// Uses memory that is aligned for FlightRecord.
    explicit FlightRecords(std::span<std::byte> memory);

    /// The records of a key.
    Flight find(const FlightKey& key) const;
    /// The same. If there is none, makes one, in place of a key without requests if there is no
    /// free record and it `replaces` others. There is none afterwards if no record could be made.
    Flight find_or_make(const FlightKey& key, bool replaces = true) const;

    /// Calls `visit` with the records of each key.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (FlightRecord& record : records_) {
            if (record.use == FlightRecord::Use::kFirst) {
                visit(record.key, find(record.key));
            }
        }
    }

  private:
    std::size_t searched() const;
    FlightRecord& near(const FlightKey& key, std::size_t distance) const;

    std::span<FlightRecord> records_;
};

}  // namespace tollgate
