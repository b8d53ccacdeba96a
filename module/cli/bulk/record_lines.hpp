#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "module/management/stored_key.hpp"

namespace tollgate::cli {

/// Throws Failure unless each file can be read; `-` is standard input. A name that is mistyped must
/// not be found after the records of other files are stored.
void require_readable(const std::vector<std::string>& files);

/// Reads the lines of a file, or of standard input if its name is `-`. `use` receives the number of
/// each line, from 1, and its text, unless it is blank. What it throws as OperationError, and a
/// line of more than 1 MiB, is refused. Throws Failure if the file cannot be read.
void for_each_line(const std::string& file,
                   const std::function<void(std::size_t line, std::string_view text)>& use,
                   const std::function<void(std::size_t line, const std::string& why)>& refuse);

/// Prints to standard error why a line is refused; 0: why what `file` names is refused.
void print_refusal(const std::string& file, std::size_t line, const std::string& why);

}  // namespace tollgate::cli
