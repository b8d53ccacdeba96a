#include "backend/storage/database_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "backend/storage/file_format.hpp"
#include "backend/storage/pet_database.hpp"

namespace petstore {
namespace {

namespace fs = std::filesystem;
using Access = PetDatabase::Access;

/// A database with pets in its WAL, as after a crash: a copy of the files while they are open.
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
            PetDatabase::Transaction transaction(database, Access::kWrite);
            database.insert({"Rex", 1, {}});
            transaction.commit();
        }
    }
    void crash() const {
        for (const char* suffix : {"", "-wal"}) {
            fs::copy_file(live_ + suffix, crashed_ + suffix, fs::copy_options::overwrite_existing);
        }
    }
    bool is_wal_accepted() const {
        const Connection connection(crashed_);
        try {
            check_wal_belongs(connection);
            return true;
        } catch (const StorageError&) {
            return false;
        }
    }

    fs::path directory_;
    std::string live_;
    std::string crashed_;
};

TEST_F(DatabaseFileTest, AcceptsTheWalAfterAnyStatement) {
    PetDatabase database(live_, Access::kWrite);
    PetDatabase other(live_, Access::kWrite);
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
                EXPECT_TRUE(is_wal_accepted()) << round << ", before " << statement;
            }
            program.execute(statement);
            crash();
            EXPECT_TRUE(is_wal_accepted()) << round << ", after " << statement;
        }
    }
}

TEST_F(DatabaseFileTest, RejectsTheWalOfALaterState) {
    const std::string copy = live_ + ".copy";
    {
        PetDatabase database(live_, Access::kWrite);
        add(database, 3);
    }
    fs::copy_file(live_, copy);
    PetDatabase database(live_, Access::kWrite);
    for (int i = 0; i < 3; ++i) {
        add(database, 5);
        crash();
        fs::copy_file(copy, crashed_, fs::copy_options::overwrite_existing);
        EXPECT_FALSE(is_wal_accepted()) << i;
        Connection(live_).execute("PRAGMA wal_checkpoint(RESTART)");
    }
}

TEST_F(DatabaseFileTest, RejectsTheWalOfAnotherDatabase) {
    PetDatabase database(live_, Access::kWrite);
    const std::string other = live_ + ".other";
    { const PetDatabase created(other, Access::kWrite); }
    add(database, 1);
    crash();
    fs::copy_file(other, crashed_, fs::copy_options::overwrite_existing);
    EXPECT_FALSE(is_wal_accepted());
    fs::resize_file(crashed_, 0);
    EXPECT_FALSE(is_wal_accepted());
}

TEST_F(DatabaseFileTest, DetectsAWalWithoutItsDatabase) {
    PetDatabase database(live_, Access::kWrite);
    add(database, 1);
    crash();
    EXPECT_NO_THROW(check_wal_has_database(crashed_));
    fs::remove(crashed_);
    EXPECT_THROW(check_wal_has_database(crashed_), StorageError);
    fs::remove(crashed_ + "-wal");
    EXPECT_NO_THROW(check_wal_has_database(crashed_));
}

TEST_F(DatabaseFileTest, ReadsAWalAsFarAsSQLite) {
    PetDatabase database(live_, Access::kWrite);
    add(database, 2);
    crash();
    const std::string wal = crashed_ + "-wal";
    EXPECT_TRUE(read_wal(wal, {}).has_commits);
    ASSERT_TRUE(read_wal(wal, {}).first_header);
    std::fstream(wal, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('x');
    EXPECT_FALSE(read_wal(wal, {}).has_commits) << "a checksum in the first transaction is wrong";
    crash();
    fs::resize_file(wal, 32 + 24 + 4096);
    EXPECT_FALSE(read_wal(wal, {}).has_commits) << "its first transaction is incomplete";
    std::ofstream(wal, std::ios::trunc) << std::string(5000, 'x');
    EXPECT_FALSE(read_wal(wal, {}).has_commits) << "it is not a WAL";
}

TEST_F(DatabaseFileTest, DetectsAReplacedFile) {
    PetDatabase database(live_, Access::kWrite);
    add(database, 1);
    EXPECT_FALSE(database.is_replaced());
    Connection(live_).execute("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_FALSE(database.is_replaced()) << "a checkpoint replaces nothing";
    fs::rename(live_ + "-wal", live_ + "-wal.old");
    EXPECT_TRUE(database.is_replaced());
    fs::rename(live_ + "-wal.old", live_ + "-wal");
    EXPECT_FALSE(database.is_replaced());
    fs::rename(live_, crashed_);
    EXPECT_TRUE(database.is_replaced());
}

}  // namespace
}  // namespace petstore
