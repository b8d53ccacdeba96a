#include "module/cli/bulk/key_files.hpp"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>
#include <utility>

#include "module/cli/bulk/bulk_import.hpp"
#include "module/cli/bulk/import_record.hpp"
#include "module/cli/keys/actor.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/audit.hpp"
#include "module/management/key_json.hpp"

namespace tollgate::cli {

namespace {

/// Reads a file of records and imports them in batches.
class FileImport {
  public:
    FileImport(management::Database& database, const redis::Keys& keys, std::string name)
        : database_(database),
          keys_(keys),
          name_(std::move(name)),
          refuse_([this](std::size_t line, const std::string& why) { print_refusal(line, why); }),
          import_(database, keys, refuse_) {}

    ImportCounts run() {
        std::ifstream file;
        if (name_ != "-") {
            file.open(name_, std::ios::binary);
            if (!file) {
                throw Failure(ExitStatus::kUsage, "cannot read \"" + name_ + "\": " +
                                                      std::generic_category().message(errno));
            }
        }
        std::istream& input = name_ == "-" ? std::cin : file;
        const auto now = complete(management::KeyReader(database_, keys_).now());
        std::string line;
        for (std::size_t number = 1; std::getline(input, line); ++number) {
            if (line.find_first_not_of(" \t\r") == std::string::npos) {
                continue;
            }
            try {
                batch_.push_back({.line = number, .keys = read_import_record(line, now)});
            } catch (const InvalidRecord& error) {
                import_.refuse(number, error.what());
            }
            if (batch_.size() == BulkImport::kBatch) {
                store();
            }
        }
        if (input.bad()) {
            throw Failure(ExitStatus::kUsage, "cannot read \"" + name_ + "\" to its end");
        }
        store();
        const auto& counts = import_.counts();
        if (is_audited_ || counts.imported > 0) {
            add_to_audit(std::to_string(counts.imported) + " of " +
                         std::to_string(counts.records()) + " records");
        }
        return counts;
    }

  private:
    /// The audit has an entry before the first record is stored: the import may be interrupted.
    void store() {
        if (!is_audited_ && complete(import_.has_new_id(batch_))) {
            add_to_audit("begins");
            is_audited_ = true;
        }
        complete(import_.store(std::exchange(batch_, {})));
    }

    void add_to_audit(std::string detail) {
        auto entry = management::add_to_audit(
            keys_,
            {.actor = user_at_host(), .action = "import", .id = "", .detail = std::move(detail)});
        complete(run_command(std::move(entry)));
    }
    management::Task<redis::Value> run_command(redis::Command command) {
        return management::run(database_, std::move(command));
    }

    void print_refusal(std::size_t line, const std::string& why) const {
        std::cerr << printable(name_) << ":" << line << ": " << printable(why) << '\n';
    }

    management::Database& database_;
    const redis::Keys& keys_;
    std::string name_;
    BulkImport::Refuse refuse_;
    BulkImport import_;
    std::vector<BulkImport::Record> batch_;
    bool is_audited_ = false;
};

}  // namespace

void import_files(management::Database& database, const redis::Keys& keys, Format format,
                  const std::vector<std::string>& files) {
    ImportCounts all;
    for (const auto& file : files) {
        const auto counts = FileImport(database, keys, file).run();
        all.imported += counts.imported;
        all.unchanged += counts.unchanged;
        all.refused += counts.refused;
    }
    if (format == Format::kJson) {
        require_print(json_document({{"records", all.records()},
                                     {"imported", all.imported},
                                     {"unchanged", all.unchanged},
                                     {"refused", all.refused}}));
    } else {
        require_print(std::to_string(all.records()) + " records: " + std::to_string(all.imported) +
                      " imported, " + std::to_string(all.unchanged) + " unchanged, " +
                      std::to_string(all.refused) + " refused\n");
    }
    if (all.refused > 0) {
        throw Failure(ExitStatus::kConflict,
                      std::to_string(all.refused) + " records are refused: see the lines above");
    }
}

void export_keys(management::Database& database, const redis::Keys& keys) {
    constexpr std::size_t kIdsPerPage = 500;
    management::KeyReader reader(database, keys);
    const auto now = complete(reader.now());
    std::optional<management::Place> last;
    do {
        auto page = complete(reader.page(last, kIdsPerPage));
        std::string lines;
        for (const auto& id : complete(reader.with_last_uses(std::move(page.ids)))) {
            JsonWriter json;
            json.object([&] { write_key(json, id, now); });
            lines += printable_json(std::move(json).take()) + "\n";
        }
        require_print(lines);
        last = page.last;
    } while (last);
}

}  // namespace tollgate::cli
