#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "module/engine/identity/authenticator.hpp"
#include "module/engine/identity/group_finder.hpp"
#include "module/engine/quota/acquire_waiter.hpp"
#include "module/engine/table_set.hpp"

namespace tollgate::engine {

/// The values of a request in the tables that count them.
class ValueSource {
  public:
    virtual ~ValueSource() = default;
    /// The value in the table at this position of the table set. Called once for each of them, when
    /// the key is authenticated. The text lives as long as the request. Throws std::bad_alloc.
    virtual std::string_view value(std::size_t table) = 0;
};

/// Chooses the quotas of one request: those of its key, of the key's group if that is needed, and
/// of the values of the request. Quotas that are new to a key that the worker knows are kept with
/// it.
class QuotaChoice {
  public:
    /// What was chosen.
    struct Chosen {
        /// Names the quotas, demands nothing. Without quotas if the plan of the key is not in every
        /// table, or its limits are invalid.
        AcquireRequest request;
        /// What the worker keeps of these quotas; nullptr: nothing. Another request may give it to
        /// another key.
        WorkerQuota* kept = nullptr;
    };

    /// All must outlive it. The key and the group are those of the request.
    QuotaChoice(IdentityParts& parts, TableSet& tables, const Authenticator& key,
                const GroupFinder& group)
        : parts_(parts), tables_(tables), key_(key), group_(group) {}

    /// Chooses the quotas of the key with this record, which must outlive what is returned. Throws
    /// std::bad_alloc.
    Chosen choose(const std::shared_ptr<const KeyRecord>& record, ValueSource& values) const;

  private:
    std::shared_ptr<const Quotas> quotas_of_key(const KeyRecord& record) const;
    void choose_with_group(const KeyRecord& record, AcquireRequest& request) const;
    void choose_by_values(const std::shared_ptr<const KeyRecord>& record, ValueSource& source,
                          Chosen& chosen) const;

    IdentityParts& parts_;
    TableSet& tables_;
    const Authenticator& key_;
    const GroupFinder& group_;
};

}  // namespace tollgate::engine
