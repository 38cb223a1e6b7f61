// What chain.cu is made of: operations, where their operand comes from, how steps fall to accumulators, how the
// accumulators are summed. The device code unrolls all of it by templates; the CPU reference runs the same operations in
// loops, so that one compilation serves all settings.
#ifndef CHAIN_CUH
#define CHAIN_CUH

#include "probe.cuh"

namespace chain {

constexpr int longest = 1024;
constexpr int most_accumulators = 16;
constexpr int most_repetitions = 8;

enum class Tail { last, first };                         ///< the accumulators that a remainder leaves short
enum class Operands { in_register, immediate, constant };  ///< where a step's last operand comes from
enum class Reduction { none, after, chain, tree };       ///< after the loop, or in each repetition

// ------------------------------------------------------------------------------------------------------- numbers

/// An integer that a float holds exactly, of all 32 bits.
PROBE_INLINE float exact(unsigned bits) { return static_cast<float>((bits ^ bits >> 24) & 0xFFFFFFu); }

PROBE_INLINE unsigned bits_of(float value) {
#ifdef PROBE_HOST
    unsigned bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
#else
    return __float_as_uint(value);
#endif
}
PROBE_INLINE unsigned bits_of(unsigned value) { return value; }

struct Floats {
    using Value = float;
    static PROBE_INLINE float start(unsigned thread, float seed, int slot) {
        // One more than the slot: with `seed` itself as addend, a chain that starts at 1 would swing to zero.
        return probe::start_value(thread, seed, slot + 1);
    }
    static PROBE_INLINE float from_seed(float seed) { return seed; }
    static PROBE_INLINE float add(float a, float b) { return probe::add_rn(a, b); }
    static PROBE_INLINE float sink(float value) { return value; }
};

/// Modulo 2^32, so that every step shows for ever.
struct Integers {
    using Value = unsigned;
    static PROBE_INLINE unsigned start(unsigned thread, float seed, int slot) {
        return (thread * most_accumulators + slot) * 2654435769u + bits_of(seed);
    }
    static PROBE_INLINE unsigned from_seed(float seed) { return bits_of(seed); }
    static PROBE_INLINE unsigned add(unsigned a, unsigned b) {
#ifdef PROBE_HOST
        return a + b;
#else
        // Not an operator: a compiler reassociates sums of integers.
        unsigned sum;
        asm("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
        return sum;
#endif
    }
    static PROBE_INLINE float sink(unsigned value) { return exact(value); }
};

// ---------------------------------------------------------------------------------------------------- operations
// step(x, fixed, operand) is one instruction. `fixed` is always a register; `operand` is what the setting says:
// operand(thread, seed), the number `immediate`, or the kernel's parameter `seed`.

struct Fma : Floats {
    static constexpr float immediate = 0.875f;
    static PROBE_INLINE float fixed(unsigned thread, float seed) { return probe::multiplier(thread, seed); }
    static PROBE_INLINE float operand(unsigned thread, float seed) { return probe::addend(thread, seed); }
    static PROBE_INLINE float step(float x, float fixed, float operand) { return probe::fma_rn(x, fixed, operand); }
};

struct Add : Floats {
    static constexpr float immediate = 0.875f;
    static PROBE_INLINE float fixed(unsigned, float) { return 0.0f; }
    static PROBE_INLINE float operand(unsigned thread, float seed) { return probe::addend(thread, seed); }
    static PROBE_INLINE float step(float x, float, float operand) { return probe::add_rn(x, operand); }
};

struct Mul : Floats {
    static constexpr float immediate = -1.0f - 0x1p-22f;
    static PROBE_INLINE float fixed(unsigned, float) { return 0.0f; }
    static PROBE_INLINE float operand(unsigned thread, float seed) { return probe::multiplier(thread, seed); }
    static PROBE_INLINE float step(float x, float, float operand) { return probe::mul_rn(x, operand); }
};

// Integer steps are assembler: a compiler may multiply x * a * a out, or add a + b once before the loop.

struct Imad : Integers {
    static constexpr unsigned immediate = 1013904223u;
    static PROBE_INLINE unsigned fixed(unsigned thread, float) { return 1664525u + 8 * thread; }
    static PROBE_INLINE unsigned operand(unsigned thread, float) { return 1013904223u + 2 * thread; }
    static PROBE_INLINE unsigned step(unsigned x, unsigned fixed, unsigned operand) {
#ifdef PROBE_HOST
        return x * fixed + operand;
#else
        asm("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(fixed), "r"(operand));
        return x;
#endif
    }
};

/// x + fixed + operand. The third place of IADD3 would otherwise take in the next step's operand; and an addition of
/// two becomes an IADD3 or an IMAD, as ptxas balances its pipes.
struct Iadd : Integers {
    static constexpr unsigned immediate = 1013904223u;
    static PROBE_INLINE unsigned fixed(unsigned thread, float) { return 1664525u + 8 * thread; }
    static PROBE_INLINE unsigned operand(unsigned thread, float) { return 1013904223u + 6 * thread; }
    static PROBE_INLINE unsigned step(unsigned x, unsigned fixed, unsigned operand) {
#ifdef PROBE_HOST
        return x + fixed + operand;
#else
        asm("{\n.reg .u32 sum;\nadd.u32 sum, %0, %1;\nadd.u32 %0, sum, %2;\n}" : "+r"(x) : "r"(fixed), "r"(operand));
        return x;
#endif
    }
};

/// The operation of a number of the setting PROBE_OP.
template <int Number> struct Numbered;
template <> struct Numbered<0> { using type = Fma; };
template <> struct Numbered<1> { using type = Add; };
template <> struct Numbered<2> { using type = Mul; };
template <> struct Numbered<3> { using type = Imad; };
template <> struct Numbered<4> { using type = Iadd; };
constexpr int operations = 5;

/// A step's last operand before the loop.
template <class Operation>
PROBE_INLINE typename Operation::Value operand(Operands form, unsigned thread, float seed) {
    if (form == Operands::immediate) return Operation::immediate;
    if (form == Operands::constant) return Operation::from_seed(seed);
    return Operation::operand(thread, seed);
}

/// The seed of everything else. A parameter with other uses than as an operand would be loaded into a register, and
/// the operand be read from there.
PROBE_INLINE float other_seed(Operands form, float seed) { return form == Operands::constant ? 1.0f : seed; }

/// What the sink is without a reduction: of all accumulators, by integer arithmetic after the loop.
PROBE_INLINE unsigned mixed(unsigned earlier, unsigned bits) { return earlier * 2654435761u + bits; }

#ifndef PROBE_HOST
// -------------------------------------------------------------------------------------------------------- device

template <class Op, Operands Form, int Accumulators> struct State {
    using Operation = Op;
    using Value = typename Operation::Value;
    Value accumulators[Accumulators];
    Value fixed;
    Value operand;
    Value sum = 0;

    PROBE_INLINE State(unsigned thread, float seed)
        : State(thread, seed, std::make_integer_sequence<int, Accumulators>{}) {}

private:
    template <int... Slots>
    PROBE_INLINE State(unsigned thread, float seed, std::integer_sequence<int, Slots...>)
        : accumulators{Operation::start(thread, other_seed(Form, seed), Slots)...},
          fixed(Operation::fixed(thread, other_seed(Form, seed))),
          operand(chain::operand<Operation>(Form, thread, seed)) {}
};

/// Left to right, or as a balanced tree.
template <bool Tree, class Operation, int First, int Count>
PROBE_INLINE typename Operation::Value sum(const typename Operation::Value* values) {
    if constexpr (Count == 1) {
        return values[First];
    } else {
        constexpr int left = !Tree ? Count - 1 : Count > 8 ? 8 : Count > 4 ? 4 : Count > 2 ? 2 : 1;
        return Operation::add(sum<Tree, Operation, First, left>(values),
                              sum<Tree, Operation, First + left, Count - left>(values));
    }
}

template <int Length, int Accumulators, Tail Short, Reduction Sum, int Repetitions> struct Role {
    template <class State> static PROBE_INLINE void iterate(State& state) {
        repeat(state, std::make_integer_sequence<int, Repetitions>{});
    }

    template <class State> static PROBE_INLINE float result(const State& state) {
        using Operation = typename State::Operation;
        if constexpr (Sum == Reduction::none) {
            return exact(all(state, std::make_integer_sequence<int, Accumulators>{}));
        } else if constexpr (Sum == Reduction::after) {
            return Operation::sink(sum<false, Operation, 0, Accumulators>(state.accumulators));
        } else {
            return Operation::sink(state.sum);
        }
    }

private:
    template <class State, int... Numbers>
    static PROBE_INLINE void repeat(State& state, std::integer_sequence<int, Numbers...>) {
        (((void)Numbers, once(state, std::make_integer_sequence<int, Length>{})), ...);
    }

    template <class State, int... Positions>
    static PROBE_INLINE void once(State& state, std::integer_sequence<int, Positions...>) {
        constexpr int remainder = Length % Accumulators;
        constexpr int skipped = Short == Tail::first && remainder ? Accumulators - remainder : 0;
        (step<Positions % Accumulators + (Positions < Length - remainder ? 0 : skipped)>(state), ...);
        if constexpr (Sum == Reduction::chain || Sum == Reduction::tree) {
            using Operation = typename State::Operation;
            state.sum = Operation::add(
                state.sum, sum<Sum == Reduction::tree, Operation, 0, Accumulators>(state.accumulators));
        }
    }

    template <int Slot, class State> static PROBE_INLINE void step(State& state) {
        state.accumulators[Slot] = State::Operation::step(state.accumulators[Slot], state.fixed, state.operand);
    }

    template <class State, int... Slots>
    static PROBE_INLINE unsigned all(const State& state, std::integer_sequence<int, Slots...>) {
        unsigned bits = 0;
        ((bits = mixed(bits, bits_of(state.accumulators[Slots]))), ...);
        return bits;
    }
};

#else
// ---------------------------------------------------------------------------------------------------------- host

/// The settings as numbers, in the alphabetical order of their names.
struct Settings {
    int accumulators;
    int length;
    int operation;
    Operands operands;
    Reduction reduction;
    Tail tail;
    int repetitions;

    static constexpr int count = 7;

    explicit Settings(const int* settings)
        : accumulators(settings[0]),
          length(settings[1]),
          operation(settings[2]),
          operands(static_cast<Operands>(settings[3])),
          reduction(static_cast<Reduction>(settings[4])),
          tail(static_cast<Tail>(settings[5])),
          repetitions(settings[6]) {}

    bool valid() const {
        return within(accumulators, 1, most_accumulators) && within(length, 1, longest) &&
               within(operation, 0, operations - 1) && within(static_cast<int>(operands), 0, 2) &&
               within(static_cast<int>(reduction), 0, 3) && within(static_cast<int>(tail), 0, 1) &&
               within(repetitions, 1, most_repetitions);
    }

private:
    static bool within(int value, int least, int most) { return value >= least && value <= most; }
};

/// A launch's thread and the iterations after which its sink is wanted.
struct Request {
    unsigned thread;
    float seed;
    const unsigned long long* iterations;
    int count;
    float* sinks;
};

/// Accumulators are independent of each other, so a round of them is one loop over Lanes, which may exceed them.
template <class Operation, int Lanes> struct Reference {
    using Value = typename Operation::Value;

    static PROBE_INLINE void run(const Settings& settings, const Request& request) {
        const float seed = other_seed(settings.operands, request.seed);
        const Value fixed = Operation::fixed(request.thread, seed);
        const Value operand = chain::operand<Operation>(settings.operands, request.thread, request.seed);
        const int rounds = settings.length / settings.accumulators;
        const int remainder = settings.length % settings.accumulators;
        const bool summing = settings.reduction == Reduction::chain || settings.reduction == Reduction::tree;
        Value values[Lanes];
        bool steps_once_more[Lanes];
        for (int slot = 0; slot < Lanes; ++slot) {
            values[slot] = Operation::start(request.thread, seed, slot);
            steps_once_more[slot] =
                settings.tail == Tail::last ? slot < remainder : slot >= settings.accumulators - remainder;
        }
        Value sum = 0;
        unsigned long long done = 0;
        for (int i = 0; i < request.count; ++i) {
            for (unsigned long long end = request.iterations[i]; done < end; ++done) {
                for (int repetition = 0; repetition < settings.repetitions; ++repetition) {
                    for (int round = 0; round < rounds; ++round) {
                        for (int slot = 0; slot < Lanes; ++slot) {
                            values[slot] = Operation::step(values[slot], fixed, operand);
                        }
                    }
                    if (remainder) {
                        for (int slot = 0; slot < Lanes; ++slot) {
                            const Value next = Operation::step(values[slot], fixed, operand);
                            values[slot] = steps_once_more[slot] ? next : values[slot];
                        }
                    }
                    if (summing) sum = Operation::add(sum, sum_of(values, settings));
                }
            }
            request.sinks[i] = sink(values, sum, settings);
        }
    }

private:
    static PROBE_INLINE Value sum_of(const Value* values, const Settings& settings) {
        if (settings.reduction != Reduction::tree) {
            Value sum = values[0];
            for (int slot = 1; slot < settings.accumulators; ++slot) sum = Operation::add(sum, values[slot]);
            return sum;
        }
        Value sums[Lanes];
        for (int slot = 0; slot < Lanes; ++slot) sums[slot] = values[slot];
        for (int stride = 1; stride < settings.accumulators; stride *= 2) {
            for (int slot = 0; slot + stride < settings.accumulators; slot += 2 * stride) {
                sums[slot] = Operation::add(sums[slot], sums[slot + stride]);
            }
        }
        return sums[0];
    }

    static PROBE_INLINE float sink(const Value* values, Value sum, const Settings& settings) {
        if (settings.reduction == Reduction::none) {
            unsigned bits = 0;
            for (int slot = 0; slot < settings.accumulators; ++slot) bits = mixed(bits, bits_of(values[slot]));
            return exact(bits);
        }
        return Operation::sink(settings.reduction == Reduction::after ? sum_of(values, settings) : sum);
    }
};

template <class Operation> PROBE_INLINE void run(const Settings& settings, const Request& request) {
    if (settings.accumulators == 1) return Reference<Operation, 1>::run(settings, request);
    if (settings.accumulators <= 4) return Reference<Operation, 4>::run(settings, request);
    if (settings.accumulators <= 8) return Reference<Operation, 8>::run(settings, request);
    return Reference<Operation, most_accumulators>::run(settings, request);
}

template <class Operation> void portable(const Settings& settings, const Request& request) {
    run<Operation>(settings, request);
}

#ifdef PROBE_TARGET_FMA
template <class Operation> PROBE_TARGET_FMA void fused(const Settings& settings, const Request& request) {
    run<Operation>(settings, request);
}

template <class Operation> void run_on_this_cpu(const Settings& settings, const Request& request) {
    (__builtin_cpu_supports("fma") ? fused<Operation> : portable<Operation>)(settings, request);
}
#else
template <class Operation> void run_on_this_cpu(const Settings& settings, const Request& request) {
    portable<Operation>(settings, request);
}
#endif

inline int reference(const int* numbers, int settings_count, const Request& request) {
    if (settings_count != Settings::count) return probe::no_such_role;
    const Settings settings(numbers);
    if (!settings.valid()) return probe::no_such_role;
    for (int i = 1; i < request.count; ++i) {
        if (request.iterations[i] < request.iterations[i - 1]) return probe::counts_not_ascending;
    }
    using Run = void (*)(const Settings&, const Request&);
    const Run runs[operations] = {run_on_this_cpu<Fma>, run_on_this_cpu<Add>, run_on_this_cpu<Mul>,
                                  run_on_this_cpu<Imad>, run_on_this_cpu<Iadd>};
    runs[settings.operation](settings, request);
    return probe::ok;
}

#endif
}  // namespace chain

#endif  // CHAIN_CUH
