#include "module/management/admin/batch_recalls.hpp"

#include <utility>

#include "module/management/admin/admin_api.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

/// Nodes remember some hundred recalls: see Recalls.
constexpr std::size_t kMostRecalls = 50;
/// A node may have leased again after that.
constexpr std::chrono::milliseconds kRecallLasts = 1s;

}  // namespace

BatchRecalls::BatchRecalls(Database& database, const redis::Keys& keys,
                           const std::vector<AdminRequest>& requests)
    : database_(database), keys_(keys) {
    resets_.reserve(requests.size());
    for (const auto& request : requests) {
        resets_.push_back(reset_by(request.method, request.path));
    }
}

Task<bool> BatchRecalls::recall_before(std::size_t index) {
    if (!resets_[index]) {
        co_return false;
    }
    if (index < end_ && database_.elapsed() - time_ < kRecallLasts) {
        co_return true;
    }
    std::vector<UsageOwner> owners;
    for (end_ = index; end_ < resets_.size() && owners.size() < kMostRecalls; ++end_) {
        if (resets_[end_]) {
            owners.push_back(*resets_[end_]);
        }
    }
    time_ = database_.elapsed();
    try {
        co_await recall_leases(database_, keys_, std::move(owners));
    } catch (const OperationError&) {
        end_ = index;  // the request recalls its leases itself, and reports the error
        co_return false;
    }
    co_return true;
}

}  // namespace tollgate::management
