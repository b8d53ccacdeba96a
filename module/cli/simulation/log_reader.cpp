#include "module/cli/simulation/log_reader.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/simulation/log_file.hpp"

namespace tollgate::cli {

namespace {

/// The requests of one log.
class LogRequests {
  public:
    LogRequests(std::unique_ptr<LogFile> file, const LogFields& fields)
        : file_(std::move(file)), parser_(fields) {}

    /// Reads up to the next line with a request. Returns false at the end.
    bool next(LinesRead& read) {
        std::string_view line;
        while (file_->next(line)) {
            ++read.lines;
            const auto reason = parser_.parse(line, request_);
            if (reason.empty()) {
                return true;
            }
            ++read.unreadable;
            if (read.first_unreadable.size() < LinesRead::kNamed) {
                read.first_unreadable.push_back(
                    {file_->path(), file_->line_number(), std::string(reason)});
            }
        }
        return false;
    }

    const LoggedRequest& request() const { return request_; }
    bool can_reopen() const { return file_->can_reopen(); }

  private:
    std::unique_ptr<LogFile> file_;
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

std::unique_ptr<LogRequests> open_log(const std::string& path, const LogFields& fields) {
    return std::make_unique<LogRequests>(std::make_unique<LogFile>(path), fields);
}

/// Finds the time of the first request of a log. Returns false if nothing is left to read.
bool find_begin(PendingLog& log, const LogFields& fields, LinesRead& read) {
    auto requests = open_log(log.path, fields);
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
                log.open = open_log(log.path, fields);
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
