#pragma once

#include <istream>
#include <string>

namespace tollgate {

/// Reads the first line of a file, without its end: LF, or CR LF. Empty if it cannot be read.
inline std::string first_line(std::istream& file) {
    std::string line;
    std::getline(file, line);
    if (!line.empty() && line.back() == '\r') {
        line.pop_back();
    }
    return line;
}

}  // namespace tollgate
