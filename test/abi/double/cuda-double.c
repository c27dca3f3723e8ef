// A CUDA driver without a GPU, for tests: the calls this project makes, with the driver's rules and error codes. Compiled by the
// tests as libcuda.so.1 of a stated version (-DDRIVER=12040) and configured by text: HORIZON_DOUBLE in the environment at load, or
// horizon_double_configure("sms=132;cc=90"). Time is a clock per context that a launch moves on by a formula.
#include "double.h"
#include <stdio.h>
#include <unistd.h>

Config config;
Context contexts[MAX_CONTEXTS];
int initialised, stickyNow;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__thread Context *current;
static __thread Context *stack[16];
static __thread int depth;
static int retains[16];
static Context *primaries[16];
static int liveStreams, liveEvents;
int liveAllocations;

struct CUevent_st { double ns; int isRecorded; };

static int number(const char *spec, const char *key, int fallback) {
  size_t length = strlen(key);
  for (const char *p = spec; p && *p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
    if (!strncmp(p, key, length) && p[length] == '=') return atoi(p + length + 1);
  return fallback;
}

EXPORT void horizon_double_configure(const char *spec) {
  memset(&config, 0, sizeof config);
  memset(contexts, 0, sizeof contexts);
  memset(retains, 0, sizeof retains);
  memset(primaries, 0, sizeof primaries);
  initialised = stickyNow = liveStreams = liveEvents = liveAllocations = depth = 0;
  current = NULL;
  config.sms = number(spec, "sms", 132);
  config.cc = number(spec, "cc", 90);
  config.devices = number(spec, "devices", 1);
  config.version = number(spec, "version", DRIVER);
  config.init = number(spec, "init", 0);
  config.fewer = number(spec, "fewer", 0);
  config.strictAlign = number(spec, "strictalign", 0);
  config.oomAfter = number(spec, "oomafter", 0);
  config.shortFrom = number(spec, "shortfrom", 0);
  config.shortTo = number(spec, "shortto", 0);
  config.sticky = number(spec, "sticky", 0);
  config.stickyAfter = number(spec, "stickyafter", 0);
  config.mps = number(spec, "mps", 0);
  config.uuidShift = number(spec, "uuidshift", 0);
  // What a driver answers that cannot merge several resources into one descriptor.
  config.mergeRc = number(spec, "mergerc", 0);
  const char *list = spec ? strstr(spec, "refuse=") : NULL;
  for (list = list ? list + 7 : NULL; list && *list && *list != ';' && config.numRefuse < 16;) {
    char *end;
    config.refuse[config.numRefuse++] = (int)strtol(list, &end, 10);
    list = *end == ':' ? end + 1 : end == list ? NULL : end;
  }
}

// Objects alive, by kind, so that a test can see that close() closes: contexts but primaries, retains, streams, events, allocations.
EXPORT void horizon_double_live(int *out) {
  memset(out, 0, 5 * sizeof *out);
  for (int i = 0; i < MAX_CONTEXTS; i++) out[0] += contexts[i].alive && contexts[i].green;
  for (int i = 0; i < 16; i++) out[1] += retains[i];
  out[2] = liveStreams, out[3] = liveEvents, out[4] = liveAllocations;
}

// SM ids that a context runs on.
EXPORT int horizon_double_sms(const void *handle, int *out) {
  Context *c = contextOf(handle);
  int n = 0;
  for (int i = 0; c && i < config.sms; i++)
    if ((c->mask.bits[i / 8] >> (i % 8)) & 1) out[n++] = i;
  return n;
}

__attribute__((constructor)) static void start(void) { horizon_double_configure(getenv("HORIZON_DOUBLE")); }

// Scattered, as real group-to-SM maps are, and the same in every process.
int smIdAt(int order) {
  int stride = 7;
  while (config.sms % stride == 0) stride += 2;
  return order * stride % config.sms;
}

Context *contextOf(const void *handle) {
  uintptr_t offset = (uintptr_t)handle - (uintptr_t)contexts;
  if (offset >= sizeof contexts || offset % sizeof(Context)) return NULL;
  Context *c = &contexts[offset / sizeof(Context)];
  return c->alive ? c : NULL;
}

Context *newContext(int green, int device) {
  pthread_mutex_lock(&lock);
  Context *found = NULL;
  for (int i = 0; i < MAX_CONTEXTS && !found; i++)
    if (!contexts[i].alive) found = &contexts[i];
  if (found) {
    memset(found, 0, sizeof *found);
    found->alive = 1, found->green = green, found->device = device;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

CUresult setCurrent(Context *c) {
  if (c && c->green && c->owned && !pthread_equal(c->owner, pthread_self())) return CUDA_ERROR_CONTEXT_ALREADY_IN_USE;
  if (current && current->green) current->owned = 0;
  if (c && c->green) c->owned = 1, c->owner = pthread_self();
  current = c;
  return CUDA_SUCCESS;
}

CUresult newStream(CUstream *stream, Context *c) {
  *stream = calloc(1, sizeof **stream);
  (*stream)->context = c;
  liveStreams++;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuInit(unsigned flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (config.init) return (CUresult)config.init;
  if (!config.devices) return CUDA_ERROR_NO_DEVICE;
  initialised = 1;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDriverGetVersion(int *version) { return *version = config.version, CUDA_SUCCESS; }
EXPORT CUresult cuGetErrorName(CUresult error, const char **name) {
  static __thread char text[40];
  if ((int)error < 0 || (int)error > 999) return *name = NULL, CUDA_ERROR_INVALID_VALUE;
  snprintf(text, sizeof text, "CUDA_RESULT_%d", (int)error);
  return *name = text, CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
  (void)error;
  return *text = "said by the double", CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetCount(int *count) {
  CHECK();
  return *count = config.devices, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CHECK();
  if (ordinal < 0 || ordinal >= config.devices) return CUDA_ERROR_INVALID_DEVICE;
  return *device = ordinal, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  CHECK();
  (void)device;
  snprintf(name, (size_t)length, "double of a GPU with %d SMs", config.sms);
  return CUDA_SUCCESS;
}
static int hasMpsPipe(void) {
  const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
  char path[4096];
  snprintf(path, sizeof path, "%s/control", folder ? folder : "/nowhere");
  return access(path, F_OK) == 0;
}
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  CHECK();
  if (device < 0 || device >= config.devices) return CUDA_ERROR_INVALID_DEVICE;
  switch ((int)attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = config.sms; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = config.cc / 10; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = config.cc % 10; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 1250000; break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 6144; break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
  case CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
    if (config.version < 12040) return CUDA_ERROR_INVALID_VALUE;
    *value = config.mps || hasMpsPipe();
    break;
  default: *value = 0;
  }
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  CHECK();
  for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)(i * 17 + device + config.uuidShift);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  CHECK();
  if (device < 0 || device >= config.devices) return CUDA_ERROR_INVALID_DEVICE;
  if (!primaries[device]) {
    Context *c = primaries[device] = newContext(0, device);
    c->numSms = config.sms;
    memset(&c->mask, 0xff, sizeof c->mask);
  }
  retains[device]++;
  return *out = (CUcontext)primaries[device], CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CHECK();
  if (!retains[device]) return CUDA_ERROR_INVALID_CONTEXT;
  retains[device]--;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
  CHECK();
  if (!handle) return setCurrent(NULL);
  Context *c = contextOf(handle);
  return c ? setCurrent(c) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext *out) {
  CHECK();
  return *out = (CUcontext)current, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  CHECK();
  Context *c = contextOf(handle), *before = current;
  if (!c || depth >= 16) return CUDA_ERROR_INVALID_CONTEXT;
  CUresult result = setCurrent(c);
  if (result == CUDA_SUCCESS) stack[depth++] = before;
  return result;
}
EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  CHECK();
  if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
  if (out) *out = (CUcontext)current;
  return setCurrent(stack[--depth]);
}
EXPORT CUresult cuCtxSynchronize(void) {
  CHECK();
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  CHECK();
  (void)flags, (void)priority;
  return current ? newStream(stream, current) : CUDA_ERROR_INVALID_CONTEXT;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  CHECK();
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  free(stream);
  liveStreams--;
  return CUDA_SUCCESS;
}
// The host has waited until `ns`: whoever was idle is there as well.
static void hostWaited(double ns) {
  for (int i = 0; i < MAX_CONTEXTS; i++)
    if (contexts[i].clockNs < ns) contexts[i].clockNs = ns;
}
EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  CHECK();
  if (stream) hostWaited(stream->context->clockNs);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
  CHECK();
  (void)flags;
  *event = calloc(1, sizeof **event);
  liveEvents++;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  CHECK();
  Context *c = stream ? stream->context : current;
  if (!c) return CUDA_ERROR_INVALID_CONTEXT;
  event->ns = c->clockNs, event->isRecorded = 1;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventQuery(CUevent event) {
  CHECK();
  return event->isRecorded ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
EXPORT CUresult cuEventSynchronize(CUevent event) {
  CHECK();
  hostWaited(event->ns);
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
  CHECK();
  if (!start->isRecorded || !end->isRecorded) return CUDA_ERROR_INVALID_HANDLE;
  return *ms = (float)((end->ns - start->ns) / 1e6), CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  CHECK();
  free(event);
  liveEvents--;
  return CUDA_SUCCESS;
}
