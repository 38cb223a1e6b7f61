// Why did seven dependent FMAs outrun the same seven over four accumulators?
//
// Each role spreads its steps differently over the accumulators and adds them all to the sink in every iteration, so
// that more accumulators also mean a longer reduction.
#include "probe.cuh"

PROBE_BEGIN

struct State {
    float accumulators[7];
    float multiplier;
    float addend;
    float sink = 0.0f;

    PROBE_INLINE State(unsigned thread, float seed)
        : multiplier(probe::multiplier(thread, seed)), addend(probe::addend(thread, seed)) {
        probe::start<7>(accumulators, thread, seed);
    }
};

template <class Chain, int Accumulators> struct Role {
    static PROBE_INLINE void iterate(State& state) {
        Chain::run(state.accumulators, [&](float x, auto) { return probe::fma_rn(state.multiplier, x, state.addend); });
        state.sink = probe::add_rn(state.sink, probe::sum<Accumulators>(state.accumulators));
    }
    static PROBE_INLINE float result(const State& state) { return state.sink; }
};

template <int Length, int Accumulators> using Balanced = Role<probe::RoundRobin<Length, Accumulators>, Accumulators>;

using dependent_fma_7 = Balanced<7, 1>;
using independent_fma_7_2acc_4_3 = Balanced<7, 2>;
using independent_fma_7_3acc_3_2_2 = Balanced<7, 3>;
using independent_fma_7_4acc_tail_a3_missing = Role<probe::Chain<0, 1, 2, 3, 0, 1, 2>, 4>;
using independent_fma_7_4acc_tail_a0_missing = Role<probe::Chain<0, 1, 2, 3, 1, 2, 3>, 4>;
using independent_fma_7_7acc_once = Balanced<7, 7>;
using dependent_fma_8 = Balanced<8, 1>;
using independent_fma_8_4acc_balanced = Balanced<8, 4>;

PROBE_END
