#include "module/cli/simulation/simulation.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/plan/rate.hpp"

namespace tollgate::cli {

namespace {

std::string second_of(Instant time) {
    return format_time(std::chrono::floor<std::chrono::seconds>(time));
}

/// A time; `null` if there are no requests.
Json time_or_null(Instant time, std::int64_t requests) {
    return requests == 0 ? Json(nullptr) : Json(second_of(time));
}

}  // namespace

// nlohmann_json calls these for the elements of an array.

static void to_json(Json& json, const PlanInTable& table) {
    json = {{"table", table.table},
            {"limits", json_or_null(table.limits)},
            {"window", table.sliding ? "sliding" : "fixed"}};
}

static void to_json(Json& json, const PlanRequests& plan) {
    json = {{"plan", json_or_null(plan.plan)},
            {"tables", plan.tables},
            {"ids", plan.ids},
            {"requests", plan.requests},
            {"refused_ids", plan.refused_ids},
            {"refused", plan.refused},
            {"forbidden", plan.forbidden},
            {"without_limits", plan.without_limits}};
}

static void to_json(Json& json, const WindowRefusals& window) {
    const auto& period = window.period;
    json = {{"table", window.table},
            {"window", window.name()},
            {"seconds", period.is_month() ? Json(nullptr) : Json(period.length().count())},
            {"refused", window.refused},
            {"worst", second_of(window.worst)},
            {"worst_refused", window.worst_refused}};
}

static void to_json(Json& json, const RefusedId& id) {
    json = {{"id", id.id},
            {"plan", json_or_null(id.plan)},
            {"requests", id.requests},
            {"refused", id.refused},
            {"forbidden", id.forbidden},
            {"refused_in_log", id.refused_in_log},
            {"first", second_of(id.first)},
            {"last", second_of(id.last)},
            {"windows", id.windows}};
}

static void to_json(Json& json, const UnreadableLine& line) {
    json = {{"log", line.log}, {"line", line.line}, {"reason", line.reason}};
}

static void to_json(Json& json, const SimulationResult& result) {
    json = {{"lines", result.read.lines},
            {"unreadable", result.read.unreadable},
            {"first_unreadable", result.read.first_unreadable},
            {"skipped",
             {{"without_id", result.skipped.without_id},
              {"forbidden", result.skipped.forbidden},
              {"outside", result.skipped.outside},
              {"repeated", result.skipped.repeated}}},
            {"requests", result.requests},
            {"late", result.late},
            {"first", time_or_null(result.first, result.requests)},
            {"last", time_or_null(result.last, result.requests)},
            {"ids", result.ids},
            {"refused_ids", result.refused_ids.size()},
            {"refused", result.refused},
            {"forbidden", result.forbidden},
            {"without_limits", result.without_limits},
            {"refused_in_log", result.refused_in_log},
            {"plans", result.plans},
            {"refusals", result.refused_ids}};
}

namespace {

std::string count_of(std::int64_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// What was read, and why lines do not count. A reason without lines is left out.
Rows summary_of(const SimulationResult& result) {
    Rows rows{{"lines", std::to_string(result.read.lines)}};
    const auto add_lines = [&](std::int64_t lines, const std::string& reason) {
        if (lines > 0) {
            rows.push_back({"", std::to_string(lines) + " " + reason});
        }
    };
    add_lines(result.read.unreadable, "cannot be read");
    for (const auto& line : result.read.first_unreadable) {
        rows.push_back(
            {"", "  " + line.log + " line " + std::to_string(line.line) + ": " + line.reason});
    }
    if (result.read.unreadable > static_cast<std::int64_t>(result.read.first_unreadable.size())) {
        rows.push_back({"", "  ..."});
    }
    add_lines(result.skipped.without_id, "without an id");
    add_lines(result.skipped.forbidden, "refused with 403 in the log");
    add_lines(result.skipped.outside, "outside of the locations");
    add_lines(result.skipped.repeated,
              "further lines of a request: subrequests, or a log that is given twice");
    rows.push_back(
        {"requests", count_of(result.requests, "request") + " of " + count_of(result.ids, "id")});
    if (result.requests > 0) {
        rows.push_back({"", second_of(result.first) + " to " + second_of(result.last)});
    }
    add_lines(result.late, "out of order, decided late");
    add_lines(result.without_limits, "not decided: the limits of custom plans are not known");
    rows.push_back(
        {"refused", count_of(result.refused, "request") + " of " +
                        count_of(static_cast<std::int64_t>(result.refused_ids.size()), "id")});
    add_lines(result.forbidden, "with 403: the plan is not in a table");
    rows.push_back({"in the log", count_of(result.refused_in_log, "request") + " refused"});
    return rows;
}

std::string limits_text(const PlanRequests& plan) {
    std::string text;
    for (const auto& table : plan.tables) {
        text += text.empty() ? "" : ", ";
        text += plan.tables.size() > 1 ? table.table + ": " : "";
        text += text_or_dash(table.limits) + (table.sliding ? " sliding" : "");
    }
    return text;
}

Rows plan_rows(const std::vector<PlanRequests>& plans) {
    Rows rows{{"PLAN", "IDS", "REQUESTS", "REFUSED IDS", "REFUSED", "LIMITS"}};
    for (const auto& plan : plans) {
        rows.push_back({text_or_dash(plan.plan), std::to_string(plan.ids),
                        std::to_string(plan.requests), std::to_string(plan.refused_ids),
                        std::to_string(plan.refused + plan.forbidden), limits_text(plan)});
    }
    return rows;
}

Rows id_rows(const SimulationResult& result) {
    Rows rows{{"ID", "PLAN", "REQUESTS", "REFUSED", "IN THE LOG", "FIRST", "LAST", "WORST WINDOW",
               "REFUSED IN IT"}};
    for (const auto& id : result.refused_ids) {
        std::string window = "-";
        std::string in_it = "-";
        if (!id.windows.empty()) {
            const auto& worst = id.windows.front();
            window = (result.plans.front().tables.size() > 1 ? worst.table + " " : "") +
                     worst.name() + " " + second_of(worst.worst);
            in_it = std::to_string(worst.worst_refused);
        }
        rows.push_back({id.id, text_or_dash(id.plan), std::to_string(id.requests),
                        std::to_string(id.refused + id.forbidden),
                        std::to_string(id.refused_in_log), second_of(id.first), second_of(id.last),
                        window, in_it});
    }
    return rows;
}

}  // namespace

std::string render_simulation(Format format, const SimulationResult& result) {
    if (format == Format::kJson) {
        return json_document(Json(result));
    }
    std::string text = align_columns(summary_of(result));
    if (!result.plans.empty()) {
        text += "\n" + align_columns(plan_rows(result.plans));
    }
    if (!result.refused_ids.empty()) {
        text += "\n" + align_columns(id_rows(result));
    }
    return text;
}

}  // namespace tollgate::cli
