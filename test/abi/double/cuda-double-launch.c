// Kernels and memory of the double: three kernels known by name, timed by formulas on a clock per context.
#include "double.h"

struct CUmod_st { int alive; };
struct CUfunc_st { int kind; };
static struct CUmod_st module;
static struct CUfunc_st functions[3] = {{0}, {1}, {2}};
static const char *functionNames[3] = {"horizon_smid", "horizon_memory", "horizon_compute"};

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  CHECK();
  if (!image || !strstr(image, ".version")) return CUDA_ERROR_INVALID_PTX;
  for (int i = 0; i < 3; i++)
    if (!strstr(image, functionNames[i])) return CUDA_ERROR_INVALID_PTX;
  return *out = &module, CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule m) {
  CHECK();
  return m == &module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
  CHECK();
  (void)m;
  for (int i = 0; i < 3; i++)
    if (!strcmp(name, functionNames[i])) return *out = &functions[i], CUDA_SUCCESS;
  return CUDA_ERROR_NOT_FOUND;
}

#if DRIVER >= 12000
EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jitValues,
                                  unsigned numJit, CUlibraryOption *options, void **values, unsigned numOptions) {
  (void)jit, (void)jitValues, (void)options, (void)values;
  if (numJit || numOptions) return CUDA_ERROR_INVALID_VALUE;
  return cuModuleLoadData((CUmodule *)library, code);
}
EXPORT CUresult cuLibraryUnload(CUlibrary library) { return cuModuleUnload((CUmodule)library); }
EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return cuModuleGetFunction((CUfunction *)kernel, (CUmodule)library, name);
}
#endif

// Formulas of no real part: reading saturates at 40 % of the SMs, arithmetic scales, and work elsewhere slows both a little.
EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
  CHECK();
  (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
  Context *c = stream ? stream->context : current;
  if (!c || !c->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (config.stickyAfter && ++config.launches >= config.stickyAfter) return (CUresult)(stickyNow = config.sticky);
  double share = (double)c->numSms / config.sms, ns = 2000, busy = 1;
  for (int i = 0; i < MAX_CONTEXTS; i++)
    if (contexts[i].alive && &contexts[i] != c && contexts[i].clockNs > c->clockNs) busy = 1.25;
  if (f->kind == 0) {
    uint32_t *out = (uint32_t *)(uintptr_t) * (CUdeviceptr *)params[0];
    int ids[MAX_SMS], n = 0;
    for (int i = 0; i < config.sms; i++)
      if ((c->mask.bits[i / 8] >> (i % 8)) & 1) ids[n++] = i;
    for (unsigned b = 0; b < gx; b++) out[b] = (uint32_t)ids[b % (unsigned)n];
  } else if (f->kind == 1) {
    double bytes = 16.0 * (double)*(unsigned long long *)params[2] * *(unsigned *)params[3];
    ns += bytes / (1920.0 * (share > 0.4 ? 1 : share / 0.4));
  } else {
    ns += (double)gx * *(unsigned *)params[1] / (share * config.sms) * 4;
  }
  c->clockNs += ns * busy;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemGetInfo_v2(size_t *freeBytes, size_t *total) {
  CHECK();
  *total = (size_t)80 << 30;
  return *freeBytes = *total, CUDA_SUCCESS;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  CHECK();
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  void *memory = bytes < (size_t)4 << 30 ? calloc(1, bytes < 1 << 20 ? bytes : 1 << 20) : NULL;
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  liveAllocations++;
  return *address = (CUdeviceptr)(uintptr_t)memory, CUDA_SUCCESS;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  CHECK();
  free((void *)(uintptr_t)address);
  liveAllocations--;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyDtoH_v2(void *host, CUdeviceptr device, size_t bytes) {
  CHECK();
  return memcpy(host, (void *)(uintptr_t)device, bytes), CUDA_SUCCESS;
}
EXPORT CUresult cuMemsetD32_v2(CUdeviceptr device, unsigned value, size_t words) {
  CHECK();
  for (size_t i = 0; i < words && i < 1 << 18; i++) ((unsigned *)(uintptr_t)device)[i] = value;
  return CUDA_SUCCESS;
}
