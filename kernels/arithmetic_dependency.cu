// Does it matter more which operation a chain uses, or whether its steps depend on one another?
//
// Four roles of eight steps each. The constants differ from step to step: an FFMA has room for one immediate, so its
// other constant has to be moved into a register first, while an FADD takes its constant along. That is the
// difference between the two dependent chains which the experiment is about.
#include "probe.cuh"

PROBE_BEGIN

constexpr int steps = 8;

template <int Position> constexpr float multiplier = 1.0f + (Position + 1) * 0x1p-23f;
template <int Position> constexpr float addend = 0.55f + Position * 0.1f;

struct State {
    float accumulators[steps];

    PROBE_INLINE State(unsigned thread, float seed) { probe::start<steps>(accumulators, thread, seed); }
};

struct Fma {
    template <class Position> PROBE_INLINE float operator()(float x, Position) const {
        return probe::fma_rn(x, multiplier<Position::value>, addend<Position::value>);
    }
};

struct Add {
    template <class Position> PROBE_INLINE float operator()(float x, Position) const {
        return probe::add_rn(x, addend<Position::value>);
    }
};

template <class Operation, int Accumulators> struct Role {
    static PROBE_INLINE void iterate(State& state) {
        probe::RoundRobin<steps, Accumulators>::run(state.accumulators, Operation{});
    }
    static PROBE_INLINE float result(const State& state) { return probe::sum<Accumulators>(state.accumulators); }
};

using independent_fma = Role<Fma, steps>;
using independent_add = Role<Add, steps>;
using dependent_fma_chain = Role<Fma, 1>;
using dependent_add_chain = Role<Add, 1>;

PROBE_END
