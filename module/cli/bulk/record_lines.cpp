#include "module/cli/bulk/record_lines.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <limits>
#include <string_view>
#include <system_error>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/management/operation_error.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kStandardInput = "-";
/// In bytes. Two keys with the longest values have less.
constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

/// Throws Failure for the error in errno.
[[noreturn]] void refuse_file(const std::string& name) {
    throw Failure(ExitStatus::kUsage,
                  "cannot read \"" + name + "\": " + std::generic_category().message(errno));
}

/// Reads the lines of a file without the memory that a line of any length would take.
class Lines {
  public:
    /// `input` must outlive the object.
    explicit Lines(std::istream& input) : input_(input) {}

    /// Reads the next line; its number is 1 for the first one. Returns false at the end.
    bool next() {
        input_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        const auto read = static_cast<std::size_t>(input_.gcount());
        is_cut_ = input_.fail() && !input_.bad() && !input_.eof() && read > 0;
        if (is_cut_) {
            input_.clear();
            input_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
        } else if (input_.fail()) {
            return false;
        }
        const bool has_end = !is_cut_ && !input_.eof();
        line_ = std::string_view(buffer_).substr(0, read - (has_end ? 1 : 0));
        ++number_;
        return true;
    }

    /// Valid until the next call of next().
    std::string_view line() const { return line_; }
    std::size_t number() const { return number_; }
    /// Whether the line is longer than kLongestLine.
    bool is_cut() const { return is_cut_; }

  private:
    std::istream& input_;
    std::string buffer_ = std::string(kLongestLine + 1, '\0');
    std::string_view line_;
    std::size_t number_ = 0;
    bool is_cut_ = false;
};

}  // namespace

// A pipe can be opened once only.
void require_readable(const std::vector<std::string>& files) {
    for (const auto& file : files) {
        if (file != kStandardInput && ::access(file.c_str(), R_OK) != 0) {
            refuse_file(file);
        }
    }
}

void for_each_line(const std::string& file,
                   const std::function<void(std::size_t line, std::string_view text)>& use,
                   const std::function<void(std::size_t line, const std::string& why)>& refuse) {
    std::ifstream opened;
    if (file != kStandardInput) {
        opened.open(file, std::ios::binary);
        if (!opened) {
            refuse_file(file);
        }
    }
    std::istream& input = file == kStandardInput ? std::cin : opened;
    for (Lines lines(input); lines.next();) {
        if (!lines.is_cut() && lines.line().find_first_not_of(" \t\r") == std::string_view::npos) {
            continue;
        }
        try {
            if (lines.is_cut()) {
                management::refuse("the line is longer than 1 MiB");
            }
            use(lines.number(), lines.line());
        } catch (const management::OperationError& error) {
            refuse(lines.number(), error.what());
        }
    }
    if (input.bad()) {
        throw Failure(ExitStatus::kUsage, "cannot read \"" + file + "\" to its end");
    }
}

void print_refusal(const std::string& file, std::size_t line, const std::string& why) {
    std::cerr << printable(file);
    if (line > 0) {
        std::cerr << ":" << line;
    }
    std::cerr << ": " << printable(why) << '\n';
}

}  // namespace tollgate::cli
