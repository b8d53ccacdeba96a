#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/plan.hpp"

namespace tollgate::cli {

class RedisSession;

/// Something that an operator should change.
struct Finding {
    std::string_view check;  ///< what was checked, such as `persistence`
    std::string text;        ///< what is wrong, and what to do
    /// A step that replaces or removes what is stored, and that ends the text. It is shown only if
    /// no record can come back that is missing now: text_of().
    std::string removal = {};
};

/// Whether records that Redis lacks may come back when it starts the next time: a server that
/// skipped transactions of its append-only file has them in the file until it rewrites the file.
enum class MissingRecords : std::uint8_t {
    kAreGone,    ///< no server has skipped anything
    kMayReturn,  ///< a server has refused commands since it started, maybe those of its file
    kReturn,     ///< a server skips transactions as its rules are now
};

/// What a finding says, with its removal as far as that is safe.
std::string text_of(const Finding& finding, MissingRecords missing);

/// What is wrong with the servers, and whether records may come back.
struct ServerFindings {
    std::vector<Finding> findings;
    MissingRecords missing = MissingRecords::kAreGone;
};

// What `tollgate doctor` checks. All functions only read, and throw Failure if Redis or a node is
// unreachable.

/// What the masters may do with the data, which of them are too old or have another time than this
/// machine, and which replies to the command's user are missing.
ServerFindings findings_of_servers(RedisSession& session);

/// What the gateways' user lacks of gateway_commands(), on each master, for what these tables use.
/// The commands of tollgate_admin are checked if the user may run one of those that nothing else
/// needs.
std::vector<Finding> findings_of_gateway_user(RedisSession& session, const std::string& user,
                                              const std::vector<PlanTable>& tables);

/// Whether gateways use this Redis with the prefix of the session.
std::vector<Finding> findings_of_gateways(RedisSession& session,
                                          const std::vector<PlanTable>& tables);

/// What the keys of all ids have that the gateways do not apply, and ids without keys. One finding
/// for each problem, with the first ids that have it.
std::vector<Finding> findings_of_ids(RedisSession& session, const std::vector<PlanTable>& tables);

/// Records of keys that no list of an id contains: the command and the API do not find them, but
/// gateways accept their keys. Searches all of Redis (SCAN).
std::vector<Finding> findings_of_records(RedisSession& session);

/// Whether somebody delivers the notices, if a plan table has levels that are noticed. Throws
/// Failure.
std::vector<Finding> findings_of_notices(RedisSession& session,
                                         const std::vector<PlanTable>& tables);

/// What the statistics of a node say. `url` is a URL that parse_http_url accepts, of a
/// `tollgate_status`.
std::vector<Finding> findings_of_node(const std::string& url);

}  // namespace tollgate::cli
