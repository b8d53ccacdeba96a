#pragma once

#include "module/http/nginx.hpp"

/// Warnings about configurations that nginx accepts and that are probably mistakes. Call these
/// functions when the whole configuration is merged.
namespace tollgate::http {

/// `tollgate` and nginx's `auth_basic` both read `Authorization`, and a request has only one such
/// field. Warns of each guarded place where both are on and `satisfy` is `all`: no request can pass
/// both.
void warn_of_auth_basic(ngx_conf_t* cf);

/// nginx's `return` answers in the rewrite phase, before `tollgate` asks for a key. Warns of each
/// guarded place where an unconditional `return` answers every request. If `tollgate` is inherited,
/// only a 2xx that clients can reach is one: a redirect or a refusal shows nothing, and pages of
/// `error_page` have no key to check.
void warn_of_early_return(ngx_conf_t* cf);

/// Warns of each `tollgate_subject` in a guarded place whose id or plan is made of what a client
/// sends (`$http_NAME`, `$arg_NAME`, `$cookie_NAME`), and of each constant plan that no subject can
/// have there.
void warn_of_subjects(ngx_conf_t* cf);

/// Warns of each guarded place whose `tollgate_cost`, `settle=` or `by=` needs a variable of a JSON
/// body that the place does not read, or that is not known yet at that time. Variables of
/// `tollgate_sum` are followed, those of other directives are not.
void warn_of_unread_bodies(ngx_conf_t* cf);

/// Warns of each guarded place where `tollgate_cost` is a number above a limit of plans of its
/// tables: no request of such a plan is ever granted.
void warn_of_costs(ngx_conf_t* cf);

/// Only refusals by tables by=id are strikes, unless `strikes=all`. Warns of each `tollgate` whose
/// `ban` never begins, because no table that it names is one.
void warn_of_bans_without_strikes(ngx_conf_t* cf);

}  // namespace tollgate::http
