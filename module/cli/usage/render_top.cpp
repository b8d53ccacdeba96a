#include "module/cli/usage/render_top.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "module/cli/terminal/json_document.hpp"
#include "module/cli/terminal/table.hpp"
#include "module/cli/terminal/time_text.hpp"

namespace tollgate::cli {

namespace {

std::string time_of(Instant instant) {
    return format_time(std::chrono::floor<std::chrono::seconds>(instant));
}

std::string rate_text(double rate, bool exact) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.1f%s", rate, exact ? "" : "+");
    return {text.data(), static_cast<std::size_t>(length)};
}

double rounded(double rate) {
    constexpr double kThousandths = 1000;
    return std::round(rate * kThousandths) / kThousandths;
}

std::string text_or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string json_line(const TopView& view) {
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? Json(nullptr) : Json(text);
    };
    Json rows = Json::array();
    for (const auto& [quota, record] : view.rows) {
        rows.push_back(
            {{"id", quota.id},
             {"name", text_or_null(record.name)},
             {"plan", text_or_null(record.plan)},
             {"table", text_or_null(quota.table)},
             {"granted_per_second", rounded(quota.granted)},
             {"exact", quota.exact},
             {"refused_per_second", quota.refused ? Json(rounded(*quota.refused)) : Json(nullptr)},
             {"banned_until",
              quota.banned_until ? Json(time_of(*quota.banned_until)) : Json(nullptr)}});
    }
    return document({{"time", time_of(view.now)},
                     {"ids", view.ids},
                     {"sampled", !view.whole},
                     {"active", view.active},
                     {"rows", std::move(rows)}},
                    -1);
}

std::string heading(const TopView& view) {
    std::string text = time_of(view.now) + "  ";
    if (view.whole) {
        text += std::to_string(view.ids) + " ids";
    } else {
        constexpr double kPercent = 100;
        text += "a sample: the busiest " + std::to_string(view.ids) + " ids found so far";
        if (view.progress) {
            text += ", " + std::to_string(std::lround(*view.progress * kPercent)) +
                    " % of Redis looked through";
        }
    }
    text += ", " + std::to_string(view.active) + " active";
    if (view.active > view.rows.size()) {
        text += ", " + std::to_string(view.rows.size()) + " shown";
    }
    return text + "\n\n";
}

}  // namespace

std::string render_top(Format format, const TopView& view) {
    if (format == Format::kJson) {
        return json_line(view);
    }
    std::vector<std::vector<std::string>> rows{
        {"ID", "NAME", "PLAN", "TABLE", "GRANTED/S", "REFUSED/S", "BANNED"}};
    for (const auto& [quota, record] : view.rows) {
        rows.push_back({quota.id, text_or_dash(record.name), text_or_dash(record.plan),
                        text_or_dash(quota.table), rate_text(quota.granted, quota.exact),
                        quota.refused ? rate_text(*quota.refused, true) : "-",
                        quota.banned_until ? "until " + time_of(*quota.banned_until) : "-"});
    }
    return heading(view) + align(rows);
}

}  // namespace tollgate::cli
