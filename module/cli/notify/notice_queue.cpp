#include "module/cli/notify/notice_queue.hpp"

#include <chrono>
#include <tuple>
#include <utility>

#include "module/redis/protocol/schema.hpp"
#include "module/redis/topology/slot_tag.hpp"

namespace tollgate::cli {

namespace {

redis::Command add_command(const std::string& stream, const std::vector<std::string>& fields) {
    redis::Command command{"XADD", stream, "MAXLEN", "~", std::to_string(redis::kMostNotices), "*"};
    command.insert(command.end(), fields.begin(), fields.end());
    return command;
}

redis::Command expire_command(const std::string& stream) {
    constexpr std::chrono::milliseconds kKept = redis::kNoticesKept;
    return {"PEXPIRE", stream, std::to_string(kKept.count())};
}

}  // namespace

std::vector<NoticeMember> notice_members(RedisSession& session) {
    std::vector<NoticeMember> members;
    const auto reply = session.run_if_accepted(
        {"XINFO", "CONSUMERS", session.keys().notices(), NoticeQueue::kGroup});
    if (!reply) {
        return members;
    }
    for (const auto& fields : reply->elements) {
        NoticeMember& member = members.emplace_back();
        for (std::size_t i = 0; i + 1 < fields.elements.size(); i += 2) {
            const auto& [name, value] = std::tie(fields.elements[i].text, fields.elements[i + 1]);
            if (name == "name") {
                member.name = value.text;
            } else if (name == "pending") {
                member.pending = value.integer;
            } else if (name == "idle") {
                member.idle = std::chrono::milliseconds(value.integer);
            }
        }
    }
    return members;
}

NoticeQueue::NoticeQueue(RedisSession& session, std::string member)
    : session_(session), member_(std::move(member)), stream_(session.keys().notices()) {}

void NoticeQueue::join() {
    // An error says that the group exists, or is reported by next().
    session_.run_if_accepted({"XGROUP", "CREATE", stream_, kGroup, "0", "MKSTREAM"});
    // Redis 7.0 knows a member from its first entry on only: doctor is to see it before.
    session_.run_if_accepted({"XGROUP", "CREATECONSUMER", stream_, kGroup, member_});
    constexpr auto kLeft = std::chrono::hours(24);
    for (const auto& member : notice_members(session_)) {
        if (member.pending == 0 && member.idle > kLeft) {
            session_.run({"XGROUP", "DELCONSUMER", stream_, kGroup, member.name});
        }
    }
}

void NoticeQueue::append(const std::vector<std::string>& fields) {
    session_.run_all(
        std::vector<redis::Command>{add_command(stream_, fields), expire_command(stream_)});
}

std::vector<redis::Value> NoticeQueue::next(std::chrono::milliseconds time) {
    redis::Command command{"XREADGROUP", "GROUP", kGroup, member_, "COUNT", "1"};
    if (time > time.zero()) {
        command.insert(command.end(), {"BLOCK", std::to_string(time.count())});
    }
    command.insert(command.end(), {"STREAMS", stream_, ">"});
    auto reply = session_.run(command);
    // One stream: its name, and its entries.
    if (reply.elements.empty() || reply.elements[0].elements.size() != 2) {
        return {};
    }
    return std::move(reply.elements[0].elements[1].elements);
}

std::vector<redis::Value> NoticeQueue::abandoned(std::size_t count) {
    auto reply =
        session_.run({"XAUTOCLAIM", stream_, kGroup, member_, std::to_string(kAbandoned.count()),
                      abandoned_from_, "COUNT", std::to_string(count)});
    if (reply.elements.size() < 2) {
        return {};
    }
    abandoned_from_ = reply.elements[0].text;
    return std::move(reply.elements[1].elements);
}

void NoticeQueue::renew(const std::vector<std::string>& entries) {
    if (entries.empty()) {
        return;
    }
    redis::Command command{"XCLAIM", stream_, kGroup, member_, "0"};
    command.insert(command.end(), entries.begin(), entries.end());
    command.emplace_back("JUSTID");
    session_.run(command);
}

void NoticeQueue::remove(const std::string& entry) {
    session_.run_all(
        std::vector<redis::Command>{{"XACK", stream_, kGroup, entry}, {"XDEL", stream_, entry}});
}

bool NoticeQueue::is_apart() const {
    return !session_.may_span(stream_, session_.keys().ids());
}

std::int64_t NoticeQueue::waiting() {
    std::int64_t waiting = session_.run({"XLEN", stream_}).integer;
    for (const auto& member : notice_members(session_)) {
        waiting -= member.pending;
    }
    return waiting;
}

/// The streams of slots that have entries.
std::vector<std::string> NoticeQueue::filled_streams() {
    if (lengths_.empty()) {
        lengths_.reserve(redis::kSlots);
        for (redis::Slot slot = 0; slot < redis::kSlots; ++slot) {
            lengths_.push_back({"XLEN", session_.keys().notices_of(redis::slot_tag(slot))});
        }
    }
    const auto lengths = session_.run_all(lengths_);
    std::vector<std::string> filled;
    for (std::size_t slot = 0; slot < lengths.size(); ++slot) {
        if (lengths[slot].integer > 0) {
            filled.push_back(lengths_[slot][1]);
        }
    }
    return filled;
}

bool NoticeQueue::collect() {
    constexpr std::size_t kAtOnce = 100;
    constexpr std::size_t kMost = 1000;
    if (filled_.empty()) {
        filled_ = filled_streams();
    }
    for (std::size_t moved = 0; moved < kMost && !filled_.empty(); moved += kAtOnce) {
        const std::string& stream = filled_.back();
        const auto entries =
            session_.run({"XRANGE", stream, "-", "+", "COUNT", std::to_string(kAtOnce)});
        std::vector<redis::Command> copies;
        redis::Command removal{"XDEL", stream};
        for (const auto& entry : entries.elements) {
            if (entry.elements.size() == 2) {
                const std::string& id = entry.elements[0].text;
                auto fields = entry.elements[1].texts();
                fields.insert(fields.end(), {std::string(redis::notice_field::kMoved), id});
                copies.push_back(add_command(stream_, fields));
                removal.push_back(id);
            }
        }
        if (copies.empty()) {
            filled_.pop_back();
            continue;
        }
        copies.push_back(expire_command(stream_));
        session_.run_all(copies);
        session_.run(removal);
    }
    return !filled_.empty();
}

}  // namespace tollgate::cli
