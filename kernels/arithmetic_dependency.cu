// Does it matter more which operation a chain uses, or whether its steps depend on one another?
//
// Four roles of sixteen steps each, over eight accumulators or over one. The constants differ from step to step: an
// FFMA has room for one immediate, so its other constant has to be moved into a register first, while an FADD takes
// its constant along. That is the difference between the two dependent chains which the experiment is about. With
// eight steps, ptxas has registers for all the constants of a chain and moves them in front of the loop.
#include "probe.cuh"

PROBE_BEGIN

constexpr int steps = 16;
constexpr int accumulators = 8;

template <int Position> constexpr float multiplier = 1.0f + (Position + 1) * 0x1p-23f;
template <int Position> constexpr float addend = 0.55f + Position * 0.1f;

struct State {
    float values[accumulators];

    PROBE_INLINE State(unsigned thread, float seed) { probe::start<accumulators>(values, thread, seed); }
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
        probe::RoundRobin<steps, Accumulators>::run(state.values, Operation{});
    }
    static PROBE_INLINE float result(const State& state) { return probe::sum<Accumulators>(state.values); }
};

using independent_fma = Role<Fma, accumulators>;
using independent_add = Role<Add, accumulators>;
using dependent_fma_chain = Role<Fma, 1>;
using dependent_add_chain = Role<Add, 1>;

PROBE_END
