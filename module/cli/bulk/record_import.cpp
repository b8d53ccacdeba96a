#include "module/cli/bulk/record_import.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "module/cli/bulk/record_lines.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/management/acknowledgement.hpp"
#include "module/management/audit.hpp"

namespace tollgate::cli {

RecordImport::RecordImport(management::Database& database, const redis::Keys& keys,
                           std::string file, Revoked revoked)
    : database_(database),
      keys_(keys),
      file_(std::move(file)),
      refuse_([this](std::size_t line, const std::string& why) {
          refused_.insert(line);
          print_refusal(file_, line, why);
      }),
      revoked_(revoked),
      import_(database, keys, refuse_, revoked) {}

void RecordImport::add(Record record) {
    batch_.push_back(std::move(record));
    if (batch_.size() == management::BulkImport::kBatch) {
        store_durably();
    }
}

void RecordImport::finish() {
    is_last_ = true;
    store_durably();
}

/// If no replica confirms, the next pieces are not waited for. The last one tells what became
/// of all.
void RecordImport::store_durably() {
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
management::Task<void> RecordImport::store(bool again) {
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
management::Task<void> RecordImport::store_again() {
    Records records;
    std::ranges::copy_if(unconfirmed_, std::back_inserter(records),
                         [this](const auto& record) { return !refused_.contains(record.line); });
    management::BulkImport again(database_, keys_, refuse_, revoked_);
    for (std::size_t begin = 0; begin < records.size(); begin += management::BulkImport::kBatch) {
        const auto end = std::min(begin + management::BulkImport::kBatch, records.size());
        Records piece(records.begin() + static_cast<std::ptrdiff_t>(begin),
                      records.begin() + static_cast<std::ptrdiff_t>(end));
        co_await again.store(std::move(piece));
    }
    refused_again_ += again.counts().refused;
}

management::ImportCounts RecordImport::counts() const {
    auto counts = import_.counts();
    const auto moved = std::min(refused_again_, counts.imported);
    counts.imported -= moved;
    counts.refused += moved;
    return counts;
}

/// The first ids that were imported, as the end of a detail.
std::string RecordImport::named_ids() const {
    const auto& ids = import_.first_imported();
    std::string text = ids.empty() ? "" : ":";
    for (const auto& id : ids) {
        text.append(" ").append(id);
    }
    return counts().imported > ids.size() ? text + " …" : text;
}

management::Task<void> RecordImport::add_to_audit(std::string detail) {
    auto entry = management::add_to_audit(
        keys_,
        {.actor = user_at_host(), .action = "import", .id = "", .detail = std::move(detail)});
    co_await management::run(database_, std::move(entry));
}

}  // namespace tollgate::cli
