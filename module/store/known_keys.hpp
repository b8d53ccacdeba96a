#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "module/core/api_key.hpp"
#include "module/core/key_record.hpp"
#include "module/core/window.hpp"
#include "module/store/set_associative.hpp"

namespace tollgate {

/// The keys that Redis last said were good, in memory that workers share (see SetAssociative), for
/// the time that Redis is out of reach. Of a record it keeps the id, the plan, the expiry and the
/// first 64 bytes of the name.
class KnownKeys {
  public:
    /// Which key: its digest, in the Redis of a `tollgate_redis` (see name_id), since each has keys
    /// of its own.
    struct Key {
        std::uint32_t redis;
        KeyDigest digest;
        bool operator==(const Key&) const = default;
    };

    explicit KnownKeys(std::span<std::byte> memory) : entries_(memory) {}

    /// Redis said that the key is good.
    void remember(const Key& key, const KeyRecord& record, Instant now);
    /// Redis said that it isn't.
    void forget(const Key& key);
    /// The key's record, if Redis said so within the last `age`.
    std::optional<KeyRecord> recall(const Key& key, Instant now,
                                    std::chrono::milliseconds age) const;

  private:
    struct Text {
        std::uint8_t length;
        char bytes[64];
    };

    struct Entry {
        Key key;
        std::int64_t last_seen;
        std::int64_t expires;  ///< seconds; 0: never
        Text id;
        Text plan;
        Text name;
    };

    static void write(Text& text, std::string_view value);
    static std::string read(const Text& text);

    SetAssociative<Entry> entries_;
};

}  // namespace tollgate
