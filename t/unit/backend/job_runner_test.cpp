#include "backend/storage/job_runner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

namespace petstore {
namespace {

namespace fs = std::filesystem;
using Access = PetDatabase::Access;

class JobRunnerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "petstore-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        directory_ = name;
        path_ = name + "/pets.db";
    }
    void TearDown() override { fs::remove_all(directory_); }

    static Job add(std::string name, std::optional<PetStatus> status = {}) {
        return {CreatePet{{std::move(name), 1, status}}, {}};
    }
    static Job list(PetQuery query) { return {ListPets{query}, {}}; }

    /// The error, or the status and body of the first response.
    static std::string run(JobRunner& runner, Job job) {
        std::vector<Job> jobs{std::move(job)};
        const std::string error = runner.run(jobs);
        return error.empty()
                   ? std::to_string(jobs[0].response->status) + " " + jobs[0].response->body
                   : error;
    }

    /// Writes the database file to the disk, and removes it from the kernel's cache. Returns false
    /// if that does not work, or if this file system can't tell what is in that cache.
    bool drop_cached_file() {
        const int file = open(path_.c_str(), O_RDWR);
        const auto size = static_cast<std::size_t>(fs::file_size(path_));
        char byte = 0;
        const iovec part{&byte, 1};
        const bool is_known = preadv2(file, &part, 1, 0, RWF_NOWAIT) == 1;
        EXPECT_EQ(fdatasync(file), 0);
        EXPECT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
        // Another read would begin to fill the cache, even with RWF_NOWAIT.
        void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
        std::vector<unsigned char> cached(size / 4096);
        EXPECT_EQ(mincore(memory, size, cached.data()), 0);
        munmap(memory, size);
        close(file);
        const auto is_cached = [](unsigned char page) { return (page & 1U) != 0; };
        return is_known && std::none_of(cached.begin(), cached.end(), is_cached);
    }

    fs::path directory_;
    std::string path_;
};

TEST_F(JobRunnerTest, CreatesAndGets) {
    JobRunner runner(path_, Access::kWrite);
    EXPECT_EQ(run(runner, add("Rex", PetStatus::kSold)),
              R"(201 {"id":1,"name":"Rex","categoryId":1,"status":"sold"})");
    EXPECT_EQ(run(runner, {GetPet{1}, {}}),
              R"(200 {"id":1,"name":"Rex","categoryId":1,"status":"sold"})");
    EXPECT_EQ(run(runner, {GetPet{2}, {}}).substr(0, 3), "404");
    EXPECT_EQ(run(runner, {ListOrders{}, {}}), "200 []");
}

TEST_F(JobRunnerTest, ListsInPages) {
    JobRunner runner(path_, Access::kWrite);
    for (int i = 0; i < 5; ++i) {
        run(runner, add("a", i % 2 == 0 ? PetStatus::kSold : PetStatus::kPending));
    }
    std::vector<Job> jobs{list({2, {}, 0}), list({2, PetStatus::kSold, 1}),
                          list({2, PetStatus::kSold, 0}), list({5, {}, 0})};
    ASSERT_EQ(runner.run(jobs), "");
    EXPECT_EQ(jobs[0].response->fields.at(0).value, R"(<?limit=2&after=2>; rel="next")");
    EXPECT_EQ(jobs[1].response->body, R"([{"id":3,"name":"a","categoryId":1,"status":"sold"},)"
                                      R"({"id":5,"name":"a","categoryId":1,"status":"sold"}])");
    EXPECT_TRUE(jobs[1].response->fields.empty());
    EXPECT_EQ(jobs[2].response->fields.at(0).value,
              R"(<?limit=2&status=sold&after=3>; rel="next")");
    EXPECT_TRUE(jobs[3].response->fields.empty());
}

TEST_F(JobRunnerTest, NeverUsesAnIdTwice) {
    JobRunner runner(path_, Access::kWrite);
    run(runner, add("a"));
    run(runner, add("b"));
    Connection(path_).execute("DELETE FROM pets");
    EXPECT_EQ(run(runner, add("c")), R"(201 {"id":3,"name":"c","categoryId":1})");
}

TEST_F(JobRunnerTest, FailsAllJobsOfATransaction) {
    JobRunner runner(path_, Access::kWrite);
    ASSERT_EQ(run(runner, add("a")).substr(0, 3), "201");
    Connection(path_).execute(
        "CREATE TRIGGER t BEFORE INSERT ON pets WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, "
        "'no'); END");
    std::vector<Job> jobs{add("good"), add("bad")};
    EXPECT_NE(runner.run(jobs).find("no"), std::string::npos);
    EXPECT_EQ(jobs[0].response->status, 500);
    EXPECT_EQ(jobs[1].response->status, 500);
    EXPECT_EQ(run(runner, {GetPet{2}, {}}).substr(0, 3), "404");
    EXPECT_EQ(run(runner, add("next")).substr(0, 3), "201");
}

TEST_F(JobRunnerTest, ReportsThatNoIdIsLeft) {
    JobRunner runner(path_, Access::kWrite);
    run(runner, add("a"));
    Connection(path_).execute("UPDATE sqlite_sequence SET seq = 9223372036854775807");
    std::vector<Job> jobs{add("b")};
    EXPECT_NE(runner.run(jobs), "");
    EXPECT_EQ(jobs[0].response->status, 507);
}

TEST_F(JobRunnerTest, KeepsANewerSchema) {
    Connection(path_).execute("PRAGMA application_id = 1348826227; PRAGMA user_version = 2");
    JobRunner runner(path_, Access::kWrite);
    EXPECT_EQ(run(runner, add("a")),
              "\"" + path_ +
                  "\": the database has schema version 2, but this module supports versions up to "
                  "1; upgrade the module or restore an older backup");
    EXPECT_FALSE(fs::exists(path_ + "-wal"));
    fs::remove(path_);
    EXPECT_EQ(run(runner, add("a")).substr(0, 3), "201");
}

TEST_F(JobRunnerTest, RecoversFromAFileThatIsNotADatabase) {
    std::ofstream(path_) << std::string(4096, 'x');
    JobRunner runner(path_, Access::kWrite);
    std::vector<Job> jobs{add("a")};
    EXPECT_NE(runner.run(jobs).find("not a database"), std::string::npos);
    EXPECT_EQ(jobs[0].response->status, 503);
    fs::remove(path_);
    EXPECT_EQ(run(runner, add("a")).substr(0, 3), "201");
}

TEST_F(JobRunnerTest, OpensANewFile) {
    JobRunner runner(path_, Access::kWrite);
    run(runner, add("a"));
    for (const char* suffix : {"", "-wal", "-shm"}) {
        fs::remove(path_ + suffix);
    }
    EXPECT_EQ(run(runner, add("b")), R"(201 {"id":1,"name":"b","categoryId":1})");
    EXPECT_TRUE(fs::exists(path_));
}

TEST_F(JobRunnerTest, WaitsForOtherWriters) {
    constexpr int kWriters = 4;
    constexpr int kPets = 50;
    std::array<std::thread, kWriters> writers;
    std::array<std::string, kWriters> errors;
    for (std::size_t i = 0; i < writers.size(); ++i) {
        writers[i] = std::thread([&, i] {
            JobRunner runner(path_, Access::kWrite);
            for (int n = 0; n < kPets; ++n) {
                const std::string result = run(runner, add("a"));
                errors[i] += result.starts_with("201") ? "" : result + "\n";
            }
        });
    }
    for (std::thread& writer : writers) {
        writer.join();
    }
    for (const std::string& error : errors) {
        EXPECT_EQ(error, "");
    }
}

TEST_F(JobRunnerTest, SetsWalModeAfterTheTransactionOfAnotherWriter) {
    Connection writer(path_);
    writer.execute("CREATE TABLE a (b); BEGIN IMMEDIATE");
    auto wal_mode = std::async(std::launch::async, [&] { Connection(path_).set_wal_mode(); });
    EXPECT_EQ(wal_mode.wait_for(std::chrono::milliseconds{100}), std::future_status::timeout);
    writer.execute("COMMIT");
    EXPECT_NO_THROW(wal_mode.get());
}

TEST_F(JobRunnerTest, ReadsWithoutWaitingWhatIsCached) {
    JobRunner writer(path_, Access::kWrite);
    run(writer, add("Rex"));
    JobRunner reader(path_, Access::kRead);
    std::vector<Job> jobs{{GetPet{1}, {}}, {GetPet{2}, {}}, list({}), {ListOrders{}, {}}};
    EXPECT_EQ(reader.run_without_waiting(jobs), 0U) << "the database is not open";
    ASSERT_EQ(reader.run(jobs), "");
    std::vector<Job> again{{GetPet{1}, {}}, {GetPet{2}, {}}, list({}), {ListOrders{}, {}}};
    ASSERT_EQ(reader.run_without_waiting(again), 3U) << "all but the orders";
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(again[i].response->status, jobs[i].response->status);
        EXPECT_EQ(again[i].response->body, jobs[i].response->body);
    }
    EXPECT_FALSE(again[3].response);
    std::vector<Job> write{add("b")};
    EXPECT_EQ(writer.run_without_waiting(write), 0U);
    EXPECT_EQ(run(writer, {GetPet{2}, {}}).substr(0, 3), "404");
}

TEST_F(JobRunnerTest, ReadsTheLastWriteWithoutWaiting) {
    JobRunner writer(path_, Access::kWrite);
    run(writer, add("a"));
    JobRunner reader(path_, Access::kRead);
    run(reader, {GetPet{1}, {}});
    constexpr std::int64_t kPets = 20;
    for (std::int64_t id = 2; id <= kPets; ++id) {
        run(writer, add("a"));
        std::vector<Job> jobs{{GetPet{id}, {}}};
        if (reader.run_without_waiting(jobs) == 0) {
            ASSERT_EQ(reader.run(jobs), "");
        }
        EXPECT_EQ(jobs[0].response->status, 200);
    }
}

TEST_F(JobRunnerTest, LeavesReadsOfTheDiskToAThread) {
    std::optional<JobRunner> writer(std::in_place, path_, Access::kWrite);
    run(*writer, add("a"));
    writer.reset();  // moves the WAL into the file
    JobRunner reader(path_, Access::kRead);
    std::vector<Job> no_jobs;
    ASSERT_EQ(reader.run(no_jobs), "");
    if (!drop_cached_file()) {
        GTEST_SKIP() << "the file can't be removed from the cache";
    }
    std::vector<Job> jobs{{GetPet{1}, {}}};
    EXPECT_EQ(reader.run_without_waiting(jobs), 0U);
    EXPECT_EQ(run(reader, {GetPet{1}, {}}).substr(0, 3), "200");
    EXPECT_EQ(reader.run_without_waiting(jobs), 1U);
}

TEST_F(JobRunnerTest, LeavesAReplacedFileToAThread) {
    const std::string other = path_ + ".other";
    {
        JobRunner writer(other, Access::kWrite);
        run(writer, add("other"));
    }
    JobRunner reader(path_, Access::kRead);
    EXPECT_EQ(run(reader, {GetPet{1}, {}}).substr(0, 3), "404");
    fs::rename(other, path_);
    fs::remove(path_ + "-wal");
    fs::remove(path_ + "-shm");
    std::vector<Job> jobs{{GetPet{1}, {}}};
    EXPECT_EQ(reader.run_without_waiting(jobs), 0U);
    EXPECT_EQ(run(reader, {GetPet{1}, {}}).substr(0, 3), "200");
}

TEST_F(JobRunnerTest, LeavesLongReadsToAThread) {
    JobRunner writer(path_, Access::kWrite);
    run(writer, add(std::string(100'000, 'a')));
    for (int i = 0; i < 10; ++i) {
        run(writer, add(std::string(10'000, 'a')));
    }
    JobRunner reader(path_, Access::kRead);
    std::vector<Job> jobs{{GetPet{1}, {}}};
    ASSERT_EQ(reader.run(jobs), "");
    EXPECT_EQ(reader.run_without_waiting(jobs), 0U) << "one long name";
    jobs = {list({100, {}, 1})};
    EXPECT_EQ(reader.run_without_waiting(jobs), 0U) << "a long page";
    jobs.assign(10, {GetPet{2}, {}});
    ASSERT_EQ(reader.run(jobs), "");
    EXPECT_EQ(reader.run_without_waiting(jobs), 7U) << "stops after 64 KiB";
}

}  // namespace
}  // namespace petstore
