#include "backend/storage/session.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace petstore {
namespace {

namespace fs = std::filesystem;
using Access = PetDatabase::Access;

class SessionTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "petstore-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        directory_ = name;
        path_ = name + "/pets.db";
    }
    void TearDown() override { fs::remove_all(directory_); }

    static Job add(std::string name, std::optional<PetStatus> status = {}) {
        return {AddPet{{std::move(name), 1, status}}, {}};
    }
    static Job list(PetQuery query) { return {ListPets{query}, {}}; }

    /// The problem, or the status and body of the first answer.
    static std::string serve(Session& session, Job job) {
        std::vector<Job> jobs{std::move(job)};
        const std::string problem = session.serve(jobs);
        return problem.empty() ? std::to_string(jobs[0].answer->status) + " " + jobs[0].answer->body
                               : problem;
    }

    fs::path directory_;
    std::string path_;
};

TEST_F(SessionTest, AddsAndFinds) {
    Session session(path_, Access::write);
    EXPECT_EQ(serve(session, add("Rex", PetStatus::sold)),
              R"(201 {"id":1,"name":"Rex","categoryId":1,"status":"sold"})");
    EXPECT_EQ(serve(session, {FindPet{1}, {}}),
              R"(200 {"id":1,"name":"Rex","categoryId":1,"status":"sold"})");
    EXPECT_EQ(serve(session, {FindPet{2}, {}}).substr(0, 3), "404");
    EXPECT_EQ(serve(session, {ListOrders{}, {}}), "200 []");
}

TEST_F(SessionTest, ListsByPages) {
    Session session(path_, Access::write);
    for (int i = 0; i < 5; ++i) {
        serve(session, add("a", i % 2 == 0 ? PetStatus::sold : PetStatus::pending));
    }
    std::vector<Job> jobs{list({2, {}, 0}), list({2, PetStatus::sold, 1}),
                          list({2, PetStatus::sold, 0}), list({5, {}, 0})};
    ASSERT_EQ(session.serve(jobs), "");
    EXPECT_EQ(jobs[0].answer->headers.at(0).value, R"(<?limit=2&after=2>; rel="next")");
    EXPECT_EQ(jobs[1].answer->body, R"([{"id":3,"name":"a","categoryId":1,"status":"sold"},)"
                                    R"({"id":5,"name":"a","categoryId":1,"status":"sold"}])");
    EXPECT_TRUE(jobs[1].answer->headers.empty());
    EXPECT_EQ(jobs[2].answer->headers.at(0).value, R"(<?limit=2&status=sold&after=3>; rel="next")");
    EXPECT_TRUE(jobs[3].answer->headers.empty());
}

TEST_F(SessionTest, NeverUsesAnIdTwice) {
    Session session(path_, Access::write);
    serve(session, add("a"));
    serve(session, add("b"));
    Connection(path_).execute("DELETE FROM pets");
    EXPECT_EQ(serve(session, add("c")), R"(201 {"id":3,"name":"c","categoryId":1})");
}

TEST_F(SessionTest, RefusesAllOfABatchThatFails) {
    Session session(path_, Access::write);
    ASSERT_EQ(serve(session, add("a")).substr(0, 3), "201");
    Connection(path_).execute(
        "CREATE TRIGGER t BEFORE INSERT ON pets WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, "
        "'no'); END");
    std::vector<Job> jobs{add("good"), add("bad")};
    EXPECT_NE(session.serve(jobs).find("no"), std::string::npos);
    EXPECT_EQ(jobs[0].answer->status, 500);
    EXPECT_EQ(jobs[1].answer->status, 500);
    EXPECT_EQ(serve(session, {FindPet{2}, {}}).substr(0, 3), "404");
    EXPECT_EQ(serve(session, add("next")).substr(0, 3), "201");
}

TEST_F(SessionTest, TellsThatNoIdIsLeft) {
    Session session(path_, Access::write);
    serve(session, add("a"));
    Connection(path_).execute("UPDATE sqlite_sequence SET seq = 9223372036854775807");
    std::vector<Job> jobs{add("b")};
    EXPECT_NE(session.serve(jobs), "");
    EXPECT_EQ(jobs[0].answer->status, 507);
}

TEST_F(SessionTest, LeavesANewerSchemaAlone) {
    Connection(path_).execute("PRAGMA application_id = 1348826227; PRAGMA user_version = 2");
    Session session(path_, Access::write);
    EXPECT_EQ(serve(session, add("a")),
              "\"" + path_ + "\": its schema has version 2, this module knows no later one than 1");
    EXPECT_FALSE(fs::exists(path_ + "-wal"));
    fs::remove(path_);
    EXPECT_EQ(serve(session, add("a")).substr(0, 3), "201");
}

TEST_F(SessionTest, RecoversFromAFileThatIsNoDatabase) {
    std::ofstream(path_) << std::string(4096, 'x');
    Session session(path_, Access::write);
    std::vector<Job> jobs{add("a")};
    EXPECT_NE(session.serve(jobs).find("not a database"), std::string::npos);
    EXPECT_EQ(jobs[0].answer->status, 503);
    fs::remove(path_);
    EXPECT_EQ(serve(session, add("a")).substr(0, 3), "201");
}

TEST_F(SessionTest, FollowsAFileThatIsReplaced) {
    Session session(path_, Access::write);
    serve(session, add("a"));
    for (const char* suffix : {"", "-wal", "-shm"}) {
        fs::remove(path_ + suffix);
    }
    EXPECT_EQ(serve(session, add("b")), R"(201 {"id":1,"name":"b","categoryId":1})");
    EXPECT_TRUE(fs::exists(path_));
}

TEST_F(SessionTest, WaitsForOtherWriters) {
    constexpr int kWriters = 4;
    constexpr int kPets = 50;
    std::array<std::thread, kWriters> writers;
    std::array<int, kWriters> added{};
    for (std::size_t i = 0; i < writers.size(); ++i) {
        writers[i] = std::thread([&, i] {
            Session session(path_, Access::write);
            for (int n = 0; n < kPets; ++n) {
                added[i] += serve(session, add("a")).starts_with("201") ? 1 : 0;
            }
        });
    }
    for (std::thread& writer : writers) {
        writer.join();
    }
    for (const int count : added) {
        EXPECT_EQ(count, kPets);
    }
}

}  // namespace
}  // namespace petstore
