// The reply to a look-up of a key, in RESP.

#include "module/key/key_record.hpp"

#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/reply.hpp"
#include "t/fuzz/fuzz_target.hpp"

void tollgate::fuzz::check(std::string_view input) {
    redis::ReplyReader reader;
    reader.feed(input);
    while (const redis::ReplyPtr reply = reader.next()) {
        const redis::Lookup found = redis::read_lookup(redis::elements_of(*reply));
        if (found.outcome == redis::Lookup::Outcome::kFound) {
            require(is_valid_key_id(found.record.id));
            require(is_valid_name(found.record.plan));
            require(is_valid_key_name(found.record.name));
            require(parse_scopes(found.record.scopes) == found.record.scopes);
            require(found.record.meta.empty() ||
                    write_meta(parse_meta(found.record.meta)) == found.record.meta);
        } else if (found.outcome == redis::Lookup::Outcome::kRevoked) {
            require(is_valid_key_id(found.record.id));
        }
    }
}
