#include "backend/storage/database_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "backend/storage/pet_database.hpp"
#include "backend/storage/wal_file.hpp"

namespace petstore {
namespace {

namespace fs = std::filesystem;
using Access = PetDatabase::Access;

/// A database with pets in its log, as a crash leaves it: a copy of the files while they are open.
class DatabaseFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "petstore-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        directory_ = name;
        live_ = name + "/live.db";
        crashed_ = name + "/crashed.db";
    }
    void TearDown() override { fs::remove_all(directory_); }

    static void add(PetDatabase& database, int count) {
        for (int i = 0; i < count; ++i) {
            PetDatabase::Transaction transaction(database, Access::write);
            database.add({"Rex", 1, {}});
            transaction.commit();
        }
    }
    void crash() const {
        for (const char* suffix : {"", "-wal"}) {
            fs::copy_file(live_ + suffix, crashed_ + suffix, fs::copy_options::overwrite_existing);
        }
    }
    bool is_accepted() const {
        const Connection connection(crashed_);
        try {
            refuse_log_of_another_file(connection);
            return true;
        } catch (const StorageError&) {
            return false;
        }
    }

    fs::path directory_;
    std::string live_;
    std::string crashed_;
};

TEST_F(DatabaseFileTest, AcceptsTheLogAtAnyMomentOfItsLife) {
    PetDatabase database(live_, Access::write);
    PetDatabase other(live_, Access::write);
    Connection program(live_);
    for (int round = 0; round < 3; ++round) {
        for (const char* statement :
             {"PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(TRUNCATE)",
              "CREATE TABLE more (a)", "PRAGMA wal_checkpoint(RESTART)", "DROP TABLE more",
              "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO store_orders (document) VALUES (1)",
              "PRAGMA wal_checkpoint(RESTART)", "VACUUM"}) {
            for (PetDatabase* writer : {&database, &other, &database}) {
                add(*writer, 1);
                crash();
                EXPECT_TRUE(is_accepted()) << round << ", before " << statement;
            }
            program.execute(statement);
            crash();
            EXPECT_TRUE(is_accepted()) << round << ", after " << statement;
        }
    }
}

TEST_F(DatabaseFileTest, RefusesTheLogOfALaterTime) {
    const std::string copy = live_ + ".copy";
    {
        PetDatabase database(live_, Access::write);
        add(database, 3);
    }
    fs::copy_file(live_, copy);
    PetDatabase database(live_, Access::write);
    for (int i = 0; i < 3; ++i) {
        add(database, 5);
        crash();
        fs::copy_file(copy, crashed_, fs::copy_options::overwrite_existing);
        EXPECT_FALSE(is_accepted()) << i;
        Connection(live_).execute("PRAGMA wal_checkpoint(RESTART)");
    }
}

TEST_F(DatabaseFileTest, RefusesTheLogOfAnotherDatabase) {
    PetDatabase database(live_, Access::write);
    const std::string other = live_ + ".other";
    { const PetDatabase created(other, Access::write); }
    add(database, 1);
    crash();
    fs::copy_file(other, crashed_, fs::copy_options::overwrite_existing);
    EXPECT_FALSE(is_accepted());
    fs::resize_file(crashed_, 0);
    EXPECT_FALSE(is_accepted());
}

TEST_F(DatabaseFileTest, TellsALogWithoutItsFile) {
    PetDatabase database(live_, Access::write);
    add(database, 1);
    crash();
    EXPECT_NO_THROW(refuse_log_without_file(crashed_));
    fs::remove(crashed_);
    EXPECT_THROW(refuse_log_without_file(crashed_), StorageError);
    fs::remove(crashed_ + "-wal");
    EXPECT_NO_THROW(refuse_log_without_file(crashed_));
}

TEST_F(DatabaseFileTest, ReadsALogAsFarAsSQLiteWould) {
    PetDatabase database(live_, Access::write);
    add(database, 2);
    crash();
    const std::string log = crashed_ + "-wal";
    EXPECT_TRUE(read_wal(log, {}).commits);
    ASSERT_TRUE(read_wal(log, {}).first_header);
    std::fstream(log, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('x');
    EXPECT_FALSE(read_wal(log, {}).commits) << "a checksum in the first transaction is wrong";
    crash();
    fs::resize_file(log, 32 + 24 + 4096);
    EXPECT_FALSE(read_wal(log, {}).commits) << "its first transaction is incomplete";
    std::ofstream(log, std::ios::trunc) << std::string(5000, 'x');
    EXPECT_FALSE(read_wal(log, {}).commits) << "it is no log";
}

TEST_F(DatabaseFileTest, SeesThatAFileIsReplaced) {
    PetDatabase database(live_, Access::write);
    add(database, 1);
    EXPECT_FALSE(database.replaced());
    Connection(live_).execute("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_FALSE(database.replaced()) << "a checkpoint replaces nothing";
    fs::rename(live_ + "-wal", live_ + "-wal.old");
    EXPECT_TRUE(database.replaced());
    fs::rename(live_ + "-wal.old", live_ + "-wal");
    EXPECT_FALSE(database.replaced());
    fs::rename(live_, crashed_);
    EXPECT_TRUE(database.replaced());
}

}  // namespace
}  // namespace petstore
