#include "module/cli/simulation/log_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

/// The requests of a log, a file that may be compressed by gzip.
class LogRequests {
  public:
    /// Opens a file; `-` is standard input. Throws Failure.
    LogRequests(std::string path, const LogFields& fields)
        : path_(std::move(path)), parser_(fields) {
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
        constexpr unsigned kReadSize = 1U << 17U;
        gzbuffer(file_.get(), kReadSize);
    }

    /// Reads up to the next line with a request. Returns false at the end. Throws Failure if the
    /// file can't be read or is damaged.
    bool next(LinesRead& read) {
        std::string_view line;
        while (next_line(line)) {
            ++read.lines;
            const auto reason = parser_.parse(line, request_);
            if (reason.empty()) {
                return true;
            }
            ++read.unreadable;
            if (read.first_unreadable.size() < LinesRead::kNamed) {
                read.first_unreadable.push_back({path_, lines_, std::string(reason)});
            }
        }
        return false;
    }

    const LoggedRequest& request() const { return request_; }
    /// Whether another object can read the same lines: it is a file, not a pipe.
    bool can_reopen() const { return can_reopen_; }

  private:
    /// A longer line is cut: it is no line of an access log.
    static constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

    struct Close {
        void operator()(gzFile file) const { gzclose_r(file); }
    };

    /// Reads the next line, without its line end. It is valid until the next call. Returns false at
    /// the end.
    bool next_line(std::string_view& line) {
        const auto begin = gztell(file_.get());
        errno = 0;
        if (gzgets(file_.get(), buffer_.data(), static_cast<int>(buffer_.size())) == nullptr) {
            require_end(errno);
            return false;
        }
        ++lines_;
        line = std::string_view(buffer_).substr(
            0, static_cast<std::size_t>(gztell(file_.get()) - begin));
        if (line.ends_with('\n')) {
            line.remove_suffix(1);
        } else {
            for (int next = 0; next != -1 && next != '\n';) {
                next = gzgetc(file_.get());
            }
        }
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        return true;
    }

    /// Throws Failure if it is not the end of the file that ended the reading. A file that is cut
    /// off ends with Z_BUF_ERROR.
    void require_end(int read_error) const {
        int code = Z_OK;
        std::string_view reason = gzerror(file_.get(), &code);
        // zlib puts the number of the descriptor before it.
        if (const auto colon = reason.find(": "); colon != reason.npos) {
            reason.remove_prefix(colon + 2);
        }
        if (code != Z_OK) {
            throw Failure(ExitStatus::kRedis,
                          "cannot read the log " + path_ + ": " +
                              (code == Z_ERRNO ? std::generic_category().message(read_error)
                                               : std::string(reason)));
        }
    }

    std::string path_;
    bool can_reopen_ = false;
    std::unique_ptr<gzFile_s, Close> file_;
    std::string buffer_ = std::string(kLongestLine + 1, '\0');
    std::size_t lines_ = 0;
    LogLineParser parser_;
    LoggedRequest request_;
};

/// A log that is read from a time on.
struct PendingLog {
    std::string path;
    Instant begins;  ///< the time of its first request; 0: none could be read
    /// At its first request, if it can't be opened again.
    std::unique_ptr<LogRequests> open;
};

/// Finds the time of the first request of a log. Returns false if nothing is left to read.
bool find_begin(PendingLog& log, const LogFields& fields, LinesRead& read) {
    auto requests = std::make_unique<LogRequests>(log.path, fields);
    if (requests->can_reopen()) {
        LinesRead ignored;
        if (requests->next(ignored)) {
            log.begins = requests->request().began;
        }
        return true;
    }
    log.open = std::move(requests);
    if (!log.open->next(read)) {
        return false;
    }
    log.begins = log.open->request().began;
    return true;
}

}  // namespace

LinesRead read_logs(const std::vector<std::string>& paths, const LogFields& fields,
                    const std::function<void(const LoggedRequest&)>& use) {
    if (std::ranges::count(paths, "-") > 1) {
        throw Failure(ExitStatus::kUsage, "standard input can be read only once");
    }
    LinesRead read;
    std::vector<PendingLog> pending;
    for (const auto& path : paths) {
        PendingLog log{path, {}, nullptr};
        if (find_begin(log, fields, read)) {
            pending.push_back(std::move(log));
        }
    }
    // The next one is at the back.
    std::ranges::stable_sort(pending, std::ranges::greater{}, &PendingLog::begins);
    std::vector<std::unique_ptr<LogRequests>> open;
    const auto begin_of = [](const auto& log) { return log->request().began; };
    while (!pending.empty() || !open.empty()) {
        auto next = std::ranges::min_element(open, {}, begin_of);
        if (next == open.end() || (!pending.empty() && pending.back().begins < begin_of(*next))) {
            PendingLog log = std::move(pending.back());
            pending.pop_back();
            if (log.open == nullptr) {
                log.open = std::make_unique<LogRequests>(log.path, fields);
                if (!log.open->next(read)) {
                    continue;
                }
            }
            open.push_back(std::move(log.open));
            continue;
        }
        use((*next)->request());
        if (!(*next)->next(read)) {
            open.erase(next);
        }
    }
    return read;
}

}  // namespace tollgate::cli
