#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/known_id.hpp"
#include "module/management/operations.hpp"

namespace tollgate::cli {

namespace {

/// Throws Failure if the id has no key and is not counted.
void require_known_id(RedisSession& session, const std::string& id) {
    const auto tables = read_tables(session);
    complete(management::require_known_id(session, session.keys(), id,
                                          management::known_tables(tables)));
}

void print_ban(RedisSession& session, const CommandLine& line) {
    const auto ban = complete(management::read_ban(session, session.keys(), line.id));
    require_print(render_ban(line.format(), ban));
}

}  // namespace

void show_ban(RedisSession& session, const CommandLine& line) {
    require_known_id(session, line.id);
    print_ban(session, line);
}

void list_bans(RedisSession& session, const CommandLine& line) {
    constexpr std::size_t kBansPerPage = 500;
    std::vector<management::KeyBan> bans;
    std::optional<std::string> last;
    do {
        auto page = complete(management::read_bans(session, session.keys(), last, kBansPerPage,
                                                   management::CountedIds::Subjects::kIncluded));
        std::ranges::move(page.bans, std::back_inserter(bans));
        last = std::move(page.next);
    } while (last);
    require_print(render_bans(line.format(), bans));
}

void lift_ban(RedisSession& session, const CommandLine& line) {
    require_known_id(session, line.id);
    warn_unless_kept(line.id, complete(management::lift_ban_of(caller_of(session), line.id)));
    print_ban(session, line);
}

}  // namespace tollgate::cli
