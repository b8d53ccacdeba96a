#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Reads the lines of a file, which may be compressed by gzip.
class LogFile {
  public:
    /// A longer line is cut: it is no line of an access log.
    static constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

    /// Opens a file; `-` is standard input. Throws Failure.
    explicit LogFile(std::string path);

    /// Reads the next line, without its line end. The line is valid until the next call. Returns
    /// false at the end. Throws Failure if the file can't be read or is damaged.
    bool next(std::string_view& line);

    /// The number of the last line, from 1.
    std::size_t line_number() const { return line_number_; }
    const std::string& path() const { return path_; }
    /// Whether another object can read the same lines: it is a file, not a pipe.
    bool can_reopen() const { return can_reopen_; }

  private:
    struct Close {
        void operator()(gzFile file) const { gzclose_r(file); }
    };

    bool fill();
    [[noreturn]] void fail(const std::string& reason) const;

    std::string path_;
    bool can_reopen_ = false;
    std::unique_ptr<gzFile_s, Close> file_;
    std::string buffer_;
    std::size_t begin_ = 0;     ///< of the bytes in the buffer that are not read yet
    bool is_skipping_ = false;  ///< the rest of a line that was cut
    bool at_end_ = false;
    std::size_t line_number_ = 0;
};

}  // namespace tollgate::cli
