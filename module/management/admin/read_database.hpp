#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "module/management/forwarding_database.hpp"

namespace tollgate::management {

/// The database of a request that only reads. The request ends at its next step once nobody waits
/// for the response: a search does not go on for a client that has left.
class ReadDatabase final : public ForwardingDatabase {
  public:
    /// `is_wanted` says whether the client still waits. `database` must outlive the object.
    ReadDatabase(Database& database, std::function<bool()> is_wanted)
        : ForwardingDatabase(database), is_wanted_(std::move(is_wanted)) {}

    /// Fails with Reason::kUnavailable if nobody waits.
    void execute(std::vector<Transaction> transactions, Done done) override {
        if (is_wanted_()) {
            ForwardingDatabase::execute(std::move(transactions), std::move(done));
        } else {
            done(std::make_exception_ptr(
                OperationError(Reason::kUnavailable, "the client has left")));
        }
    }

  private:
    std::function<bool()> is_wanted_;
};

}  // namespace tollgate::management
