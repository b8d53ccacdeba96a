#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "module/plan/period.hpp"

// What Tollgate stores in Redis: names of keys, and fields of hashes. The scripts, the engine and
// the command take all names from here.

namespace tollgate::redis {

/// Parts of the names of keys that scripts need, too.
inline constexpr std::string_view kBanKey = "ban:";
inline constexpr std::string_view kQuotaKey = "quota:";
inline constexpr std::string_view kEventsKey = "events";
/// The begin of a message of `events`: nodes return the leases of the id that follows, or of a
/// value of it if ValueDigest::suffix follows the id.
inline constexpr std::string_view kRecallOf = "recall:";
/// The begin of a message of `events`: nodes return the places of the id that follows which no
/// request uses. See scripts/flight.lua.
inline constexpr std::string_view kPlacesOf = "places:";
/// The begin of a message of `events`, and of a member of `changes`: the record of the group that
/// follows has changed.
inline constexpr std::string_view kChangeOfGroup = "group:";
/// Names the change of a group in `events` and `changes`.
inline std::string change_of_group(std::string_view group) {
    return std::string(kChangeOfGroup).append(group);
}

/// Whose counters: an id, and the group of its keys if it has one. What Redis decides together has
/// the hash tag of the group. A view.
struct Owner {
    std::string_view id;
    std::string_view group{};

    Owner(std::string_view its_id, std::string_view its_group = {})
        : id(its_id), group(its_group) {}
    Owner(const std::string& its_id) : id(its_id) {}
    Owner(const char* its_id) : id(its_id) {}

    /// The hash tag.
    std::string_view tag() const { return group.empty() ? id : group; }
    /// What follows the tag in the names of keys.
    std::string_view rest() const { return group.empty() ? std::string_view() : id; }
};

/// The names of all Redis keys of Tollgate, after the prefix of `tollgate_redis`. All quota keys of
/// one request have the same hash tag, so that one script can decide it on a cluster: `{ID}`, or
/// `{GROUP}ID` if the id is in a group.
class Keys {
  public:
    explicit Keys(std::string prefix)
        : prefix_(std::move(prefix)),
          quota_begin_(begin(kQuotaKey)),
          used_begin_(begin("used:")),
          id_begin_(begin("id:")) {}

    /// A hash, the record of a key: see record_field. The digest is in hexadecimal.
    std::string key(std::string_view digest) const {
        return prefix_ + "key:" + std::string(digest);
    }
    /// A set: the digests of the keys of an id.
    std::string id(std::string_view id) const { return tagged("id:", id); }
    /// A sorted set: all ids, by time of creation.
    std::string ids() const { return prefix_ + "ids"; }
    /// A sorted set, whose scores are 0: by which values of their records ids are found, see
    /// management/indexed_fields.hpp.
    std::string index() const { return prefix_ + "index"; }
    /// A sorted set: ids that were revoked, with the scores that they had in `ids` before their
    /// first revocation, for kRevokedKept after the last one. An id that was issued again stays.
    std::string revoked() const { return prefix_ + "revoked"; }
    /// A sorted set: the ids of revoked(), by the time of their last revocation.
    std::string revocations() const { return prefix_ + "revocations"; }
    /// A set: the digests of the keys that the id had when it was revoked, for kRevokedKept. A
    /// failover may undo the end of a key and not that of the id.
    std::string ended(std::string_view id) const { return tagged("ended:", id); }
    /// A hash: see window_part and lease_field. `value` is ValueDigest::suffix().
    std::string quota(const Owner& owner, std::string_view table,
                      std::string_view value = {}) const {
        std::string key;
        for (const auto part : quota_parts(owner, table, value)) {
            key += part;
        }
        return key;
    }
    /// The parts of quota(), without an allocation: every request that Redis decides needs them.
    std::array<std::string_view, 7> quota_parts(const Owner& owner, std::string_view table,
                                                std::string_view value) const {
        return {quota_begin_, owner.tag(), "}", owner.rest(), ":", table, value};
    }
    /// Stores the number of the last report of a node that was applied to a quota. `layout` is its
    /// layout_name: a node may have reports of several layouts, which it numbers separately.
    std::string report(const Owner& owner, std::string_view table, std::string_view value,
                       std::string_view node, std::string_view layout) const {
        return tagged("report:", owner)
            .append(":")
            .append(table)
            .append(value)
            .append(":")
            .append(node)
            .append(":")
            .append(layout);
    }
    /// A hash: see ban_field.
    std::string ban(const Owner& owner) const { return tagged(kBanKey, owner); }
    /// A hash: for each digest of an id the Unix time when the key was last used, rounded down to a
    /// minute, and kSubjectUse, the same of the id as a subject. It expires kUseLifetime after the
    /// UTC day of the last use: only the first use of a day changes that. That of an id without a
    /// key expires kSubjectUseLifetime after the last use.
    std::string used(std::string_view id) const { return tagged("used:", id); }
    /// The parts of used() and of id(), without an allocation: many requests are the first ones of
    /// their keys in a minute.
    std::array<std::string_view, 3> used_parts(std::string_view id) const {
        return {used_begin_, id, "}"};
    }
    std::array<std::string_view, 3> id_parts(std::string_view id) const {
        return {id_begin_, id, "}"};
    }
    /// A hash: the failed authentications of an address at all nodes, see window_part. `address`
    /// has letters and digits only.
    std::string address(std::string_view address, std::string_view table) const {
        return tagged("address:", address).append(":").append(table);
    }
    /// A hash: the places of each node for requests in flight, and their sum; see
    /// scripts/flight.lua.
    std::string flight(std::string_view id) const { return tagged("flight:", id); }
    /// A hash: what an id was granted in earlier days, see history_field. The last day is in the
    /// hash quota(), until the first request of a later day.
    std::string history(const Owner& owner) const { return tagged("history:", owner); }
    /// A hash, the credits of a balance that quota() with the same arguments has: for each
    /// reference the units.
    std::string credits(const Owner& owner, std::string_view table,
                        std::string_view value = {}) const {
        return tagged("credits:", owner).append(":").append(table).append(value);
    }
    /// A hash, the record of a group: see record_field. Its id is the group.
    std::string group(std::string_view group) const { return tagged("group:", group); }
    /// A sorted set, whose scores are 0: all groups that have a record.
    std::string groups() const { return prefix_ + "groups"; }
    /// A hash: the group of each id that is or was in one, for programs that have no record of the
    /// id. That of a revoked id remains: it names its history.
    std::string group_of_ids() const { return prefix_ + "group_of_ids"; }
    /// A hash: a request of tollgate_admin with an `Idempotency-Key`, see request_field. `name` is
    /// a part of IdempotentRequest::name.
    std::string request(std::string_view name) const {
        return prefix_ + "request:" + std::string(name);
    }
    /// A hash that probe_script() writes, with its time.
    std::string probe() const { return prefix_ + "probe"; }
    /// A hash: each plan table as JSON, see published_plans.hpp.
    std::string plans() const { return prefix_ + "plans"; }
    /// A sorted set: the nodes that decide alone in an outage, by the Redis time in ms until which
    /// each counts.
    std::string nodes() const { return prefix_ + "nodes"; }
    /// A sorted set: the ids and digests of records that changed within the last hour, by the time
    /// of the change in ms. The last change remains, so that the set exists once a record has
    /// changed.
    std::string changes() const { return prefix_ + "changes"; }
    /// A stream: who did what to which id, see audit_field.
    std::string audit() const { return prefix_ + "audit"; }
    /// A stream: what the holders of keys are to be told, see notice_field.
    std::string notices() const { return prefix_ + "notices"; }
    /// A stream in a cluster, whose scripts reach one slot only: the notices of the ids in the slot
    /// with this slot_tag, until `tollgate notify` moves them to notices(). Without a tag, it is
    /// notices().
    std::string notices_of(std::string_view tag) const { return of_slot("notices", tag); }
    /// A sorted set, whose scores are 0: the ids that were granted units in a table with a history,
    /// or were banned, while they had no key. With a tag, those in the slot with this slot_tag.
    std::string subjects(std::string_view tag = {}) const { return of_slot("subjects", tag); }
    /// A sorted set: the ids of subjects(), by the Unix time in ms at which their history or ban
    /// ends. They leave both sets later, when others are added.
    std::string subject_ends(std::string_view tag = {}) const {
        return of_slot("subject_ends", tag);
    }
    /// A string: the last notice about the expiry of a key, EXPIRES:LEVEL. It expires
    /// with the key.
    std::string noticed(std::string_view digest) const {
        return prefix_ + "noticed:" + std::string(digest);
    }
    /// A channel: the id or digest of a changed record.
    std::string events() const { return prefix_ + std::string(kEventsKey); }

  private:
    /// The beginning of the names of this kind, before their tag.
    std::string begin(std::string_view kind) const {
        return std::string(prefix_).append(kind).append("{");
    }

    std::string tagged(std::string_view kind, const Owner& owner) const {
        return std::string(prefix_)
            .append(kind)
            .append("{")
            .append(owner.tag())
            .append("}")
            .append(owner.rest());
    }

    std::string of_slot(std::string_view name, std::string_view tag) const {
        auto key = prefix_ + std::string(name);
        return tag.empty() ? key : key.append(":{").append(tag).append("}");
    }

    std::string prefix_;
    std::string quota_begin_;
    std::string used_begin_;
    std::string id_begin_;
};

/// How long a revoked id is listed: longer than the longest history, whose days may be billed.
inline constexpr std::chrono::seconds kRevokedKept = std::chrono::hours(24) * 3662;
/// How long a key is remembered that a rotation without overlap has ended: programs rotate often.
inline constexpr std::chrono::seconds kRotatedKept = std::chrono::hours(24) * 366;
/// How long the hash `used:{ID}` is kept after the day of the last use of a key: ids that are not
/// used any more must not stay for ever.
inline constexpr std::chrono::seconds kUseLifetime = std::chrono::hours(24) * 366;
/// How long the hash `used:{ID}` of an id without a key is kept after the last use: `tollgate top`
/// shows whether a banned id still sends requests.
inline constexpr std::chrono::seconds kSubjectUseLifetime = std::chrono::hours(1);
/// The field of the hash `used:{ID}` for requests with a subject.
inline constexpr std::string_view kSubjectUse = "subject";

/// About how many entries the stream `notices` keeps.
inline constexpr std::int64_t kMostNotices = 100'000;
/// How long the stream is kept after its last entry. An older notice is not delivered any more.
inline constexpr std::chrono::days kNoticesKept{7};

/// Fields of the hash `key:SHA256HEX`. record_fields() describes those of KeyRecord.
namespace record_field {
inline constexpr std::string_view kId = "id";
inline constexpr std::string_view kPlan = "plan";
inline constexpr std::string_view kLimits = "limits";
inline constexpr std::string_view kBillingDay = "billing_day";
inline constexpr std::string_view kGroup = "group";
inline constexpr std::string_view kScopes = "scopes";
inline constexpr std::string_view kState = "state";      ///< see key_state
inline constexpr std::string_view kCreated = "created";  ///< Unix time
/// The operation that stores the key, until it has shown the key.
inline constexpr std::string_view kOperation = "operation";
/// The last characters of the key: see key_hint().
inline constexpr std::string_view kHint = "hint";
/// When the id was issued, if this is not its first key: a Unix time.
inline constexpr std::string_view kIssued = "issued";
/// The request of tollgate_admin that made the key, if it has an `Idempotency-Key`.
inline constexpr std::string_view kRequest = "request";
/// The last rotation that changed the key before its successor existed: one without overlap, or
/// under a condition.
inline constexpr std::string_view kRotation = "rotation";
/// The id whose key was revoked. Then there is no `id`, so that gateways find no record, and no
/// operation stores the key again; only what BilledFields says is there beside it. It stays for
/// ever, or, if a rotation without overlap has ended the key, for kRotatedKept.
inline constexpr std::string_view kRevoked = "revoked";
/// The state of the key that replaces this one.
inline constexpr std::string_view kSuccessorState = "successor_state";
}  // namespace record_field

/// Fields of an entry of the stream `audit`.
namespace audit_field {
inline constexpr std::string_view kActor = "actor";    ///< `USER@HOST`, or `key:ID`
inline constexpr std::string_view kAction = "action";  ///< such as `issue`
inline constexpr std::string_view kId = "id";
inline constexpr std::string_view kRequest = "request";  ///< its name: see request_name()
inline constexpr std::string_view kDetail = "detail";    ///< the values that `set` sets
inline constexpr std::string_view kBefore = "before";    ///< what `set` has replaced
}  // namespace audit_field

/// Values of record_field::kState. Gateways accept only kActive.
namespace key_state {
inline constexpr std::string_view kActive = "active";
inline constexpr std::string_view kDisabled = "disabled";
inline constexpr std::string_view kPending = "pending";    ///< reserved by a command that runs
inline constexpr std::string_view kReplaced = "replaced";  ///< ended by a rotation without overlap
}  // namespace key_state

/// Fields of the hash `quota:{ID}:TABLE`, and of `quota:{ID}:TABLE:VALUE`. Each window has its own,
/// named `PERIOD.PART`, with the period in seconds, or `month`, or `balance`: see stored_period. A
/// hash with a balance never expires.
namespace window_part {
inline constexpr std::string_view kNumber = "number";  ///< of the last counted window
inline constexpr std::string_view kCount = "count";    ///< units counted in it
inline constexpr std::string_view kPrevious =
    "previous";  ///< of sliding windows: in the one before
/// The debt of a bucket, which is what it lacks to be full, and the time of this debt, in us of
/// Redis's clock: see bucket.hpp.
inline constexpr std::string_view kDebt = "debt";
inline constexpr std::string_view kTime = "time";
/// Of a balance: the units that are left, below 0 if requests have used more than they took; the
/// sum of all credits; and the last one, of which notices take their levels.
inline constexpr std::string_view kLeft = "left";
inline constexpr std::string_view kCredited = "credited";
inline constexpr std::string_view kLastCredit = "last_credit";
/// The notices of a window, `NUMBER:100/1000 80/2000`: of which window, and each level with the
/// highest limit of which it was noticed, unless a higher level has this limit or a higher one.
inline constexpr std::string_view kNoticed = "noticed";
/// In the hash `quota:{ID}:TABLE:others` only, of a longest window: its number, and how many values
/// have a counter of their own in it. See PlanTable::most_values.
inline constexpr std::string_view kWindowOfValues = "values_window";
inline constexpr std::string_view kValues = "values";
}  // namespace window_part

/// Fields of an entry of the stream `notices`. All but the id and the level belong to the kind.
namespace notice_field {
inline constexpr std::string_view kId = "id";
/// In per cent of the limit of a window; of a key, the days that it is still valid.
inline constexpr std::string_view kLevel = "level";
inline constexpr std::string_view kTable = "table";  ///< of a window; a key has none
inline constexpr std::string_view kValue = "value";  ///< of `by=$variable`: ValueDigest; else empty
inline constexpr std::string_view kPeriod = "period";  ///< see stored_period
/// Of the window; of a balance, the sum of all credits.
inline constexpr std::string_view kNumber = "number";
inline constexpr std::string_view kEnds = "ends";    ///< of a month: its end in ms
inline constexpr std::string_view kLimit = "limit";  ///< its limit then
inline constexpr std::string_view kUsed = "used";    ///< the units counted then
/// The time, in ms, of a notice about a level that was noticed before in the window. The window has
/// fallen below the level since. Other notices have no such field.
inline constexpr std::string_view kAgain = "again";
inline constexpr std::string_view kDigest = "digest";    ///< of a key
inline constexpr std::string_view kExpires = "expires";  ///< of a key: a Unix time
/// The former id of an entry that `tollgate notify` has moved.
inline constexpr std::string_view kMoved = "moved";
}  // namespace notice_field

/// The parts of the name of a window's field, for example `60.count`, without an allocation.
/// `period` is as stored_period writes it.
inline std::array<std::string_view, 3> window_field(std::string_view period,
                                                    std::string_view part) {
    return {period, ".", part};
}

/// The name of a field of a balance, such as `balance.left`.
inline std::string balance_field(std::string_view part) {
    return std::string(kBalanceName).append(".").append(part);
}

/// The parts of the name of a field of the hash `history:{ID}`: the units that were granted in a
/// UTC day, which is a number of days since the epoch. Neither tables nor days contain a colon.
inline std::array<std::string_view, 3> history_field(std::string_view table, std::string_view day) {
    return {table, ":", day};
}

/// The fields of a hash `request:NAME`.
namespace request_field {
inline constexpr std::string_view kBody = "body";  ///< a part of the SHA-256 of the body
inline constexpr std::string_view kRun = "run";    ///< who executes it; empty: it was executed
inline constexpr std::string_view kResults = "results";  ///< of a batch: see BatchRecord
}  // namespace request_field

/// Further fields of the hash `quota:{ID}:TABLE`: the last leases, for the `Retry-After` of a node
/// that refuses while others may give back units. Times are Unix times in milliseconds.
namespace lease_field {
inline constexpr std::string_view kNode = "lease_node";  ///< the node that got the last lease
/// `TIME:CALL:UNITS`: when it got it, the number of its call (see Zone::number_call), and what this
/// call has added to each window that was current at that time. TIME alone if these units were
/// taken back (see LostCalls), or if it has added them to other windows.
inline constexpr std::string_view kGrant = "lease_grant";
inline constexpr std::string_view kOfOther =
    "lease_grant_of_other";  ///< kGrant of the last lease of any other node
inline constexpr std::string_view kRecalled = "lease_recalled";  ///< when leases were last recalled
}  // namespace lease_field

/// Fields of the hash `ban:{ID}`. Times are Unix times in milliseconds.
namespace ban_field {
inline constexpr std::string_view kStrikes = "strikes";
inline constexpr std::string_view kSince = "since";  ///< time of the first strike
inline constexpr std::string_view kLevel = "level";  ///< number of bans so far
inline constexpr std::string_view kUntil = "until";  ///< end of the last ban
}  // namespace ban_field

/// In a reply of acquire_script(), precedes Redis's error of an id whose units are counted,
/// although their windows cannot expire.
inline constexpr std::string_view kCounted = "COUNTED ";

/// The field of the hash `report:{ID}:TABLE:NODE:LAYOUT`: the number of the last report that was
/// applied.
inline constexpr std::string_view kReportNumber = "number";

}  // namespace tollgate::redis
