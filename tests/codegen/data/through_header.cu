// A chain whose number of accumulators comes from the exported header; the test adds one KERNEL line per question.
#include "probelab_accumulators.hpp"

template <int Step, int Length, int Count>
__device__ __forceinline__ void chain(float (&sums)[Count], float m, float b) {
    if constexpr (Step < Length) {
        sums[Step % Count] = __fmaf_rn(sums[Step % Count], m, b);
        chain<Step + 1, Length, Count>(sums, m, b);
    }
}

template <int Length, int Count>
__device__ __forceinline__ void timed(unsigned long long* progress, float* sink, unsigned long long budget, float m,
                                      float b) {
    float sums[Count];
    for (int slot = 0; slot < Count; ++slot) sums[slot] = threadIdx.x + slot;
    unsigned iterations = 0;
    const unsigned long long start = clock64();
    const unsigned long long deadline = start + budget;
#pragma unroll 1
    while (static_cast<unsigned long long>(clock64()) < deadline) {
        chain<0, Length, Count>(sums, m, b);
        ++iterations;
    }
    progress[2 * threadIdx.x + 1] = clock64() - start;
    float sum = 0;
    for (int slot = 0; slot < Count; ++slot) sum += sums[slot];
    sink[threadIdx.x] = sum;
    progress[2 * threadIdx.x] = iterations;
}

#define KERNEL(LENGTH, WARPS)                                                                              \
    extern "C" __global__ void fma_##LENGTH##_at_##WARPS(unsigned long long* progress, float* sink,        \
                                                         unsigned long long budget, float m, float b) {    \
        constexpr int count =                                                                              \
            probelab::accumulators(LENGTH, probelab::Op::fma, probelab::Reduction::none, WARPS, 90);       \
        timed<LENGTH, count>(progress, sink, budget, m, b);                                                \
    }

