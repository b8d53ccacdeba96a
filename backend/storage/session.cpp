#include "backend/storage/session.hpp"

#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace petstore {
namespace {

/// Serves a call on the database that it is given.
struct Serve {
    PetDatabase& database;

    Answer operator()(AddPet& call) const {
        Pet pet{std::move(call.pet), 0};
        pet.id = database.add(pet);
        return pet_added(pet);
    }
    Answer operator()(const FindPet& call) const { return pet_found(database.find(call.id)); }
    Answer operator()(const ListPets& call) const {
        PetPage page(call.query);
        database.list(call.query, [&page](const Pet& pet) { page.add(pet); });
        return std::move(page).answer();
    }
    Answer operator()(const ListOrders& /*call*/) const { return orders_listed(database.orders()); }
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
        try {
            job.answer = refused(kind, message_for(kind.status));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
}

std::string Session::serve(std::vector<Job>& jobs) noexcept {
    try {
        attempt(jobs);
        return {};
    } catch (const StorageError& error) {
        if (error.reopen()) {
            database_.reset();
        }
        refuse(jobs, error.kind());
        return error.what();
    } catch (const std::exception& error) {
        refuse(jobs, kInternalError);
        return error.what();
    }
}

void Session::attempt(std::vector<Job>& jobs) {
    if (database_ && database_->moved()) {
        database_.reset();
    }
    if (!database_) {
        database_.emplace(path_);
    }
    if (jobs.empty()) {
        return;
    }
    PetDatabase::Transaction transaction(*database_, access_);
    for (Job& job : jobs) {
        job.answer = std::visit(Serve{*database_}, job.call);
    }
    transaction.commit();
}

}  // namespace petstore
