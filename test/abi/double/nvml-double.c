// NVML without a GPU, for tests: compiled as libnvidia-ml.so.1, configured by text (HORIZON_NVML_DOUBLE at load, or
// horizon_nvml_double_configure("memory=37;ratesrc=3")). `<call>rc` makes that call return a code.
#ifdef REAL_HEADERS
#include <nvml.h>
#else
#include "nvml-min.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define CHECK(rc)                                                                                                      \
  do {                                                                                                                 \
    if (!initialised) return NVML_ERROR_UNINITIALIZED;                                                                 \
    if (rc) return (nvmlReturn_t)(rc);                                                                                 \
  } while (0)

struct nvmlDevice_st { int index; };
struct nvmlGpmSample_st { unsigned long long atUs; };

static struct {
  int init, devices, memory, gpu, ratesRc, samplesRc, gpm, gpmRc, dramTenths, uuidShift, periodUs, valueType, count, metricRc, memoryRc,
      mig, stuck;
} config;
static struct nvmlDevice_st devices[16], instance;
static int initialised, liveSamples;
static long long advancedUs;

static int number(const char *spec, const char *key, int fallback) {
  size_t length = strlen(key);
  for (const char *p = spec; p && *p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
    if (!strncmp(p, key, length) && p[length] == '=') return atoi(p + length + 1);
  return fallback;
}

EXPORT void horizon_nvml_double_configure(const char *spec) {
  // started=1 changes a double under a program that uses it from another thread.
  initialised = number(spec, "started", 0), advancedUs = 0;
  config.init = number(spec, "init", 0);
  config.devices = number(spec, "devices", 1);
  config.memory = number(spec, "memory", 37);
  config.gpu = number(spec, "gpu", 90);
  config.ratesRc = number(spec, "ratesrc", 0);
  config.samplesRc = number(spec, "samplesrc", 0);
  config.gpm = number(spec, "gpm", 1);
  config.gpmRc = number(spec, "gpmrc", 0);
  config.metricRc = number(spec, "metricrc", 0);
  config.dramTenths = number(spec, "dramtenths", 425);
  config.uuidShift = number(spec, "uuidshift", 0);
  config.periodUs = number(spec, "periodus", 166667);
  config.valueType = number(spec, "valuetype", NVML_VALUE_TYPE_UNSIGNED_INT);
  config.count = number(spec, "count", 120);
  config.memoryRc = number(spec, "memoryrc", 0);
  // mig=1: device 0 is cut, and an instance of it is known by its own UUID.
  config.mig = number(spec, "mig", 0);
  // stuck=1: samples are known and none is ever newer.
  config.stuck = number(spec, "stuck", 0);
}

// Moves the double's clock, so that no test has to wait for a sample.
EXPORT void horizon_nvml_double_advance(int us) { advancedUs += us; }
EXPORT int horizon_nvml_double_live(void) { return liveSamples; }

__attribute__((constructor)) static void start(void) {
  horizon_nvml_double_configure(getenv("HORIZON_NVML_DOUBLE"));
  for (int i = 0; i < 16; i++) devices[i].index = i;
}

static unsigned long long nowUs(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (unsigned long long)((long long)t.tv_sec * 1000000 + t.tv_nsec / 1000 + advancedUs);
}

static int valid(nvmlDevice_t device) {
  return (config.mig && device == &instance) || (device >= devices && device < devices + config.devices);
}

static void uuidOf(int device, char *out, unsigned length) {
  unsigned char b[16];
  for (int i = 0; i < 16; i++) b[i] = (unsigned char)(i * 17 + device + config.uuidShift);
  snprintf(out, length, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

EXPORT nvmlReturn_t nvmlInit_v2(void) {
  if (config.init) return (nvmlReturn_t)config.init;
  initialised = 1;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlShutdown(void) { return initialised = 0, NVML_SUCCESS; }
EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
  static char text[32];
  return snprintf(text, sizeof text, "NVML result %d", (int)result), text;
}
EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
  CHECK(0);
  return snprintf(version, length, "590.48.01"), NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
  CHECK(0);
  return *count = (unsigned)config.devices, NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
  CHECK(0);
  if (index >= (unsigned)config.devices) return NVML_ERROR_INVALID_ARGUMENT;
  return *device = &devices[index], NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
  CHECK(0);
  for (int i = 0; i < config.devices; i++) {
    char own[96];
    uuidOf(i, own, sizeof own);
    if (config.mig && i == 0) {
      if (!strncmp(uuid, "MIG-", 4) && !strcmp(own + 4, uuid + 4)) return *device = &instance, NVML_SUCCESS;
      uuidOf(64, own, sizeof own);
    }
    if (!strcmp(own, uuid)) return *device = &devices[i], NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device) {
  CHECK(0);
  if (strcmp(id, "00000000:01:00.0")) return NVML_ERROR_NOT_FOUND;
  return *device = &devices[0], NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
  CHECK(0);
  if (!valid(device)) return NVML_ERROR_INVALID_ARGUMENT;
  // The CUDA double names its device 0 by the bytes that belong to the instance, as the driver does.
  uuidOf(config.mig && device == devices ? 64 : device->index, uuid, length);
  if (device == &instance) memcpy(uuid, "MIG", 3);
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
  CHECK(0);
  if (!valid(device)) return NVML_ERROR_INVALID_ARGUMENT;
  return snprintf(name, length, "double"), NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out) {
  CHECK(config.ratesRc);
  if (!valid(device)) return NVML_ERROR_INVALID_ARGUMENT;
  if (device == &instance) return NVML_ERROR_NOT_SUPPORTED;
  out->gpu = (unsigned)config.gpu, out->memory = (unsigned)config.memory;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out) {
  CHECK(config.memoryRc);
  if (!valid(device)) return NVML_ERROR_INVALID_ARGUMENT;
  out->total = 80ull << 30, out->used = 20ull << 30, out->free = 60ull << 30;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long since,
                                         nvmlValueType_t *valueType, unsigned *count, nvmlSample_t *samples) {
  CHECK(config.samplesRc);
  if (!valid(device) || type != NVML_MEMORY_UTILIZATION_SAMPLES || !count) return NVML_ERROR_INVALID_ARGUMENT;
  if (device == &instance) return NVML_ERROR_NOT_SUPPORTED;
  unsigned capacity = *count, n = 0;
  unsigned long long period = (unsigned long long)config.periodUs, last = nowUs() / period * period;
  if (!samples) return *count = (unsigned)config.count, NVML_SUCCESS;
  if (config.stuck || last <= since) return NVML_ERROR_NOT_FOUND;
  for (int back = config.count - 1; back >= 0 && n < capacity; back--) {
    unsigned long long at = last - (unsigned long long)back * period;
    if (at <= since) continue;
    memset(&samples[n], 0, sizeof samples[n]);
    samples[n].timeStamp = at;
    if (config.valueType == NVML_VALUE_TYPE_DOUBLE) samples[n].sampleValue.dVal = config.memory;
    else samples[n].sampleValue.uiVal = (unsigned)config.memory;
    n++;
  }
  *count = n, *valueType = (nvmlValueType_t)config.valueType;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support) {
  CHECK(0);
  if (!valid(device) || support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_INVALID_ARGUMENT;
  return support->isSupportedDevice = (unsigned)config.gpm, NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) {
  CHECK(0);
  *sample = calloc(1, sizeof **sample);
  liveSamples++;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
  CHECK(config.gpmRc);
  if (!valid(device) || !sample) return NVML_ERROR_INVALID_ARGUMENT;
  return sample->atUs = nowUs(), NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get) {
  CHECK(config.gpmRc);
  if (get->version != NVML_GPM_METRICS_GET_VERSION || !get->sample1 || !get->sample2) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned i = 0; i < get->numMetrics; i++) {
    int isDram = get->metrics[i].metricId == NVML_GPM_METRIC_DRAM_BW_UTIL;
    get->metrics[i].nvmlReturn = (nvmlReturn_t)(isDram ? config.metricRc : NVML_ERROR_NOT_SUPPORTED);
    // Samples too close together give numbers that mean nothing, as the real counters do.
    get->metrics[i].value = get->sample2->atUs - get->sample1->atUs < 100000 ? 1e9 : config.dramTenths / 10.0;
  }
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  free(sample);
  liveSamples--;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *isMigDevice) {
  CHECK(0);
  if (!valid(device)) return NVML_ERROR_INVALID_ARGUMENT;
  return *isMigDevice = device == &instance, NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice, nvmlDevice_t *device) {
  CHECK(0);
  if (migDevice != &instance) return NVML_ERROR_INVALID_ARGUMENT;
  return *device = devices, NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id) {
  CHECK(0);
  if (device != &instance) return NVML_ERROR_NOT_SUPPORTED;
  return *id = 3, NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned gpuInstanceId, nvmlGpmSample_t gpmSample) {
  CHECK(config.gpmRc);
  if (!config.mig || device != devices || gpuInstanceId != 3 || !gpmSample) return NVML_ERROR_INVALID_ARGUMENT;
  return gpmSample->atUs = nowUs(), NVML_SUCCESS;
}
