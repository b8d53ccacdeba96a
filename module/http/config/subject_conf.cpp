#include "module/http/config/subject_conf.hpp"

#include <algorithm>
#include <new>
#include <string_view>

#include "module/http/config/complex_value.hpp"
#include "module/http/config/location_conf.hpp"

namespace tollgate::http {

namespace {

std::string_view text_of(ngx_http_request_t* r, const ngx_http_complex_value_t& value) {
    const auto text = evaluate(r, &value);
    if (!text) {
        throw std::bad_alloc();
    }
    return *text;
}

/// Whether the text is one variable. With a text beside it, a value is never empty: requests
/// without an identity would all be one client.
bool is_variable(std::string_view text) {
    return text.size() > 1 && text.starts_with('$') &&
           std::ranges::all_of(text.substr(1), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

/// A variable can contain decoded client input. No line break of it may get into the log.
ngx_str_t printable(std::string_view text) {
    return borrow(is_valid_key_name(text) ? text : "?");
}

}  // namespace

Subject SubjectConf::subject_of(ngx_http_request_t* r) const {
    Subject subject{.id = text_of(r, id)};
    if (!subject.id.empty() && plan != nullptr) {
        subject.plan = text_of(r, *plan);
    }
    return subject;
}

void SubjectConf::report_malformed(const ngx_http_request_t* r, ngx_uint_t level,
                                   const Subject& subject) const {
    if (!malformed.admit(std::chrono::steady_clock::now())) {
        return;
    }
    ngx_str_t printed_id = printable(subject.id);
    ngx_str_t printed_plan = printable(subject.plan);
    ngx_log_error(level, r->connection->log, 0,
                  "tollgate refuses the request: invalid_subject, id \"%V\", plan \"%V\": use 1 to "
                  "64 letters, digits, \"_\", \"-\" and \".\"; others are not logged for a minute",
                  &printed_id, &printed_plan);
}

char* read_subject(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& field = static_cast<LocationConf*>(conf)->subject;
    return read_once(cf, field, [&](Words words) -> const SubjectConf* {
        constexpr std::string_view kPlan = "plan=";
        if (is_off(words, "a variable")) {
            return nullptr;
        }
        auto* read = make_pooled<SubjectConf>(cf->pool);
        if (!is_variable(words[1])) {
            throw ParseError("\"tollgate_subject\" takes one variable, not " + in_quotes(words[1]));
        }
        read->id = compile(cf, words[1]);
        read->position = Position::of(cf);
        if (words.size() > 2) {
            const bool has_plan = words[2].starts_with(kPlan) && words[2].size() > kPlan.size();
            if (!has_plan) {
                throw ParseError("invalid parameter " + in_quotes(words[2]));
            }
            read->plan = make_pooled<ngx_http_complex_value_t>(
                cf->pool, compile(cf, words[2].substr(kPlan.size())));
        }
        MainConf::of(cf).has_subjects = true;
        return read;
    });
}

}  // namespace tollgate::http
