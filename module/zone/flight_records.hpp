#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "module/key/digest.hpp"
#include "module/key/key_record.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/zone/named_blocks.hpp"

namespace tollgate {

/// Whose requests are in flight: those of an id in a plan table of a Redis.
struct FlightKey {
    IdHash id{};
    std::uint32_t redis = 0;  ///< name_hash
    std::uint32_t table = 0;  ///< name_hash of the table

    bool operator==(const FlightKey&) const = default;
    std::uint64_t hash() const noexcept;
};

/// A valid id in plain memory: of at most kLongestId bytes, none of them zero.
class IdText {
  public:
    IdText() = default;
    explicit IdText(std::string_view id) { id.copy(text_.data(), text_.size()); }
    std::string_view view() const { return {text_.data(), ::strnlen(text_.data(), text_.size())}; }

  private:
    std::array<char, kLongestId> text_{};
};

/// A key with the id that it stands for: any worker that has a record can name it to Redis.
struct FlightName {
    FlightKey key;
    IdText id;
};

/// The places that a node has in Redis, as far as it knows.
struct NodePlaces {
    std::int64_t version = 0;  ///< see redis::PlacesGiven
    SteadyTime until{};        ///< the places are the node's own until then
    SteadyTime asked{};        ///< when Redis was asked for places; 0: it has answered
    SteadyTime answered{};     ///< when it last answered; before, when the record was made
    SteadyTime most_since{};   ///< see `most`
    SteadyTime full_until{};   ///< Redis is not asked for more until then: the limit was reached
    std::int32_t places = 0;
    std::int32_t others = 0;  ///< the places of other nodes, when Redis last answered
    std::int32_t most = 0;    ///< requests in flight at a time, since `most_since`
    /// Not 0: other nodes want places, and unused ones are returned at once. Until the node gets
    /// places that no recall has told it of.
    std::uint32_t is_recalled = 0;

    /// Whether Redis believes that the node has places.
    bool are_held(SteadyTime now) const { return places > 0 && now < until; }
    /// Whether a request may be waiting for Redis's answer.
    bool is_awaited(SteadyTime now) const {
        constexpr SteadyTime kLongest{2000};
        return asked != SteadyTime{} && now - asked < kLongest;
    }
};

/// Places that Redis believes this node has, and whose record another key has taken. Whoever gets
/// this sends their return.
struct HeldPlaces {
    FlightName name;
    std::int64_t version = 0;  ///< of the places: see redis::PlacesWanted
};

/// Knows what a worker can return.
class PlaceReturns {
  public:
    PlaceReturns() = default;
    PlaceReturns(const PlaceReturns&) = delete;
    PlaceReturns& operator=(const PlaceReturns&) = delete;
    virtual ~PlaceReturns() = default;

    /// Whether the places of this key can be returned now, and no request waits for more of them.
    virtual bool can_return(const FlightKey& key) const noexcept = 0;
};

/// Which records a new key may displace, and what it has displaced.
struct Displacement {
    SteadyTime now{};
    std::uint32_t process = 0;  ///< the worker that has a request of the new key
    const PlaceReturns& returns;
    std::optional<HeldPlaces> held{};  ///< has to be returned
};

/// Places of an id and its requests in flight. Plain memory; all zeros is free.
struct alignas(kCacheLine) FlightRecord {
    struct Worker {
        std::uint32_t process;
        std::int32_t requests;  ///< 0: free
    };
    enum class Use : std::uint8_t {
        kFree,
        kFirst,
        kFurther,  ///< of the same key, for more workers; `node` is not used
    };
    FlightName name;
    Use use;
    NodePlaces node;
    std::array<Worker, 5> workers;
};

/// The records of one key, found under the lock of its stripe, and valid until it is released.
class Flight {
  public:
    /// Places of the node; nullptr if no record of the key exists.
    NodePlaces* node() const { return size_ == 0 ? nullptr : &records_.front()->node; }
    /// The key and its id; the record exists.
    const FlightName& name() const { return records_.front()->name; }
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
    bool has_room_for(std::uint32_t process) const;

    std::array<FlightRecord*, kMost> records_{};
    std::size_t size_ = 0;
    FlightRecord* free_ = nullptr;  ///< for one more record
};

/// The records of a stripe, in memory of zeros at first. The caller holds the lock of the stripe.
class FlightRecords {
  public:
    /// Uses memory that is aligned for FlightRecord.
    explicit FlightRecords(std::span<std::byte> memory);

    /// The records of a key.
    Flight find(const FlightKey& key) const;
    /// The records of a key. If there is none, takes a free record. There is none afterwards if
    /// that is not possible.
    Flight find_or_make(const FlightName& name) const;
    /// The records of a key, with room for a request of the worker. If no record is free, displaces
    /// a key that has no requests and waits for none: of which no places are held, otherwise one
    /// whose places can be returned.
    Flight find_or_make(const FlightName& name, Displacement& displacement) const;

    /// Calls `visit` with the records of each key.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (FlightRecord& record : records_) {
            if (record.use == FlightRecord::Use::kFirst) {
                visit(find(record.name.key));
            }
        }
    }

  private:
    std::size_t searched() const;
    FlightRecord& near(const FlightKey& key, std::size_t distance) const;
    FlightRecord* displace(const FlightKey& key, Displacement& displacement) const;
    static void make(Flight& flight, const FlightName& name);

    std::span<FlightRecord> records_;
};

}  // namespace tollgate
