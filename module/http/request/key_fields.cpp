#include "module/http/request/key_fields.hpp"

#include <algorithm>
#include <span>

#include "module/http/config/location_conf.hpp"
#include "module/http/request/handlers.hpp"
#include "module/http/request/request_context.hpp"
#include "module/key/bearer.hpp"
#include "module/report/rate_limit_fields.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

constexpr std::string_view kAuthorization = "authorization";

/// The fields of a request as the client sent them.
struct SentFields {
    explicit SentFields(const ngx_http_request_t* r)
        : all(r->headers_in.headers), authorization(r->headers_in.authorization) {}

    ngx_list_t all;
    const ngx_table_elt_t* authorization;
};

/// What happened to the fields of a request. Its pool owns it.
struct FieldHistory : nginx::Recycled {
    /// How many guarded locations the request has reached.
    unsigned guarded = 0;
    /// Before some were stripped; nothing if none were.
    std::optional<SentFields> sent;
    /// Whether the main request has ended and is logged now.
    bool is_logged = false;

    static FieldHistory& of(const ngx_http_request_t* r) {
        auto* history = find_pooled<FieldHistory>(r->pool);
        return history != nullptr ? *history : *make_pooled<FieldHistory>(r->pool);
    }
};

/// The name in lower case, as nginx compares it.
std::string_view name_of(const ngx_table_elt_t& field) {
    return view({field.key.len, field.lowcase_key});
}

/// The values of the fields with this name, as one list (RFC 9110 section 5.3). Nothing if there is
/// no such field.
std::optional<std::string> list_of(const ngx_list_t& fields, std::string_view name) {
    std::optional<std::string> list;
    for_each_field(fields, [&](const ngx_table_elt_t& field) {
        if (equals_ignoring_case(view(field.key), name)) {
            list = list ? *list + ", " : "";
            list->append(view(field.value));
        }
    });
    return list;
}

/// The key in the field of this name; nothing if it is missing or empty.
std::optional<std::string_view> key_in_field(const ngx_list_t& fields, std::string_view name) {
    constexpr std::string_view kMalformed = ",";
    std::optional<std::string_view> found;
    for_each_field(fields, [&](const ngx_table_elt_t& field) {
        if (name_of(field) == name && field.value.len != 0) {
            found = found ? kMalformed : view(field.value);
        }
    });
    return found;
}

std::optional<std::string_view> key_in_source(const SentFields& fields, const KeySource& source) {
    if (!source.bearer) {
        return key_in_field(fields.all, source.field);
    }
    const ngx_table_elt_t* authorization = fields.authorization;
    return authorization == nullptr ? std::nullopt : bearer_token(view(authorization->value));
}

/// A list of some fields of another list. Elements of nginx's lists can't be removed, and
/// r->headers_in points to some of them (`host` and others). So they stay where they are: each part
/// of this list is a run of fields of the other one.
class FieldRuns {
  public:
    explicit FieldRuns(ngx_pool_t* pool) : pool_(pool) {}
    ~FieldRuns() = default;
    FieldRuns(const FieldRuns&) = delete;
    FieldRuns& operator=(const FieldRuns&) = delete;

    /// Adds the next field of the other list. Throws std::bad_alloc.
    void add(ngx_table_elt_t& field) {
        if (last_->nelts != 0 && &field != elements(*last_) + last_->nelts) {
            last_->next = static_cast<ngx_list_part_t*>(allocate(sizeof(ngx_list_part_t)));
            last_ = last_->next;
            *last_ = {};
        }
        if (last_->nelts == 0) {
            last_->elts = &field;
        }
        ++last_->nelts;
    }

    /// Replaces a list. A field that is added later to the list gets a part of its own. Throws
    /// std::bad_alloc.
    void write_to(ngx_list_t& list) {
        ngx_uint_t capacity = last_->nelts;
        if (capacity == 0) {
            capacity = 1;
            last_->elts = allocate(sizeof(ngx_table_elt_t));
        }
        list.part = first_;
        list.last = last_ == &first_ ? &list.part : last_;
        list.nalloc = capacity;  // of the last part and of those to come
    }

  private:
    static ngx_table_elt_t* elements(const ngx_list_part_t& part) {
        return static_cast<ngx_table_elt_t*>(part.elts);
    }
    void* allocate(std::size_t size) {
        void* memory = ngx_palloc(pool_, size);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return memory;
    }

    ngx_pool_t* pool_;
    ngx_list_part_t first_{};
    ngx_list_part_t* last_ = &first_;
};

/// A later line of the error log may contain the value, without its name.
void keep_for_redaction(ngx_http_request_t* r, const ngx_table_elt_t& field) {
    auto* stripped = find_pooled<StrippedValues>(r->main->pool);
    if (stripped == nullptr) {
        stripped = make_pooled<StrippedValues>(r->main->pool);
    }
    stripped->values.push_back(field.value);
}

/// Whether the request goes to an error page with its key, because nginx rejected it before the
/// access handler of a guarded location ran.
bool carries_key_to_error_page(const ngx_http_request_t* r) {
    // nginx checks the body's length before note_guarded runs, so any location may have been the
    // original one.
    const bool too_large = r->err_status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    const auto* history = find_pooled<FieldHistory>(r->pool);
    return r == r->main && RequestContext::find(r) == nullptr &&
           (too_large || (history != nullptr && history->guarded > 0));
}

/// The fields with keys in any location: the request may have been meant for any.
std::span<const KeyField> all_fields_of(ngx_http_request_t* r) {
    return MainConf::of(r).key_fields;
}

/// `auth_basic` has read the name and the password of a user from `Authorization`, and has not
/// refused them: keeps the name for `$remote_user`, before the field is removed.
void keep_user(ngx_http_request_t* r) {
    if (r->headers_in.user.len != 0 && r->access_code == 0) {
        ngx_http_get_indexed_variable(r, static_cast<ngx_uint_t>(MainConf::of(r).user_variable));
    }
}

/// The variables of these fields may already be cached, for example by an `if`: they are evaluated
/// again.
void forget_values(ngx_http_request_t* r, std::span<const KeyField> keys) {
    for (const KeyField& key : keys) {
        auto& kept_value = r->variables[key.variable];
        kept_value.valid = 0;
        kept_value.not_found = 0;
    }
}

/// Removes the fields with these keys, and those that only a gateway may set.
void strip(ngx_http_request_t* r, std::span<const KeyField> keys) {
    FieldRuns kept(r->pool);
    bool is_any_stripped = false;
    for_each_field(r->headers_in.headers, [&](ngx_table_elt_t& field) {
        const std::string_view name = name_of(field);
        const bool is_key = std::ranges::find(keys, name, &KeyField::name) != keys.end();
        if (!is_key && !is_rate_limit_field(name)) {
            kept.add(field);
            return;
        }
        is_any_stripped = true;
        if (is_key && name != kAuthorization) {
            keep_for_redaction(r, field);
        }
    });
    if (!is_any_stripped) {
        return;
    }
    if (FieldHistory& history = FieldHistory::of(r); !history.sent) {
        history.sent.emplace(r);
    }
    kept.write_to(r->headers_in.headers);
    for (const KeyField& key : keys) {
        if (key.name == kAuthorization) {
            r->headers_in.authorization = nullptr;
        }
    }
    forget_values(r, keys);
}

/// A handler of NGX_HTTP_PRECONTENT_PHASE, before `mirror` makes its copy of the request.
ngx_int_t remove_before_content(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    const RequestContext* context = RequestContext::find(r);
    if (context != nullptr && context->is_stripped(conf.stripped_fields())) {
        return NGX_DECLINED;
    }
    const bool is_guarded = conf.tables != nullptr;
    if (!is_guarded && !carries_key_to_error_page(r)) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] {
        const bool is_any = !is_guarded && conf.forward_authorization == 0;
        strip_request_fields(r, is_any ? all_fields_of(r) : conf.stripped_fields());
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

/// Whether a request that is logged now still has fields with keys that must not be logged.
bool has_keys_to_log(ngx_http_request_t* r) {
    const RequestContext* context = RequestContext::find(r);
    if (context != nullptr && context->is_stripped(all_fields_of(r))) {
        return false;
    }
    // nginx rejected the request before it looked for a location, which may have been a guarded
    // one.
    const bool lost = r->phase_handler == 0 && r->err_status >= NGX_HTTP_BAD_REQUEST;
    return lost || LocationConf::of(r).tables != nullptr || context != nullptr;
}

/// A handler of NGX_HTTP_LOG_PHASE, before the one that writes access logs.
ngx_int_t remove_before_log(ngx_http_request_t* r) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        if (has_keys_to_log(r)) {
            strip(r, all_fields_of(r));
        }
        auto* history = find_pooled<FieldHistory>(r->pool);
        // What reads a variable for the log of a subrequest may read it for the main request later.
        if (history != nullptr && r == r->main) {
            history->is_logged = true;
            forget_values(r, all_fields_of(r));
        }
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

SentKey find_key(const ngx_http_request_t* r, std::span<const KeySource> sources) {
    // A location that the request passed before a redirect may have stripped the key.
    const auto* history = find_pooled<FieldHistory>(r->pool);
    const SentFields fields = history != nullptr && history->sent ? *history->sent : SentFields(r);
    for (const KeySource& source : sources) {
        if (const auto token = key_in_source(fields, source)) {
            return {token, &source};
        }
    }
    return {};
}

std::optional<std::string> field_list(const ngx_http_request_t* r, std::string_view name) {
    return list_of(r->headers_in.headers, name);
}

std::optional<std::string> removed_value(const ngx_http_request_t* r, std::string_view name) {
    const auto* history = find_pooled<FieldHistory>(r->pool);
    const bool is_removed = history != nullptr && history->sent && !history->is_logged &&
                            !list_of(r->headers_in.headers, name);
    return is_removed ? list_of(history->sent->all, name) : std::nullopt;
}

void strip_request_fields(ngx_http_request_t* r, std::span<const KeyField> keys) {
    keep_user(r);
    strip(r, keys);
}

bool may_be_refused_before(const ngx_http_request_t* r) {
    const auto* history = find_pooled<FieldHistory>(r->pool);
    return r->error_page != 0 || (history != nullptr && history->guarded > 1);
}

ngx_int_t note_guarded(ngx_http_request_t* r) noexcept {
    if (r != r->main || LocationConf::of(r).tables == nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] {
        ++FieldHistory::of(r).guarded;
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

bool add_first_log_handler(ngx_conf_t* cf, ngx_http_handler_pt handler) {
    // Most phases run their handlers from the last added to the first, the log phase from the first
    // to the last.
    const auto logging = add_phase_handler(cf, NGX_HTTP_LOG_PHASE, handler);
    if (!logging.empty()) {
        std::rotate(logging.begin(), logging.end() - 1, logging.end());
    }
    return !logging.empty();
}

bool add_field_stripping(ngx_conf_t* cf) {
    return add_first_log_handler(cf, remove_before_log) &&
           !add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, remove_before_content).empty();
}

}  // namespace tollgate::http
