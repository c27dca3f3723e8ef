// Two stages to measure a ladder with, and a probe of where they run. Synthetic: a decode step is bound by reading weights
// and KV cache, a downstream generator by arithmetic; these kernels are only that, with no model behind them.

// Which SM ran each block. Every block stays for `spinClocks`, so that the grid covers all SMs its context may use.
extern "C" __global__ void horizon_smid(unsigned *smids, unsigned long long spinClocks) {
  unsigned smid;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
  if (threadIdx.x == 0) smids[blockIdx.x] = smid;
  long long start = clock64();
  while ((unsigned long long)(clock64() - start) < spinClocks) {
  }
}

// Reads `words` 16-byte words `passes` times and keeps nothing. The sum depends on all of them, so none is skipped.
extern "C" __global__ void horizon_memory(const uint4 *source, unsigned *sink, unsigned long long words,
                                          unsigned passes) {
  unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  unsigned sum = 0;
  for (unsigned pass = 0; pass < passes; pass++) {
#pragma unroll 4
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride) {
      uint4 word = source[i];
      sum += word.x ^ word.y ^ word.z ^ word.w;
    }
  }
  if (sum == 0x5eed5eedu) sink[0] = sum;
}

// Four chains of fused multiply-adds per thread, in registers.
extern "C" __global__ void horizon_compute(float *sink, unsigned iterations) {
  float a = (float)threadIdx.x * 1e-3f, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
#pragma unroll 4
  for (unsigned i = 0; i < iterations; i++) {
    a = fmaf(a, 0.999f, 0.5f);
    b = fmaf(b, 0.999f, 0.5f);
    c = fmaf(c, 0.999f, 0.5f);
    d = fmaf(d, 0.999f, 0.5f);
  }
  if (a + b + c + d == -1.0f) sink[0] = a;
}
