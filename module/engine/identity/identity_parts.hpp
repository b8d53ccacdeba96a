#pragma once

#include "module/engine/engine_context.hpp"
#include "module/engine/identity/change_tracker.hpp"
#include "module/engine/identity/key_lookups.hpp"
#include "module/engine/identity/key_uses.hpp"
#include "module/engine/identity/known_keys.hpp"
#include "module/engine/identity/known_values.hpp"
#include "module/engine/quota/slices.hpp"

namespace tollgate::engine {

/// What a worker has to tell whose request it is, by the records of keys in one Redis.
struct IdentityParts {
    /// The arguments must outlive it. The slices are those of the keys that it knows.
    IdentityParts(EngineContext& of_all, Slices& of_known) : context(of_all), slices(of_known) {}
    /// Returns all units of the slices, whose quotas end with the known keys.
    ~IdentityParts() { slices.shut_down(); }
    IdentityParts(const IdentityParts&) = delete;
    IdentityParts& operator=(const IdentityParts&) = delete;

    EngineContext& context;
    Slices& slices;
    KeyLookups lookups{context};
    KnownKeys known_keys;
    KnownValues known_values;
    KeyUses uses{context};
    ChangeTracker changes{context};
};

}  // namespace tollgate::engine
