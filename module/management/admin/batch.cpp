#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/batch_body.hpp"
#include "module/management/admin/batch_recalls.hpp"
#include "module/management/admin/batch_record.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/forwarding_database.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

/// The status of an operation that was not executed, or only in part.
constexpr int kUnavailable = 503;

/// Later operations are not executed: the response would be too late.
constexpr std::chrono::milliseconds kBatchTime{40s};
static_assert(kBatchTime < kLongestOperation, "the request waits for the last operation");
static_assert(kLongestOperation < BatchRecord::kLongestExecution,
              "a batch whose request waits does not count as interrupted");

/// The database of a batch. It determines once, at the end, whether the changes survive a failover.
class BatchDatabase final : public ForwardingDatabase {
  public:
    using ForwardingDatabase::ForwardingDatabase;

    Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }
};

/// What became of an operation.
struct BatchResult {
    int status = kUnavailable;
    std::string id{};  ///< that it concerns; empty: not known
    std::string etag{};
    std::string body{};         ///< JSON; empty: none
    bool is_not_begun = false;  ///< because of an operation before, or of the caller's rights

    /// Whether a repetition of the batch executes the operation again.
    bool is_to_be_repeated() const { return is_not_begun || status == kUnavailable; }
};

BatchResult result_of(const AdminRequest& request, AdminResponse response) {
    BatchResult result{.status = response.status, .body = std::move(response.body)};
    for (const auto& [name, value] : response.fields) {
        if (name == "Location") {
            result.id = value.substr(value.find('/') + 1);
        } else if (name == "ETag") {
            result.etag = value;
        }
    }
    const auto& segments = request.path.segments();
    if (segments.size() > 1 && is_valid_key_id(segments[1])) {
        result.id = segments[1];
    }
    return result;
}

BatchResult not_executed() {
    auto response = error_response(kUnavailable, "service_unavailable",
                                   "The operation was not executed: repeat the request.");
    return {.status = kUnavailable, .body = std::move(response.body), .is_not_begun = true};
}

/// Executes the requests after those with results, one after the other, until Redis cannot be
/// reached, the time is over, or the caller has lost its rights. Returns the results of all.
Task<std::vector<BatchResult>> execute_rest(const ResourceRequest& batch, Database& database,
                                            std::vector<AdminRequest> requests,
                                            std::vector<BatchResult> results) {
    BatchRecalls recalls(database, batch.keys, requests);
    results.reserve(requests.size());
    std::optional<BatchResult> of_others;  // that are not begun
    for (std::size_t i = results.size(); i < requests.size(); ++i) {
        if (!of_others && database.elapsed() >= kBatchTime) {
            of_others = not_executed();
        }
        if (of_others) {
            results.push_back(*of_others);
            continue;
        }
        auto tables = batch.tables;
        const bool leases_are_recalled = co_await recalls.recall_before(i);
        AdminRequest request = requests[i];
        request.leases_are_recalled = leases_are_recalled;
        auto response = co_await handle(database, batch.keys, std::move(tables), batch.rights,
                                        std::move(request));
        if (response.is_refusal) {
            of_others = BatchResult{
                .status = response.status, .body = std::move(response.body), .is_not_begun = true};
            results.push_back(*of_others);
            continue;
        }
        if (response.status == kUnavailable) {
            of_others = not_executed();
        }
        results.push_back(result_of(requests[i], std::move(response)));
    }
    co_return results;
}

/// The results of the operations that were executed, or refused: the first ones.
std::vector<RecordedResult> to_record(const std::vector<BatchResult>& results) {
    std::vector<RecordedResult> recorded;
    recorded.reserve(results.size());
    for (const auto& result : results) {
        if (result.is_to_be_repeated()) {
            break;
        }
        recorded.push_back({.status = result.status, .id = result.id});
    }
    return recorded;
}

std::vector<BatchResult> results_of(const std::vector<RecordedResult>& recorded) {
    std::vector<BatchResult> results;
    results.reserve(recorded.size());
    std::ranges::transform(recorded, std::back_inserter(results), [](const RecordedResult& one) {
        return BatchResult{.status = one.status, .id = one.id};
    });
    return results;
}

AdminResponse batch_response(const std::vector<BatchResult>& results) {
    return json_response(200, [&](JsonWriter& json) {
        json.array("results", [&] {
            for (const auto& result : results) {
                json.object([&] {
                    json.member("status", result.status);
                    json.member_or_null("id", result.id);
                    json.member_or_null("etag", result.etag);
                    json.name("body");
                    if (result.body.empty()) {
                        json.null();
                    } else {
                        json.json(result.body);
                    }
                });
            }
        });
    });
}

}  // namespace

Task<AdminResponse> execute_batch(ResourceRequest request) {
    request.preconditions.require_without_version();
    auto requests = co_await read_batch(request.database, request.request);
    const IdempotentRequest idempotent(request.request);
    BatchRecord record(request.database, request.keys, idempotent, requests.size());
    auto recorded = co_await record.begin();
    auto results = results_of(recorded);
    const std::size_t first = results.size();
    if (first == requests.size()) {
        co_return batch_response(results);
    }
    BatchDatabase database(request.database);
    results = co_await execute_rest(request, database, std::move(requests), std::move(results));
    if (results[first].status == kUnavailable) {
        co_await record.end(std::move(recorded));
        throw OperationError(Reason::kUnavailable, "Redis is unreachable: repeat the request");
    }
    auto durability = co_await request.database.acknowledge();
    if (durability == Durability::kUndone) {
        durability = Durability::kUnverified;  // the operations are not repeated
    }
    if (durability != Durability::kUnverified) {
        recorded = to_record(results);
    }
    co_await record.end(std::move(recorded));
    co_return with_durability(batch_response(results), durability);
}

}  // namespace tollgate::management
