#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
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
/// Is served in parts, each in another transaction: an unbounded read would keep the log from being
/// moved into the database file.
struct ListOrders {
    std::int64_t from = std::numeric_limits<std::int64_t>::min();  ///< the least id that is left
    std::string body = "[";                                        ///< the array so far
};

using Call = std::variant<AddPet, FindPet, ListPets, ListOrders>;

/// A call of the service, and its answer once a session has served it.
struct Job {
    Call call;
    std::optional<Answer>
        answer;  ///< still absent afterwards: there was no memory left even to refuse it
    bool unfinished = false;  ///< to be served again, with other jobs, before it has an answer
};

/// Answers all jobs with an error of that kind.
void refuse(std::vector<Job>& jobs, ErrorKind kind) noexcept;

/// Serves jobs on one connection, which is opened by the first of them and again after a failure.
/// One thread at a time uses it.
class Session {
  public:
    Session(std::string path, PetDatabase::Access access);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Serves all jobs: either all succeed or all are refused. Jobs that write are one transaction,
    /// those that read may be several. All are also refused if the file was replaced before the
    /// end: what was written is then not in the file that is there. Without jobs it makes sure that
    /// the database can be had. Returns what went wrong, for the log; empty if nothing did.
    std::string serve(std::vector<Job>& jobs) noexcept;

  private:
    void attempt(std::vector<Job>& jobs);
    void make_available(std::unique_lock<std::mutex>& lock);
    void close_if(bool condition) noexcept;
    static void close_stale_sessions();
    std::string bound_log() noexcept;

    std::string path_;
    PetDatabase::Access access_;
    std::mutex in_use_;  ///< guards database_, which other sessions may close
    std::optional<PetDatabase> database_;
    bool others_may_be_stale_ = false;
};

}  // namespace petstore
