#include "module/store/id_hash.hpp"

#include <algorithm>

#include "module/key/digest.hpp"

namespace tollgate {

IdHash id_hash(std::string_view id) {
    const Sha256 digest = sha256(id);
    IdHash hash{};
    std::copy_n(digest.begin(), hash.size(), hash.begin());
    return hash;
}

}  // namespace tollgate
