// What does an iteration of any one shape cost? The kernel of the sweeps.
//
// A role's name says nothing here: its shape is given by settings, all of them numbers.
//   PROBE_OP            0 fma, 1 add, 2 mul, 3 imad (integer multiply-add), 4 iadd (integer addition of three)
//   PROBE_LENGTH        steps in a repetition, 1 to 1,024
//   PROBE_ACCUMULATORS  1 to 16, not more than PROBE_LENGTH; the steps go round them
//   PROBE_TAIL          the accumulators that a remainder leaves short: 0 the last ones, 1 the first ones
//   PROBE_OPERANDS      a step's last operand: 0 a register, 1 a number in the instruction, 2 the parameter `seed`
//   PROBE_REDUCTION     0 none, 1 a sum after the loop, 2 and 3 a sum in each repetition, as a chain or as a tree
//   PROBE_UNROLL        repetitions in an iteration, 1 to 8
#include "probe.cuh"

#include "chain.cuh"

#ifdef PROBE_HOST

extern "C" int probe_reference_settings(const int* settings, int settings_count, unsigned thread_index, float seed,
                                        const unsigned long long* iterations, int count, float* sinks) {
    return chain::reference(settings, settings_count, {thread_index, seed, iterations, count, sinks});
}

#else

PROBE_BEGIN

static_assert(PROBE_LENGTH >= 1 && PROBE_LENGTH <= chain::longest, "PROBE_LENGTH is 1 to 1,024");
static_assert(PROBE_ACCUMULATORS >= 1 && PROBE_ACCUMULATORS <= chain::most_accumulators,
              "PROBE_ACCUMULATORS is 1 to 16");
static_assert(PROBE_ACCUMULATORS <= PROBE_LENGTH, "PROBE_ACCUMULATORS exceeds PROBE_LENGTH: some would be idle");
static_assert(PROBE_UNROLL >= 1 && PROBE_UNROLL <= chain::most_repetitions, "PROBE_UNROLL is 1 to 8");

using State = chain::State<chain::Numbered<PROBE_OP>::type, static_cast<chain::Operands>(PROBE_OPERANDS),
                           PROBE_ACCUMULATORS>;
using PROBE_ROLES = chain::Role<PROBE_LENGTH, PROBE_ACCUMULATORS, static_cast<chain::Tail>(PROBE_TAIL),
                                static_cast<chain::Reduction>(PROBE_REDUCTION), PROBE_UNROLL>;

PROBE_END

#endif
