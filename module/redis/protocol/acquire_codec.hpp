#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "module/quota/acquire.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// The terms of earlier calls, encoded. Most calls have the same terms.
class KnownTerms {
  public:
    /// The terms of an acquire. Valid until the next call of this function. Throws std::bad_alloc.
    const Words& of(const Acquire& acquire);

  private:
    struct Encoded {
        Acquire acquire;  ///< has these terms
        Words words;
    };

    /// The most terms that are kept: an acquire compares its own with all of them.
    static constexpr std::size_t kMost = 8;

    std::vector<Encoded> known_;
    std::size_t next_ = 0;  ///< to be replaced if there are kMost
};

/// The context of all acquires of one call.
struct AcquireContext {
    std::string_view node;        ///< the node's name, of its leases and in the keys of its reports
    Instant deadline{};           ///< Redis rejects the call after this time of its clock; 0: never
    SteadyTime sent{};            ///< when the call is sent
    std::uint64_t call = 0;       ///< its number, if it asks for a lease: see Zone::number_call
    KnownTerms* terms = nullptr;  ///< of earlier calls; may be nullptr
    std::string tag{};            ///< slot_tag of the call in a cluster, if need_lists()
};

/// The most numbers of the ids of a call, by reply_numbers(). Lua returns at most 8,000 values of a
/// table at once: the script would fail after it has counted. It also returns, apart from these,
/// four numbers for each table of which other nodes have leases, and a table has at least two here.
/// An id that names lost calls has one more for each table.
/// The time that a call takes in Redis is bounded with them.
constexpr std::size_t kMostReplyNumbers = 3'900;

/// The number of the first window of this rate. The script computes a number from the time and the
/// length, so that of a balance is 0 there.
inline std::int64_t first_number(const Rate& rate) {
    return rate.is_balance() ? kBalanceWindow : 0;
}

/// How many numbers a reply may have for an id with these quotas.
std::size_t reply_numbers(const Quotas& quotas);

/// The most plan tables that may decide one request: reply_numbers() of one id in so many tables is
/// at most kMostReplyNumbers, also if each of them counts values and keeps a history.
constexpr std::size_t kMostTables = 128;

/// Whether the script may add one of the ids to Keys::notices_of or Keys::subjects.
bool need_lists(std::span<const Acquire> acquires);

/// The call of acquire_script() for these acquires. The text of the script describes its arguments.
Call acquire_call(std::span<const Acquire> acquires, const Keys& keys,
                  const AcquireContext& context);

/// The error of an id whose numbers can't be used. Redis may have done what was asked.
constexpr std::string_view kOutOfRange = "a number of an id is out of range";

/// The result of one id: the decision; or Redis's error as a view into the reply, and Redis did
/// nothing, unless it begins with kCounted; or kOutOfRange.
using AcquireResult = std::variant<Acquired, std::string_view>;

struct AcquireResults {
    ExactInstant now;   ///< Redis's clock
    bool late = false;  ///< the deadline had passed: nothing was decided, `of_ids` is empty
    std::vector<AcquireResult> of_ids;
};

/// Reads the values that the script returned after the token; nothing if they are malformed. An
/// error of one id (WRONGTYPE) does not affect the others. Uses the memory of `results`, earlier
/// results that nobody needs any more.
std::optional<AcquireResults> read_acquired(ReplyValues values, std::span<const Acquire> acquires,
                                            AcquireResults results = {});

}  // namespace tollgate::redis
