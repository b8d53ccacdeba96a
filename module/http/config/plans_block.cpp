#include "module/http/config/conf_block.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/quota/plan_directives.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

char* read_plans_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<TableConf>();
        conf->position = Position::of(cf);
        PlanTable& table = conf->table;
        try {
            const auto words = words_of(cf);
            TableDirective parameters = parse_table_directive(std::span(words).subspan(1));
            table = std::move(parameters.table);
            conf->redis_name = std::move(parameters.redis_name);
            for (const auto& other : main.tables) {
                const std::string conflict =
                    name_conflict("tollgate_plans", table.name, other->table.name);
                if (!conflict.empty()) {
                    throw ParseError(conflict);
                }
            }
            char* result = read_block(cf, [&](std::span<const std::string_view> directive) {
                set_plans_directive(table, directive);
            });
            if (result != conf_ok()) {
                return result;
            }
            check_plan_table(table);
        } catch (const ParseError& e) {
            log_conf_error(cf, conf->position, e.what());
            return conf_error();
        }
        main.tables.push_back(std::move(conf));
        return conf_ok();
    });
}

}  // namespace tollgate::http
