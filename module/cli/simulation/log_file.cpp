#include "module/cli/simulation/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

constexpr unsigned kReadSize = 1U << 17U;

}  // namespace

LogFile::LogFile(std::string path) : path_(std::move(path)) {
    const bool is_stdin = path_ == "-";
    const int descriptor =
        is_stdin ? ::dup(STDIN_FILENO) : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
        throw Failure(ExitStatus::kUsage, "cannot open the log " + path_ + ": " +
                                              std::generic_category().message(errno));
    }
    can_reopen_ = !is_stdin && S_ISREG(status.st_mode);
    file_.reset(gzdopen(descriptor, "rb"));
    if (!file_) {
        ::close(descriptor);
        throw std::bad_alloc();
    }
    gzbuffer(file_.get(), kReadSize);
}

void LogFile::fail(const std::string& reason) const {
    throw Failure(ExitStatus::kRedis, "cannot read the log " + path_ + ": " + reason);
}

/// Reads more bytes behind those that are not read yet. Returns false at the end of the file.
bool LogFile::fill() {
    buffer_.erase(0, std::exchange(begin_, 0));
    const auto old_size = buffer_.size();
    buffer_.resize(old_size + kReadSize);
    errno = 0;
    const int read = gzread(file_.get(), buffer_.data() + old_size, kReadSize);
    const int read_error = errno;
    buffer_.resize(old_size + static_cast<std::size_t>(std::max(read, 0)));
    int code = Z_OK;
    std::string_view reason = gzerror(file_.get(), &code);
    // zlib puts the number of the descriptor before it.
    if (const auto colon = reason.find(": "); colon != std::string_view::npos) {
        reason.remove_prefix(colon + 2);
    }
    // A file that is cut off ends with Z_BUF_ERROR.
    if (read < 0 || (read == 0 && code != Z_OK)) {
        fail(code == Z_ERRNO ? std::generic_category().message(read_error) : std::string(reason));
    }
    return read > 0;
}

bool LogFile::next(std::string_view& line) {
    std::size_t searched = 0;
    while (true) {
        const auto end = buffer_.find('\n', begin_ + searched);
        const bool is_found = end != std::string::npos;
        const auto length = (is_found ? end : buffer_.size()) - begin_;
        if (is_found || length > kLongestLine || at_end_) {
            if (length == 0 && !is_found) {
                return false;
            }
            line = std::string_view(buffer_).substr(begin_, std::min(length, kLongestLine));
            begin_ += length + (is_found ? 1 : 0);
            if (std::exchange(is_skipping_, !is_found && !at_end_)) {
                searched = 0;
                continue;
            }
            ++line_number_;
            if (line.ends_with('\r')) {
                line.remove_suffix(1);
            }
            return true;
        }
        searched = length;
        at_end_ = !fill();
    }
}

}  // namespace tollgate::cli
