#pragma once

#include "module/engine/engine_context.hpp"
#include "module/engine/quota/acquire_batcher.hpp"
#include "module/engine/quota/settlement.hpp"
#include "module/engine/quota/slices.hpp"

namespace tollgate::engine {

/// What a worker has to decide by the quotas in one Redis: how much a key may use.
struct QuotaParts : private Pinned {
    /// The context must outlive it.
    explicit QuotaParts(EngineContext& of_all) : context(of_all) {}

    EngineContext& context;
    AcquireBatcher acquires{context, settlement};
    Settlement settlement{context, acquires, slices};
    Slices slices{context, settlement};
};

}  // namespace tollgate::engine
