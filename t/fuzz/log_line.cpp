// Lines of access logs, as tollgate simulate reads them.

#include "module/cli/simulation/log_line.hpp"

#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using cli::LoggedRequest;

bool are_equal(const LoggedRequest& a, const LoggedRequest& b) {
    return a.began == b.began && a.id == b.id && a.plan == b.plan && a.uri == b.uri &&
           a.request == b.request && a.cost == b.cost && a.has_id_field == b.has_id_field &&
           a.is_forbidden == b.is_forbidden && a.is_refused == b.is_refused;
}

void check_request(const LoggedRequest& request, std::string_view line) {
    require(request.began.time_since_epoch().count() >= 0);
    require(request.cost >= 0);
    require(request.id.empty() || request.has_id_field);
    for (const auto text : {request.id, request.plan, request.uri, request.request}) {
        require(text.size() <= line.size());
    }
}

/// The lines of the input. A parser that has read other lines reads the same as a new one.
void check_lines(std::string_view input, const cli::LogFields& fields) {
    cli::LogLineParser parser(fields);
    while (!input.empty()) {
        const auto line = input.substr(0, input.find('\n'));
        input.remove_prefix(std::min(line.size() + 1, input.size()));
        LoggedRequest request;
        LoggedRequest again;
        cli::LogLineParser fresh(fields);
        const auto reason = parser.parse(line, request);
        require(fresh.parse(line, again) == reason);
        if (reason.empty()) {
            check_request(request, line);
            require(are_equal(request, again));
        }
    }
}

}  // namespace

void check(std::string_view input) {
    check_lines(input, {});
    check_lines(input, {.id = "remote_user", .cost = "3"});
}

}  // namespace tollgate::fuzz
