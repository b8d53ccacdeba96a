#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <string>

namespace tollgate {

/// Why a file does not keep a secret, as the predicate of a sentence whose subject is the file: its
/// mode lets every user of the machine read it or write to it. Empty if the mode does not, and for
/// what is no regular file, such as a pipe.
inline std::string exposure_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_mode & (S_IROTH | S_IWOTH)) == 0) {
        return {};
    }
    constexpr mode_t kModeBits = 07777;
    std::array<char, 8> mode{};
    static_cast<void>(std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & kModeBits));
    return std::string("has the mode ") + mode.data() + ", so every user of this machine can " +
           ((status.st_mode & S_IWOTH) != 0 ? "change it" : "read it") + ": chmod 600";
}

}  // namespace tollgate
