// Is a dependent chain of FMAs slower than one of ADDs or MULs when nothing but the operation differs?
//
// dependent_fma_N, dependent_add_N and dependent_mul_N for each N from 1 to 64. Each step reads the accumulator in
// the first place and one and the same register in the others. What the instruction set doesn't let be equal: an FFMA
// has a third place. It names the same register again, which the hardware reads once.
#include "probe.cuh"

PROBE_BEGIN

struct State {
    float accumulator[1];
    float operand;

    PROBE_INLINE State(unsigned thread, float seed) : operand(probe::multiplier(thread, seed)) {
        probe::start<1>(accumulator, thread, seed);
    }
};

struct Fma {
    static PROBE_INLINE float apply(float x, float operand) { return probe::fma_rn(x, operand, operand); }
};
struct Add {
    static PROBE_INLINE float apply(float x, float operand) { return probe::add_rn(x, operand); }
};
struct Mul {
    static PROBE_INLINE float apply(float x, float operand) { return probe::mul_rn(x, operand); }
};

template <class Operation, int Length> struct Role {
    static PROBE_INLINE void iterate(State& state) {
        probe::RoundRobin<Length, 1>::run(state.accumulator,
                                          [&](float x, auto) { return Operation::apply(x, state.operand); });
    }
    static PROBE_INLINE float result(const State& state) { return state.accumulator[0]; }
};

#define ROLES_OF_LENGTH(N)                 \
    using dependent_fma_##N = Role<Fma, N>; \
    using dependent_add_##N = Role<Add, N>; \
    using dependent_mul_##N = Role<Mul, N>;
PROBE_LENGTHS_1_TO_64(ROLES_OF_LENGTH)
#undef ROLES_OF_LENGTH

PROBE_END
