#include "module/core/usage_json.hpp"

#include <nlohmann/json.hpp>
#include <vector>

namespace tollgate {

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

/// The table of each window; none where the windows are not those of quotas: of an address.
std::vector<std::string_view> tables_of(const Usage& usage) {
    std::vector<std::string_view> tables;
    for (const TableQuota& quota : usage.quotas) {
        tables.insert(tables.end(), quota.rates.size(), quota.table);
    }
    tables.resize(tables.size() == usage.windows.size() ? tables.size() : 0);
    return tables;
}

}  // namespace

std::string usage_json(const Usage& usage) {
    const auto tables = tables_of(usage);
    Json windows = Json::array();
    for (const WindowState& window : usage.windows) {
        const auto index = windows.size();
        windows.push_back({
            {"table", text_or_null(tables.empty() ? "" : tables[index])},
            {"policy", std::string_view(window.policy)},
            {"limit", window.rate.requests},
            {"period", window.rate.period.count()},
            {"remaining", window.remaining},
            {"reset", unix_seconds(window.reset)},
            {"exhausted", window.exhausted || window.remaining == 0},
        });
    }
    const Json body{{"id", text_or_null(usage.id)},
                    {"plan", text_or_null(usage.plan)},
                    {"verdict", name_of(usage.verdict)},
                    {"windows", std::move(windows)}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tollgate
