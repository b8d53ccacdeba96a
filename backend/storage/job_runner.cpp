#include "backend/storage/job_runner.hpp"

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "backend/storage/no_waiting.hpp"

namespace petstore {
namespace {

/// All runners of this process. SQLite shares the index of a WAL (`-shm`) between all connections
/// of a process that have the same inode open. While one of them has a removed WAL open, a new
/// connection would read the new WAL with the old index.
struct Runners {
    std::mutex mutex;
    std::vector<JobRunner*> all;
};

Runners& runners() {
    static Runners runners;
    return runners;
}

/// The size of the responses that one read transaction produces, in bytes: about, because a
/// response is never split. Checkpoints wait for read transactions.
constexpr std::size_t kReadSize = 65536;

/// What run_without_waiting() reads from files at most, in bytes. The kernel copies it in 0.3 ms.
constexpr std::size_t kReadSizeWithoutWaiting = 1U << 20U;

/// Runs an operation on the database. Returns the response; nothing if more parts follow.
struct RunOperation {
    PetDatabase& database;

    std::optional<Response> operator()(const CreatePet& operation) const {
        const NewPet& pet = operation.pet;
        return pet_created({.id = database.insert(pet),
                            .name = pet.name,
                            .category_id = pet.category_id,
                            .status = pet.status});
    }
    std::optional<Response> operator()(const GetPet& operation) const {
        Response response;
        const auto make_response = [&](const Pet& pet) { response = pet_found(pet); };
        return database.find(operation.id, make_response) ? std::move(response) : pet_not_found();
    }
    std::optional<Response> operator()(const ListPets& operation) const {
        PetPage page(operation.query);
        database.list(operation.query, [&page](const Pet& pet) { return page.add(pet); });
        return std::move(page).response();
    }
    std::optional<Response> operator()(ListOrders& operation) const {
        std::string& body = operation.body;
        const auto next = database.list_orders(operation.from, [&body](std::string_view document) {
            body += body.size() == 1 ? "" : ",";
            body += document;
        });
        if (next) {
            operation.from = *next;
            return std::nullopt;
        }
        body += ']';
        return orders_listed(std::move(body));
    }
};

/// Runs an operation that takes little time. Returns nothing for the others.
struct RunShortOperation {
    PetDatabase& database;

    std::optional<Response> operator()(const GetPet& operation) const {
        std::optional<Response> response;
        const bool is_found = database.find(operation.id, [&](const Pet& pet) {
            if (pet.name.size() <= kReadSize) {
                response = pet_found(pet);
            }
        });
        return is_found ? std::move(response) : pet_not_found();
    }
    std::optional<Response> operator()(const ListPets& operation) const {
        PetPage page(operation.query);
        std::size_t size = 0;
        database.list(operation.query, [&](const Pet& pet) {
            size += pet.name.size();
            return size <= kReadSize && page.add(pet);
        });
        return size > kReadSize ? std::nullopt : std::optional(std::move(page).response());
    }
    std::optional<Response> operator()(const CreatePet& /*operation*/) const { return {}; }
    std::optional<Response> operator()(const ListOrders& /*operation*/) const { return {}; }
};

/// The message to the client. The error log has the details.
std::string_view message_for(int status) {
    switch (status) {
        case kStorageFull.status:
            return "There is no space left for more pets.";
        case kDatabaseUnavailable.status:
            return "The pets are not available at the moment.";
        default:
            return "The request could not be served.";
    }
}

}  // namespace

void fail_jobs(std::vector<Job>& jobs, ErrorKind kind) noexcept {
    for (Job& job : jobs) {
        job.response.reset();
        job.is_unfinished = false;
        try {
            job.response = error_response(kind, message_for(kind.status));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
}

JobRunner::JobRunner(std::string path, PetDatabase::Access access)
    : path_(std::move(path)), access_(access) {
    const std::lock_guard lock(runners().mutex);
    runners().all.push_back(this);
}

JobRunner::~JobRunner() {
    const std::lock_guard lock(runners().mutex);
    std::erase(runners().all, this);
}

std::string JobRunner::run(std::vector<Job>& jobs) noexcept {
    std::unique_lock lock(mutex_);
    try {
        open(lock);
        run_transactions(jobs);
        return limit_wal_size();
    } catch (const StorageError& error) {
        if (error.recovery() == StorageError::Recovery::kReopen) {
            close();
        }
        fail_jobs(jobs, error.kind());
        return error.what();
    } catch (const std::exception& error) {
        fail_jobs(jobs, kInternalError);
        return error.what();
    }
}

std::size_t JobRunner::run_without_waiting(std::vector<Job>& jobs) noexcept {
    if (access_ != PetDatabase::Access::kRead || NoWaiting::vfs_name() == nullptr) {
        return 0;
    }
    const NoWaiting no_waiting(kReadSizeWithoutWaiting);
    const std::unique_lock lock(mutex_, std::try_to_lock);
    std::size_t done = 0;
    try {
        if (!lock || !database_ || !database_->is_unchanged()) {
            return 0;
        }
        run_short_jobs(jobs, done);
        return database_->is_unchanged() ? done : 0;
    } catch (const std::exception&) {
        return 0;
    }
}

/// Increments `done` for each of the first jobs that has its response.
void JobRunner::run_short_jobs(std::vector<Job>& jobs, std::size_t& done) {
    const PetDatabase::Transaction transaction(*database_, access_);
    try {
        for (std::size_t read = 0; done < jobs.size() && read <= kReadSize; ++done) {
            Job& job = jobs[done];
            job.response = std::visit(RunShortOperation{*database_}, job.operation);
            if (!job.response) {
                return;
            }
            read += job.response->body.size();
        }
    } catch (const std::exception&) {
        return;  // the jobs before this one have read the same state of the database
    }
}

void JobRunner::close() noexcept {
    database_.reset();
    check_other_runners_ = true;
}

void JobRunner::close_if_replaced() {
    if (database_ && database_->is_replaced()) {
        close();
    }
}

/// Opens the database, or keeps it open if the file is still the one at the path.
void JobRunner::open(std::unique_lock<std::mutex>& lock) {
    close_if_replaced();
    if (database_) {
        return;
    }
    if (check_other_runners_) {
        lock.unlock();  // another runner may hold the list and wait for this one
        close_all_replaced();
        lock.lock();
        check_other_runners_ = false;
    }
    database_.emplace(path_, access_);
}

void JobRunner::close_all_replaced() {
    const std::lock_guard all(runners().mutex);
    for (JobRunner* const runner : runners().all) {
        const std::lock_guard lock(runner->mutex_);
        runner->close_if_replaced();
    }
}

void JobRunner::run_transactions(std::vector<Job>& jobs) {
    if (jobs.empty()) {
        return;
    }
    std::size_t read = 0;
    std::optional<PetDatabase::Transaction> transaction;
    for (Job& job : jobs) {
        if (access_ == PetDatabase::Access::kRead && read > kReadSize) {
            transaction.reset();
            read = 0;
        }
        if (!transaction) {
            transaction.emplace(*database_, access_);
        }
        job.response = std::visit(RunOperation{*database_}, job.operation);
        job.is_unfinished = !job.response;
        read += job.response ? job.response->body.size() : kReadSize;
    }
    transaction->commit();
    if (database_->is_replaced()) {
        throw StorageError(
            kDatabaseUnavailable, StorageError::Recovery::kReopen,
            '"' + path_ +
                "\": the database file was replaced while a transaction was running; the next "
                "request opens the new file");
    }
}

/// An error here doesn't change the responses: the jobs are committed.
std::string JobRunner::limit_wal_size() noexcept {
    try {
        if (access_ == PetDatabase::Access::kWrite) {
            database_->limit_wal_size();
        }
        return {};
    } catch (const StorageError& error) {
        if (error.recovery() == StorageError::Recovery::kReopen) {
            close();
        }
        return error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace petstore
