#include "module/key/subject.hpp"

#include <algorithm>
#include <string>

namespace tollgate {

bool is_valid_subject(const Subject& subject) {
    return is_valid_key_id(subject.id) && !is_dot_segment(subject.id) &&
           (subject.plan.empty() || is_valid_name(subject.plan));
}

KeyRecord record_of(const Subject& subject) {
    KeyRecord record;
    record.id = subject.id;
    record.plan = subject.plan;
    return record;
}

SubjectText::SubjectText(const Subject& subject) {
    char* to = text_.data();
    for (const std::string_view part : {subject.id, subject.plan}) {
        *to++ = '\0';
        to = std::ranges::copy(part.substr(0, kLongestId), to).out;
    }
    size_ = static_cast<std::size_t>(to - text_.data());
}

}  // namespace tollgate
