// From which length on does a chain of FMAs gain from four accumulators?
//
// dependent_fma_N and independent_fma_N for each N from 1 to 64. The accumulators are added up after the timed loop.
#include "probe.cuh"

PROBE_BEGIN

constexpr int most_accumulators = 4;

struct State {
    float accumulators[most_accumulators];
    float multiplier;
    float addend;

    PROBE_INLINE State(unsigned thread, float seed)
        : multiplier(probe::multiplier(thread, seed)), addend(probe::addend(thread, seed)) {
        probe::start<most_accumulators>(accumulators, thread, seed);
    }
};

template <int Length, int Accumulators> struct Role {
    static PROBE_INLINE void iterate(State& state) {
        probe::RoundRobin<Length, Accumulators>::run(
            state.accumulators, [&](float x, auto) { return probe::fma_rn(state.multiplier, x, state.addend); });
    }
    static PROBE_INLINE float result(const State& state) { return probe::sum<Accumulators>(state.accumulators); }
};

template <int Length> using Independent = Role<Length, (Length < most_accumulators ? Length : most_accumulators)>;

#define ROLES_OF_LENGTH(N)               \
    using dependent_fma_##N = Role<N, 1>; \
    using independent_fma_##N = Independent<N>;
PROBE_LENGTHS_1_TO_64(ROLES_OF_LENGTH)
#undef ROLES_OF_LENGTH

PROBE_END
