// Code whose listing has the operands that break readers: register tuples, descriptors, not-a-number
// immediates, calls, uniform branches, scoreboard waits, half precision, votes and shuffles.
#include <cuda_fp16.h>

extern "C" __global__ void tuples(const float4* in, float4* out, const double2* wide, double* sums, long long scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 value = in[i];
    const double2 pair = wide[i];
    value.x = fabsf(value.y) - value.z * __int_as_float(0x7f800000);
    value.w = -fabsf(value.x) + value.y;
    out[i] = value;
    sums[i] = fma(pair.x, pair.y, static_cast<double>(value.x)) + static_cast<double>(i * scale);
    if (pair.x > pair.y) sums[i + 1] = 0.5;
}

extern "C" __global__ void warp(int* data, float* sums, unsigned* flags) {
    const unsigned lane = threadIdx.x & 31;
    int value = data[threadIdx.x];
    value += __shfl_xor_sync(~0u, value, 5);
    const unsigned some = __ballot_sync(~0u, value > 3);
    if (__any_sync(~0u, value == 7)) flags[lane] = __popc(some);
    atomicAdd(&sums[lane], 1.5f);
    const int old = atomicCAS(&data[lane], 3, value);
    flags[lane + 32] = value + old;
    sums[lane + 32] = rsqrtf(sums[lane]) + __expf(static_cast<float>(value));
}

extern "C" __global__ void half_precision(const __half2* in, __half2* out) {
    out[threadIdx.x] = __hfma2(in[threadIdx.x], in[threadIdx.x + 32], __float2half2_rn(1.5f));
}

__device__ __noinline__ double helper(double x, float y) { return x * y + 1.0 / x; }

extern "C" __global__ void calls(double* data, float y) { data[threadIdx.x] = helper(data[threadIdx.x], y); }

extern "C" __global__ void counted(float* out, int n, float m) {
    __shared__ float tile[64];
    float x = threadIdx.x;
    for (int i = 0; i < n; ++i) {
        tile[threadIdx.x] = x;
        __syncthreads();
        x = fmaf(x, m, tile[63 - threadIdx.x]);
        __syncthreads();
    }
    out[threadIdx.x] = x;
}

extern "C" __global__ void local_memory(int* out, const int* index) {
    int table[32];
    for (int i = 0; i < 32; ++i) table[i] = index[i] * i;
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += table[index[i] & 31];
    out[threadIdx.x] = sum;
}

// The clock in 32 bits: another opcode than for clock64().
extern "C" __global__ void short_clock(unsigned* out, unsigned budget, float m) {
    float x = threadIdx.x;
    unsigned n = 0;
    const unsigned start = clock();
    while (clock() - start < budget) {
        x = fmaf(x, m, 1.0f);
        ++n;
    }
    out[threadIdx.x] = n + static_cast<unsigned>(x);
}
