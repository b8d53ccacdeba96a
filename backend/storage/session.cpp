#include "backend/storage/session.hpp"

#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

namespace petstore {
namespace {

/// All sessions of the process. SQLite shares the log's index (`-shm`) among all connections of a
/// process that have the same inode open: as long as one of them has a log open that was removed, a
/// new one would read the new log by the old index.
struct Sessions {
    std::mutex mutex;
    std::vector<Session*> all;
};

Sessions& sessions() {
    static Sessions sessions;
    return sessions;
}

/// What one transaction reads, more or less: while it is open, a checkpoint waits for it.
constexpr std::size_t kReadSize = 65536;

/// Serves a call on the database that it is given.
struct Serve {
    PetDatabase& database;

    std::optional<Answer> operator()(AddPet& call) const {
        Pet pet{std::move(call.pet), 0};
        pet.id = database.add(pet);
        return pet_added(pet);
    }
    std::optional<Answer> operator()(const FindPet& call) const {
        return pet_found(database.find(call.id));
    }
    std::optional<Answer> operator()(const ListPets& call) const {
        PetPage page(call.query);
        database.list(call.query, [&page](const Pet& pet) { page.add(pet); });
        return std::move(page).answer();
    }
    std::optional<Answer> operator()(ListOrders& call) const {
        const auto next = database.orders(call.from, [&call](std::string_view document) {
            call.body += call.body.size() == 1 ? "" : ",";
            call.body += document;
        });
        if (next) {
            call.from = *next;
            return std::nullopt;
        }
        call.body += ']';
        return orders_listed(std::move(call.body));
    }
};

/// What a client is told; the details are for the log.
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

void refuse(std::vector<Job>& jobs, ErrorKind kind) noexcept {
    for (Job& job : jobs) {
        job.answer.reset();
        job.unfinished = false;
        try {
            job.answer = refused(kind, message_for(kind.status));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
}

Session::Session(std::string path, PetDatabase::Access access)
    : path_(std::move(path)), access_(access) {
    const std::lock_guard lock(sessions().mutex);
    sessions().all.push_back(this);
}

Session::~Session() {
    const std::lock_guard lock(sessions().mutex);
    std::erase(sessions().all, this);
}

std::string Session::serve(std::vector<Job>& jobs) noexcept {
    std::unique_lock lock(in_use_);
    try {
        make_available(lock);
        attempt(jobs);
        return bound_log();
    } catch (const StorageError& error) {
        close_if(error.reopen());
        refuse(jobs, error.kind());
        return error.what();
    } catch (const std::exception& error) {
        refuse(jobs, kInternalError);
        return error.what();
    }
}

void Session::close_if(bool condition) noexcept {
    if (condition) {
        database_.reset();
        others_may_be_stale_ = true;
    }
}

/// Opens the database unless it is open and still the one at the path.
void Session::make_available(std::unique_lock<std::mutex>& lock) {
    close_if(database_ && database_->replaced());
    if (database_) {
        return;
    }
    if (others_may_be_stale_) {
        lock.unlock();  // another session may be waiting for this one
        close_stale_sessions();
        lock.lock();
        others_may_be_stale_ = false;
    }
    database_.emplace(path_, access_);
}

void Session::close_stale_sessions() {
    const std::lock_guard all(sessions().mutex);
    for (Session* const session : sessions().all) {
        const std::lock_guard lock(session->in_use_);
        session->close_if(session->database_ && session->database_->replaced());
    }
}

void Session::attempt(std::vector<Job>& jobs) {
    if (jobs.empty()) {
        return;
    }
    std::size_t read = 0;
    std::optional<PetDatabase::Transaction> transaction;
    for (Job& job : jobs) {
        if (access_ == PetDatabase::Access::read && read > kReadSize) {
            transaction.reset();
            read = 0;
        }
        if (!transaction) {
            transaction.emplace(*database_, access_);
        }
        job.answer = std::visit(Serve{*database_}, job.call);
        job.unfinished = !job.answer;
        read += job.answer ? job.answer->body.size() : kReadSize;
    }
    transaction->commit();
    if (database_->replaced()) {
        throw StorageError(kDatabaseUnavailable, true,
                           '"' + path_ + "\": the database file was replaced while it was in use");
    }
}

/// What is committed has its answers, whatever goes wrong here.
std::string Session::bound_log() noexcept {
    try {
        if (access_ == PetDatabase::Access::write) {
            database_->bound_log();
        }
        return {};
    } catch (const StorageError& error) {
        close_if(error.reopen());
        return error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace petstore
