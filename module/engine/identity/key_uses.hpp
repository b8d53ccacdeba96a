#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/node_call.hpp"
#include "module/key/key_record.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/zone/key_cache.hpp"
#include "module/zone/set_associative.hpp"

namespace tollgate::engine {

/// Notes in Redis when keys and subjects were last used, to the minute. A request uses the valid
/// key that it has, whatever is then decided. In each minute, one worker of the node writes each
/// key that is used, a second later, with others. Nothing waits for that. While Redis is
/// unreachable, the last uses are kept and nothing is sent.
class KeyUses : private Pinned {
  public:
    /// The context must outlive it.
    explicit KeyUses(EngineContext& context);

    /// The minute of the wall clock, as KeyCache stores it.
    KeyCache::Minute minute() const noexcept;
    /// When that minute ends, by the steady clock.
    SteadyTime end_of_minute() const noexcept;

    enum class Kind : bool { kKey, kSubject };
    /// The key or subject is used now. No effect if the node has noted that in this minute.
    void note(const KeyCache::Key& key, const KeyRecord& record, Kind kind = Kind::kKey) noexcept;

    /// A graceful shutdown of this worker has begun: sends what is left.
    void shut_down() noexcept;

  private:
    class Reply;
    struct DigestHash {
        std::size_t operator()(const KeyDigest& digest) const noexcept {
            return place_hash(std::span(digest).first<sizeof(std::uint64_t)>(), 0);
        }
    };
    struct Use {
        std::string id;
        ExactSteadyTime at;
        Kind kind;
    };
    using Pending = std::unordered_map<KeyDigest, Use, DigestHash>;
    /// A use that is being sent.
    struct Chosen {
        redis::Slot slot;
        Pending::iterator use;
    };

    /// About 2 MiB.
    static constexpr std::size_t kMostPending = 16'384;

    void on_timer() noexcept;
    void take_kept() noexcept;
    void send(std::size_t most, std::size_t examined) noexcept;
    std::vector<Chosen> choose(std::size_t most, std::size_t examined);
    void send_batch(std::span<const Chosen> batch);

    EngineContext& context_;
    NodeCall calls_;
    Pending pending_;
    Pending kept_;             ///< until their masters are reachable
    bool is_waiting_ = false;  ///< the timer runs
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
