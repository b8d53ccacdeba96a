#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/engine/settings.hpp"
#include "module/http/config/directive.hpp"
#include "module/http/config/request_cost.hpp"
#include "module/http/nginx.hpp"
#include "module/key/key_source.hpp"
#include "module/plan/plan.hpp"
#include "module/redis/io/link_conf.hpp"

namespace tollgate::http {

/// A `tollgate_redis` block.
struct RedisConf {
    redis::LinkConf link;
    struct Sentinel {
        /// nullptr without `sentinel`, once the block is read
        std::unique_ptr<redis::SentinelGroup> group = std::make_unique<redis::SentinelGroup>();
        std::optional<bool> tls;  ///< nothing: as `tls`
    } sentinel;
    engine::RedisSettings settings;
    bool tls = false;
    redis::TlsSettings tls_settings;
    std::string host;                    ///< of the first server; empty if one is a unix socket
    std::set<std::string> servers;       ///< as they are written, after the directive
    std::vector<std::string_view> seen;  ///< see find_directive
    Position server_position;            ///< of `server`, `sentinel` or `cluster`
};

/// A `tollgate_plans` block.
struct TableConf {
    PlanTable table;
    std::string redis_name;  ///< the value of `redis=`; empty if it is missing
    Position position;
    const RedisConf* redis = nullptr;  ///< set by resolve
    ngx_int_t variable = NGX_ERROR;    ///< the index of PlanTable::variable, if it has one
};

/// The plan tables that a `tollgate` directive names. All have the same Redis.
struct TableSetConf {
    std::vector<std::string> names;
    Position position;
    std::size_t index = 0;                 ///< in MainConf::sets
    std::vector<const PlanTable*> tables;  ///< at least one; set by resolve
    std::vector<ngx_int_t> variables;      ///< TableConf::variable of each; set by resolve
    const RedisConf* redis = nullptr;      ///< set by resolve
    std::optional<BanPolicy> ban;          ///< of the first table that has one

    /// What the statistics call the set: the names of its tables, joined by `+`.
    std::string joined_names() const;
    /// The units of its tables, in the same order and form.
    std::string joined_units() const;
};

/// A header field of requests that may have a key.
struct KeyField {
    std::string name;    ///< in lower case
    ngx_int_t variable;  ///< the index of $http_NAME
};

/// A `tollgate_key_from` directive.
struct KeySourcesConf {
    std::vector<KeySource> sources;  ///< in the order of the directive
    Position position;
    std::vector<KeyField> own_fields;  ///< of the sources; set by resolve_key_sources
    /// The fields of the sources: `own_fields`, or all of MainConf::key_fields if they are equal.
    /// Two sets are compared by their addresses. Set by resolve_key_sources.
    std::span<const KeyField> fields;

    /// The field that a challenge names: see Challenge::field.
    std::string_view challenge_field() const;
};

struct LocationConf;

/// Whether these are the settings of a server that has locations, which inherit them: a server has
/// no name.
inline bool is_outer(const ngx_http_core_loc_conf_t& core) {
    return core.name.len == 0 && core.locations != nullptr;
}

/// A place where `tollgate` is on: a server, a location, or a block in one.
struct GuardedPlace {
    void** srv_conf;           ///< of all modules
    void** loc_conf;           ///< of all modules; merged when the http block ends
    const LocationConf* conf;  ///< of this module
    bool is_inherited;         ///< `tollgate` is of an outer level

    /// nginx's own settings. A server's have no name; those of a block have its location's.
    const ngx_http_core_loc_conf_t& core() const;
    /// How a message names it.
    std::string name() const;
};

/// The configuration of the http block. It does not change once it is read.
struct MainConf {
    std::vector<std::unique_ptr<RedisConf>> redis;
    std::vector<std::unique_ptr<TableConf>> tables;
    std::vector<std::unique_ptr<TableSetConf>> sets;
    std::vector<std::unique_ptr<CostsConf>> costs;
    std::size_t zone_size = 0;  ///< of `tollgate_zone`, in bytes; 0: not known yet
    bool has_subjects = false;  ///< whether there is a `tollgate_subject`
    std::vector<GuardedPlace> guarded;
    std::vector<ngx_log_t*> error_logs;                        ///< of all locations, each once
    std::vector<std::unique_ptr<KeySourcesConf>> key_sources;  ///< the first one is the default
    std::vector<KeyField> key_fields;                          ///< of all of them, each once
    std::vector<std::string> redacted_fields;  ///< their names, except `authorization`
    ngx_int_t user_variable = NGX_ERROR;       ///< the index of $remote_user
    /// The names of the variables that `tollgate_request_json` and `tollgate_response_json` set.
    std::set<std::string> request_variables;
    std::set<std::string> response_variables;
    /// The name and the terms of each variable of `tollgate_sum`, in the order of the directives.
    std::vector<std::pair<std::string, std::string>> sums;

    MainConf() = default;
    ~MainConf() = default;
    MainConf(const MainConf&) = delete;
    MainConf& operator=(const MainConf&) = delete;

    /// The configuration that an HttpBlock has; defined beside it.
    static MainConf& of(ngx_conf_t* cf);
    static const MainConf& of(ngx_http_request_t* r);

    /// The sources where no `tollgate_key_from` is set: `bearer`. Made by the first call.
    const KeySourcesConf* default_key_sources();

    /// The plan table of this name; nullptr if there is none.
    const TableConf* find_table(std::string_view name) const;

    /// Resolves the names of plan tables and Redis blocks, which may be defined in any order.
    /// Returns false after logging what is missing.
    bool resolve(ngx_conf_t* cf);
};

/// Reads `tollgate_plans NAME [PARAMETER…] { … }`.
char* read_plans_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
