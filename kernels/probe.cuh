// What every probe shares: the record a warp leaves behind, the timed loop, the two ways to select a role, chains
// with explicit unrolling, and the CPU reference of the sink. docs/kernels.md says how a probe uses it.
//
// The first part is guarded. The second is read at each inclusion, because one translation unit may hold many
// variants of a probe, each under its own PROBE_* settings.
#ifndef PROBE_CUH
#define PROBE_CUH

#include <utility>

#ifdef PROBE_HOST
// Everything has to end up inside the reference loops below, which differ in their instruction set.
#define PROBE_INLINE inline __attribute__((always_inline))
#else
#define PROBE_INLINE __device__ __forceinline__
#endif

/// One per warp, at blockIdx.x * warps_per_block + warp_slot. The harness reads it byte for byte.
struct ProbeRecord {
    unsigned long long progress;  ///< iterations of the timed loop that fitted into the clock budget
    unsigned long long cycles;    ///< clock64 after the timed loop minus clock64 before it
    float sink;                   ///< lane 0's result, compared with the CPU reference
    unsigned role;                ///< index into PROBE_ROLES
    unsigned warp_slot;
    unsigned block;
    unsigned sm_id;
    unsigned reserved;
};
static_assert(sizeof(ProbeRecord) == 40, "the harness reads 40 bytes per warp");

/// The role of each warp slot of a block, as an index into PROBE_ROLES. A block has at most 32 warps.
struct RoleMap {
    unsigned char role[32];
};
static_assert(sizeof(RoleMap) == 32, "the harness passes 32 bytes");

namespace probe {

// ---------------------------------------------------------------------------------------------------- arithmetic
// Never operators: a compiler may contract a * b + c and, with fast math, reassociate sums.

#ifdef PROBE_HOST
PROBE_INLINE float fma_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PROBE_INLINE float add_rn(float a, float b) { return a + b; }
PROBE_INLINE float mul_rn(float a, float b) { return a * b; }
#else
PROBE_INLINE float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
PROBE_INLINE float add_rn(float a, float b) { return __fadd_rn(a, b); }
PROBE_INLINE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
#endif

// --------------------------------------------------------------------------------------------------------- seeds
// All of them depend on the thread, or the compiler would fold them or keep them in uniform registers, and the
// operand form under test would be another. `seed` belongs in [0.5, 2].

/// Differs for each thread and slot; between slot + 1 and slot + 3.
PROBE_INLINE float start_value(unsigned thread, float seed, int slot) {
    return fma_rn(static_cast<float>(thread), mul_rn(seed, 0x1p-10f), static_cast<float>(slot + 1));
}

/// A few units in the last place below -1. x * multiplier + b swings around b / 2, and a little wider with every step:
/// each step shows in the sink, and so does which accumulator it went to, while overflow is some 10^8 cycles away.
PROBE_INLINE float multiplier(unsigned thread, float seed) {
    return fma_rn(static_cast<float>(thread + 1024), mul_rn(seed, -0x1p-32f), -1.0f);
}

/// Between 0.75 and 1: smaller than every start value, so that no chain swings through zero.
PROBE_INLINE float addend(unsigned thread, float seed) {
    return fma_rn(static_cast<float>(thread + 1), mul_rn(seed, 0x1p-13f), 0.75f);
}

// -------------------------------------------------------------------------------------------------------- chains
// Unrolled by templates, not by a pragma: variants must differ in their shape and in nothing that a compiler chose.

template <int Value> struct Constant {
    static constexpr int value = Value;
};

template <int Count> PROBE_INLINE void start(float* accumulators, unsigned thread, float seed) {
    if constexpr (Count > 0) {
        start<Count - 1>(accumulators, thread, seed);
        accumulators[Count - 1] = start_value(thread, seed, Count - 1);
    }
}

/// Left to right, so that the order of rounding is fixed.
template <int Count> PROBE_INLINE float sum(const float* accumulators) {
    if constexpr (Count == 1) {
        return accumulators[0];
    } else {
        return add_rn(sum<Count - 1>(accumulators), accumulators[Count - 1]);
    }
}

/// Runs `step(accumulator, position)` for each position in turn; Slots names the accumulator that it updates.
template <int... Slots> struct Chain {
    template <class Step> static PROBE_INLINE void run(float* accumulators, Step step) {
        run(accumulators, step, std::make_integer_sequence<int, sizeof...(Slots)>{});
    }

    template <class Step, int... Positions>
    static PROBE_INLINE void run(float* accumulators, Step step, std::integer_sequence<int, Positions...>) {
        ((accumulators[Slots] = step(accumulators[Slots], Constant<Positions>{})), ...);
    }
};

/// The steps go round the accumulators; a remainder falls to the first ones.
template <int Accumulators, class Positions> struct GoRound;
template <int Accumulators, int... Positions>
struct GoRound<Accumulators, std::integer_sequence<int, Positions...>> : Chain<(Positions % Accumulators)...> {};
template <int Length, int Accumulators>
using RoundRobin = GoRound<Accumulators, std::make_integer_sequence<int, Length>>;

// --------------------------------------------------------------------------------------------------------- roles
// A probe defines one State, seeded by State(thread, seed), and roles with
//     static void iterate(State&)             the body of the timed loop
//     static float result(const State&)       the sink, after the loop

template <class Role> struct Selected {
    using type = Role;
};

#ifdef PROBE_HOST

using Reference = void (*)(unsigned thread, float seed, const unsigned long long* iterations, int count, float* sinks);

template <class State, class Role>
PROBE_INLINE void reference(unsigned thread, float seed, const unsigned long long* iterations, int count,
                            float* sinks) {
    State state(thread, seed);
    unsigned long long done = 0;
    for (int i = 0; i < count; ++i) {
        for (; done < iterations[i]; ++done) Role::iterate(state);
        sinks[i] = Role::result(state);
    }
}

template <class State, class Role>
void portable_reference(unsigned thread, float seed, const unsigned long long* iterations, int count, float* sinks) {
    reference<State, Role>(thread, seed, iterations, count, sinks);
}

// A compiler for plain x86-64 calls a library function for each fused operation, 20 times slower.
#if (defined(__x86_64__) || defined(__i386__)) && !defined(PROBE_WITHOUT_FMA)
#define PROBE_TARGET_FMA __attribute__((target("fma")))
#endif

#ifdef PROBE_TARGET_FMA
template <class State, class Role>
PROBE_TARGET_FMA void fused_reference(unsigned thread, float seed, const unsigned long long* iterations, int count,
                                      float* sinks) {
    reference<State, Role>(thread, seed, iterations, count, sinks);
}

template <class State, class Role> Reference reference_for_this_cpu() {
    return __builtin_cpu_supports("fma") ? fused_reference<State, Role> : portable_reference<State, Role>;
}
#else
template <class State, class Role> Reference reference_for_this_cpu() { return portable_reference<State, Role>; }
#endif

enum Outcome { ok = 0, no_such_role = 1, counts_not_ascending = 2 };

template <class State, class... Roles>
int run_reference(int role_index, unsigned thread, float seed, const unsigned long long* iterations, int count,
                  float* sinks) {
    if (role_index < 0 || role_index >= static_cast<int>(sizeof...(Roles))) return no_such_role;
    for (int i = 1; i < count; ++i) {
        if (iterations[i] < iterations[i - 1]) return counts_not_ascending;
    }
    const Reference references[] = {reference_for_this_cpu<State, Roles>()...};
    references[role_index](thread, seed, iterations, count, sinks);
    return ok;
}

#else

struct Timing {
    unsigned long long progress;
    unsigned long long cycles;
};

/// The loop looks for a deadline instead of subtracting its start: for the carry of a 64-bit subtraction ptxas takes
/// one pipe or another, depending on what the role leaves free, and the roles' loops would differ in more than the
/// role. The counter has 32 bits: 64 would bring that carry back.
template <class Body> PROBE_INLINE Timing timed_loop(unsigned long long clock_budget_cycles, Body body) {
    unsigned progress = 0;
    const unsigned long long start = clock64();
    const unsigned long long deadline = start + clock_budget_cycles;
#pragma unroll 1
    while (static_cast<unsigned long long>(clock64()) < deadline) {
        body();
        ++progress;
    }
    const unsigned long long end = clock64();
    return {progress, end - start};
}

template <int Number, int Count> PROBE_INLINE void pin_floats(float* values) {
    if constexpr (Count > 0) {
        asm volatile("// %1" : "+f"(values[Count - 1]) : "n"(Number));
        pin_floats<Number, Count - 1>(values);
    }
}

/// Keeps a role's instructions inside its own branch: roles that begin or end alike would otherwise share those
/// instructions in front of it or behind it. No code comes of it; the number makes each occurrence unlike all others.
template <int Number, class State> PROBE_INLINE void pin(State& state) {
    static_assert(sizeof(State) % sizeof(float) == 0, "a State consists of floats");
    pin_floats<Number, sizeof(State) / sizeof(float)>(reinterpret_cast<float*>(&state));
}

/// Calls `action` with the role of that index: one compare and branch per role, in their order; the last role is what
/// remains. The empty asm hides from the compiler that each rung, and each iteration, looks at the same value; it
/// would otherwise make a jump table of the ladder, or take it out of the loop.
template <int Index, class Role, class... Others, class State, class Action>
PROBE_INLINE void select(unsigned role, State& state, Action action) {
    if constexpr (sizeof...(Others) > 0) {
        asm volatile("" : "+r"(role));
#if __CUDA_ARCH__ >= 1000
        // From here on ptxas makes a jump table of compares for equality by itself.
        const bool another = role > Index;
#else
        const bool another = role != Index;
#endif
        if (another) return select<Index + 1, Others...>(role, state, action);
    }
    pin<2 * Index>(state);
    action(Selected<Role>{});
    pin<2 * Index + 1>(state);
}

/// All warps run the one role.
struct Isolated {
    template <class State, class... Roles>
    static PROBE_INLINE Timing run(unsigned, unsigned long long clock_budget_cycles, State& state, float& sink) {
        static_assert(sizeof...(Roles) == 1,
                      "several roles need PROBE_DISPATCH_IN_LOOP or PROBE_DISPATCH_HOISTED");
        return run_one<State, Roles...>(clock_budget_cycles, state, sink);
    }

    template <class State, class Role>
    static PROBE_INLINE Timing run_one(unsigned long long clock_budget_cycles, State& state, float& sink) {
        const Timing timing = timed_loop(clock_budget_cycles, [&] { Role::iterate(state); });
        sink = Role::result(state);
        return timing;
    }
};

/// The role is selected in each iteration of the timed loop.
struct InLoop {
    template <class State, class... Roles>
    static PROBE_INLINE Timing run(unsigned role, unsigned long long clock_budget_cycles, State& state, float& sink) {
        static_assert(sizeof...(Roles) > 1, "a choice needs two roles; in nvcc's -DPROBE_ROLES, commas are written \\,");
        const Timing timing = timed_loop(clock_budget_cycles, [&] {
            select<0, Roles...>(role, state, [&](auto selected) { decltype(selected)::type::iterate(state); });
        });
        select<0, Roles...>(role, state, [&](auto selected) { sink = decltype(selected)::type::result(state); });
        return timing;
    }
};

/// The role is selected once; each has a timed loop of its own.
struct Hoisted {
    template <class State, class... Roles>
    static PROBE_INLINE Timing run(unsigned role, unsigned long long clock_budget_cycles, State& state, float& sink) {
        static_assert(sizeof...(Roles) > 1, "a choice needs two roles; in nvcc's -DPROBE_ROLES, commas are written \\,");
        Timing timing;
        select<0, Roles...>(role, state, [&](auto selected) {
            timing = Isolated::run_one<State, typename decltype(selected)::type>(clock_budget_cycles, state, sink);
        });
        return timing;
    }
};

PROBE_INLINE unsigned warp_slot() { return threadIdx.x / 32; }

template <class State, class Dispatch, class... Roles>
PROBE_INLINE void run(ProbeRecord* records, unsigned long long clock_budget_cycles, float seed, unsigned role) {
    State state(threadIdx.x, seed);
    float sink;
    const Timing timing = Dispatch::template run<State, Roles...>(role, clock_budget_cycles, state, sink);
    if (threadIdx.x % 32 == 0) {
        unsigned sm_id;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm_id));
        const unsigned warps_per_block = (blockDim.x + 31) / 32;
        records[blockIdx.x * warps_per_block + warp_slot()] = {timing.progress, timing.cycles, sink,  role,
                                                               warp_slot(),     blockIdx.x,    sm_id, 0};
    }
}

#endif
}  // namespace probe

/// Declares the roles of a family for each chain length.
#define PROBE_LENGTHS_1_TO_64(ROLES)                                                        \
    ROLES(1) ROLES(2) ROLES(3) ROLES(4) ROLES(5) ROLES(6) ROLES(7) ROLES(8)                 \
    ROLES(9) ROLES(10) ROLES(11) ROLES(12) ROLES(13) ROLES(14) ROLES(15) ROLES(16)          \
    ROLES(17) ROLES(18) ROLES(19) ROLES(20) ROLES(21) ROLES(22) ROLES(23) ROLES(24)         \
    ROLES(25) ROLES(26) ROLES(27) ROLES(28) ROLES(29) ROLES(30) ROLES(31) ROLES(32)         \
    ROLES(33) ROLES(34) ROLES(35) ROLES(36) ROLES(37) ROLES(38) ROLES(39) ROLES(40)         \
    ROLES(41) ROLES(42) ROLES(43) ROLES(44) ROLES(45) ROLES(46) ROLES(47) ROLES(48)         \
    ROLES(49) ROLES(50) ROLES(51) ROLES(52) ROLES(53) ROLES(54) ROLES(55) ROLES(56)         \
    ROLES(57) ROLES(58) ROLES(59) ROLES(60) ROLES(61) ROLES(62) ROLES(63) ROLES(64)

#define PROBE_JOIN_(left, right) left##right
#define PROBE_JOIN(left, right) PROBE_JOIN_(left, right)

#endif  // PROBE_CUH

// ------------------------------------------------------------------------------------------------- per inclusion
// A probe is PROBE_BEGIN, its State and roles, PROBE_END. Both read the settings of this inclusion.

#undef PROBE_BEGIN
#undef PROBE_END
#undef PROBE_DISPATCH

#if !defined(PROBE_ROLES) && !defined(PROBE_HOST)
#error "PROBE_ROLES is not set: the roles of this variant, separated by commas"
#endif

#ifdef PROBE_HOST

#define PROBE_BEGIN namespace {
#define PROBE_END                                                                                                \
    }                                                                                                            \
    extern "C" int probe_reference(int role_index, unsigned thread_index, float seed,                            \
                                   const unsigned long long* iterations, int count, float* sinks) {              \
        return probe::run_reference<State, PROBE_ROLES>(role_index, thread_index, seed, iterations, count, sinks); \
    }

#else

#ifndef PROBE_NAME
#error "PROBE_NAME is not set: the name of this variant's kernel"
#endif
#if defined(PROBE_DISPATCH_IN_LOOP) && defined(PROBE_DISPATCH_HOISTED)
#error "PROBE_DISPATCH_IN_LOOP and PROBE_DISPATCH_HOISTED exclude each other"
#endif

// The namespace keeps this inclusion's roles apart from those of the next.
#define PROBE_BEGIN namespace PROBE_JOIN(variant_, PROBE_NAME) {

#if defined(PROBE_DISPATCH_IN_LOOP)
#define PROBE_DISPATCH probe::InLoop
#elif defined(PROBE_DISPATCH_HOISTED)
#define PROBE_DISPATCH probe::Hoisted
#endif

#ifdef PROBE_DISPATCH
#define PROBE_END                                                                                                   \
    extern "C" __global__ void PROBE_NAME(ProbeRecord* records, unsigned long long clock_budget_cycles, float seed, \
                                          const __grid_constant__ RoleMap role_map) {                               \
        probe::run<State, PROBE_DISPATCH, PROBE_ROLES>(records, clock_budget_cycles, seed,                          \
                                                       role_map.role[probe::warp_slot()]);                          \
    }                                                                                                               \
    }
#else
#define PROBE_END                                                                                                   \
    extern "C" __global__ void PROBE_NAME(ProbeRecord* records, unsigned long long clock_budget_cycles,             \
                                          float seed) {                                                             \
        probe::run<State, probe::Isolated, PROBE_ROLES>(records, clock_budget_cycles, seed, 0);                     \
    }                                                                                                               \
    }
#endif

#endif
