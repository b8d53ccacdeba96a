#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "module/cli/bulk/import_record.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/acknowledgement.hpp"
#include "module/management/audit.hpp"
#include "module/management/bulk_import.hpp"
#include "module/management/key_json.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kStandardInput = "-";
/// In bytes. Two keys with the longest values have less.
constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

/// Throws Failure for the error in errno.
[[noreturn]] void refuse_file(const std::string& name) {
    throw Failure(ExitStatus::kUsage,
                  "cannot read \"" + name + "\": " + std::generic_category().message(errno));
}

/// A name that is mistyped must not be found after the records of other files are stored. A pipe
/// can be opened once only.
void require_readable(const std::vector<std::string>& files) {
    for (const auto& file : files) {
        if (file != kStandardInput && ::access(file.c_str(), R_OK) != 0) {
            refuse_file(file);
        }
    }
}

/// Reads the lines of a file without the memory that a line of any length would take.
class Lines {
  public:
    /// `input` must outlive the object.
    explicit Lines(std::istream& input) : input_(input) {}

    /// Reads the next line; its number is 1 for the first one. Returns false at the end.
    bool next() {
        input_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        const auto read = static_cast<std::size_t>(input_.gcount());
        is_cut_ = input_.fail() && !input_.bad() && !input_.eof() && read > 0;
        if (is_cut_) {
            input_.clear();
            input_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
        } else if (input_.fail()) {
            return false;
        }
        const bool has_end = !is_cut_ && !input_.eof();
        line_ = std::string_view(buffer_).substr(0, read - (has_end ? 1 : 0));
        ++number_;
        return true;
    }

    /// Valid until the next call of next().
    std::string_view line() const { return line_; }
    std::size_t number() const { return number_; }
    /// Whether the line is longer than kLongestLine.
    bool is_cut() const { return is_cut_; }

  private:
    std::istream& input_;
    std::string buffer_ = std::string(kLongestLine + 1, '\0');
    std::string_view line_;
    std::size_t number_ = 0;
    bool is_cut_ = false;
};

/// Reads a file of records and imports them in batches.
class FileImport {
  public:
    using Revoked = management::KeyTransactions::Revoked;
    /// All but `name` must outlive the object.
    FileImport(management::Database& database, const redis::Keys& keys,
               const std::function<void(const KeyRecord&)>& check, std::string name,
               Revoked revoked)
        : database_(database),
          keys_(keys),
          check_(check),
          name_(std::move(name)),
          refuse_([this](std::size_t line, const std::string& why) { print_refusal(line, why); }),
          revoked_(revoked),
          import_(database, keys, refuse_, revoked) {}

    management::Durability durability() const { return durability_; }

    management::ImportCounts run() {
        std::ifstream file;
        if (name_ != kStandardInput) {
            file.open(name_, std::ios::binary);
            if (!file) {
                refuse_file(name_);
            }
        }
        std::istream& input = name_ == kStandardInput ? std::cin : file;
        const auto now = complete(management::KeyReader(database_, keys_).now());
        for (Lines lines(input); lines.next();) {
            if (!lines.is_cut() &&
                lines.line().find_first_not_of(" \t\r") == std::string_view::npos) {
                continue;
            }
            try {
                if (lines.is_cut()) {
                    management::refuse("the line is longer than 1 MiB");
                }
                auto keys = read_import_record(lines.line(), now);
                check_(keys.keys.front().record);
                batch_.push_back({.line = lines.number(), .keys = std::move(keys)});
            } catch (const management::OperationError& error) {
                import_.refuse(lines.number(), error.what());
            }
            if (batch_.size() == management::BulkImport::kBatch) {
                store_durably();
            }
        }
        if (input.bad()) {
            throw Failure(ExitStatus::kUsage, "cannot read \"" + name_ + "\" to its end");
        }
        is_last_ = true;
        store_durably();
        return counts();
    }

  private:
    using Records = std::vector<management::BulkImport::Record>;

    /// If no replica confirms, the next pieces are not waited for. The last one tells what became
    /// of all.
    void store_durably() {
        if (durability_ != management::Durability::kConfirmed && !is_last_) {
            complete(store(false));
            return;
        }
        durability_ = complete(management::execute_durably(
            database_, [this](bool again) -> management::Task<void> { return store(again); }));
        if (durability_ == management::Durability::kConfirmed) {
            unconfirmed_.clear();
            is_begin_confirmed_ = is_audited_;
        }
    }

    /// Stores the batch, or all records again that a failover may have undone. The audit has an
    /// entry before the first record is stored: the import may be interrupted.
    management::Task<void> store(bool again) {
        const bool has_begun = again && is_audited_ && !is_begin_confirmed_;
        bool begins = has_begun;
        if (!is_audited_) {
            begins = co_await import_.has_anything_new(batch_);
        }
        if (begins) {
            std::string detail = "begins";
            co_await add_to_audit(std::move(detail));
            is_audited_ = true;
        }
        if (again) {
            co_await store_again();
        }
        std::ranges::copy(batch_, std::back_inserter(unconfirmed_));
        auto batch = std::exchange(batch_, {});
        co_await import_.store(std::move(batch));
        if (is_last_ && (is_audited_ || import_.counts().imported > 0)) {
            auto detail = std::to_string(counts().imported) + " of " +
                          std::to_string(counts().records()) + " records" + named_ids();
            co_await add_to_audit(std::move(detail));
        }
    }

    /// Records that were refused stay so.
    management::Task<void> store_again() {
        Records records;
        std::ranges::copy_if(unconfirmed_, std::back_inserter(records), [this](const auto& record) {
            return !refused_.contains(record.line);
        });
        management::BulkImport again(database_, keys_, refuse_, revoked_);
        for (std::size_t begin = 0; begin < records.size();
             begin += management::BulkImport::kBatch) {
            const auto end = std::min(begin + management::BulkImport::kBatch, records.size());
            Records piece(records.begin() + static_cast<std::ptrdiff_t>(begin),
                          records.begin() + static_cast<std::ptrdiff_t>(end));
            co_await again.store(std::move(piece));
        }
        refused_again_ += again.counts().refused;
    }

    /// A record counts as what it was when it was stored first, unless it is refused later.
    management::ImportCounts counts() const {
        auto counts = import_.counts();
        const auto moved = std::min(refused_again_, counts.imported);
        counts.imported -= moved;
        counts.refused += moved;
        return counts;
    }

    /// The first ids that were imported, as the end of a detail.
    std::string named_ids() const {
        const auto& ids = import_.first_imported();
        std::string text = ids.empty() ? "" : ":";
        for (const auto& id : ids) {
            text.append(" ").append(id);
        }
        return counts().imported > ids.size() ? text + " …" : text;
    }

    management::Task<void> add_to_audit(std::string detail) {
        auto entry = management::add_to_audit(
            keys_,
            {.actor = user_at_host(), .action = "import", .id = "", .detail = std::move(detail)});
        co_await management::run(database_, std::move(entry));
    }

    void print_refusal(std::size_t line, const std::string& why) {
        refused_.insert(line);
        std::cerr << printable(name_) << ":" << line << ": " << printable(why) << '\n';
    }

    management::Database& database_;
    const redis::Keys& keys_;
    const std::function<void(const KeyRecord&)>& check_;
    std::string name_;
    management::BulkImport::Refuse refuse_;
    Revoked revoked_;
    management::BulkImport import_;
    Records batch_;
    Records unconfirmed_;            ///< stored since a replica confirmed
    std::set<std::size_t> refused_;  ///< lines
    std::size_t refused_again_ = 0;
    management::Durability durability_ = management::Durability::kConfirmed;
    bool is_audited_ = false;
    bool is_begin_confirmed_ = false;  ///< the first entry of the audit
    bool is_last_ = false;
};

}  // namespace

/// Prints each refused line to standard error and the counts to standard output. A file that stores
/// records adds two entries to the audit: before the first record, and at its end. Records that a
/// failover may have undone are stored again.
void import_files(RedisSession& session, const CommandLine& line) {
    const auto tables = tables_to_check(session).value_or(std::vector<PlanTable>());
    std::set<std::string> groups;
    const std::function<void(const KeyRecord&)> check = [&](const KeyRecord& record) {
        if (!line.force) {
            management::require_usable_plan(tables, record);
        }
        management::refuse_sliding_month(tables, record);
        groups.insert(record.group);
    };
    warn_of_dangers(session);
    require_readable(line.files);
    management::ImportCounts all;
    for (const auto& file : line.files) {
        FileImport import(
            session, session.keys(), check, file,
            line.force ? FileImport::Revoked::kRevived : FileImport::Revoked::kRefused);
        const auto counts = import.run();
        warn_unless_kept("the import", import.durability());
        all.imported += counts.imported;
        all.unchanged += counts.unchanged;
        all.refused += counts.refused;
    }
    warn_about_groups(session, tables, {groups.begin(), groups.end()});
    if (line.json) {
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

void export_keys(RedisSession& session, const CommandLine& /*line*/) {
    constexpr std::size_t kIdsPerPage = 500;
    management::KeyReader reader(session, session.keys());
    const auto now = complete(reader.now());
    std::optional<management::ListCursor> last;
    do {
        auto page = complete(reader.page(last, kIdsPerPage));
        std::string lines;
        for (const auto& id : complete(reader.with_last_uses(std::move(page.ids)))) {
            lines += json_line([&](JsonWriter& json) { write_key(json, id, now); });
        }
        require_print(lines);
        last = page.next();
    } while (last);
}

}  // namespace tollgate::cli
