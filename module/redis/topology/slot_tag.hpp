#pragma once

#include <string>

#include "module/redis/topology/key_slot.hpp"

namespace tollgate::redis {

/// A short hash tag for this slot: key_slot("{" + slot_tag(slot) + "}") is `slot`. Each slot always
/// has the same tag, of digits only. The first call takes some milliseconds.
std::string slot_tag(Slot slot);

}  // namespace tollgate::redis
