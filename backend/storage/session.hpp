#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/core/pet.hpp"
#include "backend/core/pet_answer.hpp"
#include "backend/core/pet_query.hpp"
#include "backend/storage/pet_database.hpp"

namespace petstore {

struct AddPet {
    NewPet pet;
};
struct FindPet {
    std::int64_t id = 0;
};
struct ListPets {
    PetQuery query;
};
struct ListOrders {};

using Call = std::variant<AddPet, FindPet, ListPets, ListOrders>;

/// A call of the service, and its answer once a session has served it.
struct Job {
    Call call;
    std::optional<Answer>
        answer;  ///< still absent afterwards: there was no memory left even to refuse it
};

/// Answers all jobs with an error of that kind.
void refuse(std::vector<Job>& jobs, ErrorKind kind) noexcept;

/// Serves jobs on one connection, which is opened by the first of them and again after a failure.
/// One thread at a time uses it.
class Session {
  public:
    Session(std::string path, PetDatabase::Access access)
        : path_(std::move(path)), access_(access) {}

    /// Serves all jobs as one transaction: either all succeed or all are refused. Without jobs it
    /// makes sure that the database can be had. Returns what went wrong, for the log; empty if
    /// nothing did.
    std::string serve(std::vector<Job>& jobs) noexcept;

  private:
    void attempt(std::vector<Job>& jobs);

    std::string path_;
    PetDatabase::Access access_;
    std::optional<PetDatabase> database_;
};

}  // namespace petstore
