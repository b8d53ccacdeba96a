#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/core/pet.hpp"
#include "backend/core/pet_response.hpp"
#include "backend/storage/pet_database.hpp"

namespace petstore {

// The operations of the service that need the database.
struct CreatePet {
    NewPet pet;
};
struct GetPet {
    std::int64_t id = 0;
};
struct ListPets {
    PetQuery query;
};
/// Runs in parts, each in a transaction of its own: one long read transaction would block
/// checkpoints.
struct ListOrders {
    std::int64_t from = std::numeric_limits<std::int64_t>::min();  ///< first id of the next part
    std::string body = "[";                                        ///< the array so far
};

using Operation = std::variant<CreatePet, GetPet, ListPets, ListOrders>;

/// An operation to run, and its response once a JobRunner has run it.
struct Job {
    Operation operation;
    /// Still absent after a failed run if there was no memory for an error response.
    std::optional<Response> response;
    bool is_unfinished = false;  ///< more parts follow: run the job again to get the response
};

/// Gives all jobs an error response of this kind.
void fail_jobs(std::vector<Job>& jobs, ErrorKind kind) noexcept;

/// Runs jobs on one connection to a database. The first run() opens it. After an error that needs a
/// new connection, the next one reopens it. One thread at a time may use an object.
class JobRunner {
  public:
    /// `path` is the database file. Jobs with CreatePet need Access::kWrite.
    JobRunner(std::string path, PetDatabase::Access access);
    ~JobRunner();
    JobRunner(const JobRunner&) = delete;
    JobRunner& operator=(const JobRunner&) = delete;

    const std::string& path() const { return path_; }

    /// Runs all jobs and gives each its response. If one fails, all get an error response. Jobs
    /// with Access::kWrite are one transaction; jobs with Access::kRead may be several. All fail
    /// also if the file is replaced during the run, because the new file lacks what was written.
    /// Without jobs, it only opens the database. Returns the error for nginx's error log; empty on
    /// success.
    std::string run(std::vector<Job>& jobs) noexcept;

    /// Runs jobs as far as that is possible without waiting for a disk, for a lock or for another
    /// thread, and in about a millisecond. Returns how many of the first jobs have their response
    /// then. If it is 0, only run() can run the first job. It is 0 for jobs with Access::kWrite, if
    /// the connection is not open, after each change of the database file by a checkpoint, and
    /// after an error, which run() meets too and reports.
    std::size_t run_without_waiting(std::vector<Job>& jobs) noexcept;

  private:
    void open(std::unique_lock<std::mutex>& lock);
    void run_transactions(std::vector<Job>& jobs);
    void run_short_jobs(std::vector<Job>& jobs, std::size_t& done);
    std::string limit_wal_size() noexcept;
    void close() noexcept;
    void close_if_replaced();
    static void close_all_replaced();

    std::string path_;
    PetDatabase::Access access_;
    std::mutex mutex_;  ///< protects database_: other runners close it if its file is replaced
    std::optional<PetDatabase> database_;
    bool check_other_runners_ = false;  ///< before the next open()
};

}  // namespace petstore
