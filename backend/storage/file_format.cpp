#include "backend/storage/file_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <vector>

namespace petstore {
namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log, sizes in bytes
constexpr std::size_t kWalHeaderSize = 32;
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::size_t kSaltsSize = 8;
constexpr std::uint32_t kMagic = 0x377f0682;
constexpr std::uint32_t kMinPageSize = 512;
constexpr std::uint32_t kMaxPageSize = 65536;

/// The cumulative checksum over the header and all frames of a WAL.
class Checksum {
  public:
    explicit Checksum(bool big_endian) : big_endian_(big_endian) {}

    void add(Bytes bytes) {
        for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
            first_ += word(bytes, i) + second_;
            second_ += word(bytes, i + 4) + first_;
        }
    }
    bool equals(Bytes bytes, std::size_t offset) const {
        return read_uint32(bytes, offset) == first_ && read_uint32(bytes, offset + 4) == second_;
    }

  private:
    std::uint32_t word(Bytes bytes, std::size_t offset) const {
        std::uint32_t value = 0;
        std::memcpy(&value, &bytes[offset], sizeof value);
        constexpr bool kNativeIsBig = std::endian::native == std::endian::big;
        return big_endian_ == kNativeIsBig ? value : __builtin_bswap32(value);
    }

    bool big_endian_;
    std::uint32_t first_ = 0;
    std::uint32_t second_ = 0;
};

/// Fills `bytes`. False if the file ends before.
bool read_all(std::ifstream& file, std::vector<unsigned char>& bytes) {
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file.gcount() == static_cast<std::streamsize>(bytes.size());
}

}  // namespace

WalContent read_wal(const std::string& path, Bytes first_page) {
    WalContent content;
    std::ifstream file(path, std::ios::binary);
    std::vector<unsigned char> header(kWalHeaderSize);
    if (!file || !read_all(file, header)) {
        return content;
    }
    const std::uint32_t magic = read_uint32(header, 0);
    const std::uint32_t page_size = read_uint32(header, 8);
    Checksum checksum((magic & 1U) != 0);
    checksum.add(Bytes(header).first(24));
    if ((magic & ~1U) != kMagic || page_size < kMinPageSize || page_size > kMaxPageSize ||
        !checksum.equals(header, 24)) {
        return content;
    }
    const Bytes salts = Bytes(header).subspan(16, kSaltsSize);

    // Includes the transaction that is being read, which counts only once it is committed.
    WalContent pending = content;
    std::vector<unsigned char> frame(kFrameHeaderSize + page_size);
    const Bytes page = Bytes(frame).subspan(kFrameHeaderSize);
    while (read_all(file, frame)) {
        checksum.add(Bytes(frame).first(8));
        checksum.add(page);
        if (!std::equal(salts.begin(), salts.end(), frame.begin() + 8) ||
            !checksum.equals(frame, 16)) {
            break;
        }
        if (read_uint32(frame, 0) == 1) {
            if (!pending.first_header) {
                pending.first_header = DatabaseHeader::of(page);
            }
            pending.has_page |=
                std::equal(page.begin(), page.end(), first_page.begin(), first_page.end());
        }
        if (read_uint32(frame, 4) != 0) {  // a commit frame
            pending.has_commits = true;
            content = pending;
            if (content.has_page) {
                break;
            }
        }
    }
    return content;
}

std::string read_wal_header(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string header(kWalHeaderSize, '\0');
    file.read(header.data(), static_cast<std::streamsize>(header.size()));
    header.resize(static_cast<std::size_t>(file.gcount()));
    return header;
}

}  // namespace petstore
