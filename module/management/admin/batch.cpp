#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/batch_body.hpp"
#include "module/management/admin/batch_record.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

/// The status of an operation that was not executed, or only in part.
constexpr int kUnavailable = 503;

/// Later operations are not executed: the response would be too late.
constexpr std::chrono::milliseconds kBatchTime{40s};

/// The database of a batch. It determines once, at the end, whether the changes survive a failover.
class BatchDatabase final : public Database {
  public:
    explicit BatchDatabase(Database& database) : database_(database) {}

    void execute(std::vector<Transaction> transactions, Done done) override {
        database_.execute(std::move(transactions), std::move(done));
    }
    void wait(std::chrono::milliseconds time, Done done) override {
        database_.wait(time, std::move(done));
    }
    bool defer(std::coroutine_handle<> task) override { return database_.defer(task); }
    std::chrono::milliseconds elapsed() const override { return database_.elapsed(); }
    bool may_span(std::string_view key, std::string_view other) const override {
        return database_.may_span(key, other);
    }
    Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }

  private:
    Database& database_;
};

/// What became of an operation.
struct BatchResult {
    int status = kUnavailable;
    std::string id{};  ///< that it concerns; empty: not known
    std::string etag{};
    std::string body{};  ///< JSON; empty: none
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
    return {.status = kUnavailable, .body = std::move(response.body)};
}

/// Executes the requests one after the other, until Redis cannot be reached or the time is over.
Task<std::vector<BatchResult>> execute_all(const ResourceRequest& batch, Database& database,
                                           std::vector<AdminRequest> requests) {
    std::vector<BatchResult> results;
    results.reserve(requests.size());
    bool goes_on = true;
    for (auto& request : requests) {
        goes_on = goes_on && database.elapsed() < kBatchTime;
        if (!goes_on) {
            results.push_back(not_executed());
            continue;
        }
        auto tables = batch.tables;
        AdminRequest copy = request;
        auto response = co_await handle(database, batch.keys, std::move(tables), std::move(copy));
        goes_on = response.status != kUnavailable;
        results.push_back(result_of(request, std::move(response)));
    }
    co_return results;
}

/// The results as they are recorded: the statuses, and the ids. Keys are not recorded.
std::string recorded(const std::vector<BatchResult>& results) {
    std::string text;
    for (const auto& result : results) {
        text.append(text.empty() ? "" : " ").append(std::to_string(result.status));
        text.append(":").append(result.id);
    }
    return text;
}

std::vector<BatchResult> results_in(std::string_view text) {
    std::vector<BatchResult> results;
    while (!text.empty()) {
        const auto one = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        const auto colon = std::min(one.find(':'), one.size());
        results.push_back({.status = static_cast<int>(redis::number_or_zero(one.substr(0, colon))),
                           .id = std::string(one.substr(std::min(colon + 1, one.size())))});
    }
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

/// Whether the repetition of the batch must do nothing: each operation was executed, or refused.
bool is_complete(const std::vector<BatchResult>& results) {
    return std::ranges::none_of(
        results, [](const BatchResult& result) { return result.status == kUnavailable; });
}

/// Requests that only read belong into requests of their own, whose responses are limited. Throws
/// OperationError.
void require_changes(const std::vector<AdminRequest>& requests) {
    for (const auto& request : requests) {
        const bool is_batch = longest_body(request.method, request.path) > kLongestBody;
        if (is_batch || is_read(request.method, request.path)) {
            refuse("operation " + request.part +
                   " does not change a key: use a request of its own");
        }
        if (request.body.size() > kLongestBody) {
            refuse("operation " + request.part + " has a body of more than " +
                   std::to_string(kLongestBody) + " bytes");
        }
    }
}

}  // namespace

Task<AdminResponse> execute_batch(ResourceRequest request) {
    request.preconditions.require_without_version();
    auto requests = read_batch(request.request);
    require_changes(requests);
    const IdempotentRequest idempotent(request.request);
    BatchRecord record(request.database, request.keys, idempotent);
    const auto before = co_await record.begin();
    if (before) {
        co_return batch_response(results_in(*before));
    }
    BatchDatabase database(request.database);
    const auto results = co_await execute_all(request, database, std::move(requests));
    if (results.front().status == kUnavailable) {
        co_await record.end(std::nullopt);
        throw OperationError(Reason::kUnavailable, "Redis is unreachable: repeat the request");
    }
    auto durability = co_await request.database.acknowledge();
    if (durability == Durability::kUndone) {
        durability = Durability::kUnverified;  // the operations are not repeated
    }
    std::optional<std::string> to_record;
    if (is_complete(results) && durability != Durability::kUnverified) {
        to_record = recorded(results);
    }
    co_await record.end(std::move(to_record));
    co_return with_durability(batch_response(results), durability);
}

}  // namespace tollgate::management
