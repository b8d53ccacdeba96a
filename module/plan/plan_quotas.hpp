#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "module/plan/table_quota.hpp"

namespace tollgate {

/// Caches the results of choose_quotas for these tables: every request needs one, and there are few
/// plans.
class PlanQuotas {
  public:
    /// The tables must outlive it.
    explicit PlanQuotas(std::span<const PlanTable* const> tables) : tables_(tables) {}

    /// See choose_quotas; nullptr if a plan is not in every table. Throws ParseError.
    std::shared_ptr<const Quotas> find(const KeyRecord& key, const KeyRecord* group = nullptr);

  private:
    /// The quotas of a plan, or of a key's and its group's. If a table has a custom plan or a
    /// month, they depend on the limits and the billing day, too.
    struct Choice {
        bool depends_on_records = false;
        std::shared_ptr<const Quotas> quotas;
        std::map<std::string, std::shared_ptr<const Quotas>, std::less<>> by_terms;
    };

    bool depend_on_records(const KeyRecord& key, const KeyRecord* group) const;
    std::shared_ptr<const Quotas> choose(const KeyRecord& key, const KeyRecord* group) const;

    std::span<const PlanTable* const> tables_;
    std::map<std::string, Choice, std::less<>> by_plan_;
};

}  // namespace tollgate
