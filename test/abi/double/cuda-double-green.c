// The Green Context half of the double: SM resources, splitting rules by compute capability, refusals on request.
// It cannot show concurrency, SM identity of real parts, costs or MPS.
#include "double.h"

#if DRIVER >= 12040
// Private part of a resource, in the 92 bytes the real driver uses for itself. `cookie` is an address of this process.
typedef struct {
  const void *cookie;
  uint32_t splitId, isOutput;
  SmMask mask;
} Private;
_Static_assert(sizeof(Private) <= 88, "fits the padding");

static const char cookie = 0;
static uint32_t nextSplit = 1;
static CUdevResource descriptors[4096];
static unsigned numDescriptors;

static void granularity(int flags, unsigned *min, unsigned *align) {
  if (config.cc >= 90) {
    *min = *align = (flags & 1) ? 2 : 8;
  } else {
    *min = config.cc >= 80 ? 4 : 2;
    *align = 2;
  }
}

static Private *priv(const CUdevResource *r) { return (Private *)((char *)r + 8); }

static void fill(CUdevResource *r, const SmMask *mask, uint32_t splitId, int isOutput, unsigned align) {
  memset(r, 0, sizeof *r);
  unsigned min, ignored;
  granularity(0, &min, &ignored);
  Private p = {&cookie, splitId, (uint32_t)isOutput, *mask};
  unsigned count = 0;
  for (int i = 0; i < MAX_SMS; i++) count += (mask->bits[i / 8] >> (i % 8)) & 1;
  r->type = count ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
  memcpy(priv(r), &p, sizeof p);
  // Field positions rather than names: headers before 13.0 name only smCount, and drivers before it leave the rest zero.
  unsigned *words = (unsigned *)((char *)r + 96);
  words[0] = count;
  if (config.version >= 13000) words[1] = min, words[2] = align;
}

static int valid(const CUdevResource *r) {
  return r && r->type == CU_DEV_RESOURCE_TYPE_SM && priv(r)->cookie == &cookie;
}

static SmMask rangeMask(const SmMask *from, unsigned skip, unsigned take) {
  SmMask mask = {{0}};
  for (int order = 0; order < config.sms && take; order++) {
    int id = smIdAt(order);
    if (!((from->bits[id / 8] >> (id % 8)) & 1)) continue;
    if (skip) { skip--; continue; }
    mask.bits[id / 8] |= (uint8_t)(1 << (id % 8));
    take--;
  }
  return mask;
}

static int refused(unsigned size) {
  for (int i = 0; i < config.numRefuse; i++)
    if (config.refuse[i] == (int)size) return 1;
  return 0;
}

EXPORT CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *r, CUdevResourceType type) {
  CHECK();
  if (device < 0 || device >= config.devices) return CUDA_ERROR_INVALID_DEVICE;
  if (!r) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (config.cc < 70) return CUDA_ERROR_NOT_SUPPORTED;
  SmMask all = {{0}};
  for (int i = 0; i < config.sms; i++) all.bits[i / 8] |= (uint8_t)(1 << (i % 8));
  unsigned min, align;
  granularity(0, &min, &align);
  fill(r, &all, 0, 0, align);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *r, CUdevResourceType type) {
  CHECK();
  Context *c = contextOf(green);
  if (!c || !c->green) return CUDA_ERROR_INVALID_CONTEXT;
  if (!r) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  fill(r, &c->mask, 0, 0, (unsigned)c->align);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups, const CUdevResource *input,
                                            CUdevResource *remaining, unsigned flags, unsigned minCount) {
  CHECK();
  if (!groups || !input) return CUDA_ERROR_INVALID_VALUE;
  if (!valid(input)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (priv(input)->isOutput) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  unsigned min, align, total = *(unsigned *)((char *)input + 96);
  granularity((int)flags, &min, &align);
  unsigned size = minCount < min ? min : (minCount + align - 1) / align * align;
  if (refused(size)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  if ((int)size == config.shortFrom) size = (unsigned)config.shortTo;
  if (size > total) return CUDA_ERROR_INVALID_VALUE;
  unsigned made = total / size;
  if (made > 1 && size == min) made -= (unsigned)config.fewer;
  if (result && made > *groups) made = *groups;
  *groups = made;
  if (!result) return CUDA_SUCCESS;
  uint32_t split = nextSplit++;
  for (unsigned g = 0; g < made; g++) {
    SmMask mask = rangeMask(&priv(input)->mask, g * size, size);
    fill(&result[g], &mask, split, 1, align);
  }
  if (remaining) {
    unsigned left = total - made * size;
    SmMask mask = rangeMask(&priv(input)->mask, made * size, left);
    while (align > 1 && left % align) align /= 2;
    fill(remaining, &mask, split, 1, align);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources, unsigned count) {
  CHECK();
  if (!out || !resources || !count) return CUDA_ERROR_INVALID_VALUE;
  if (count > 1 && config.mergeRc) return (CUresult)config.mergeRc;
  SmMask mask = {{0}};
  const unsigned *first = (const unsigned *)((char *)resources + 96);
  for (unsigned i = 0; i < count; i++) {
    if (!valid(&resources[i])) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const unsigned *words = (const unsigned *)((char *)&resources[i] + 96);
    if (count > 1 && priv(&resources[i])->splitId != priv(resources)->splitId)
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (config.strictAlign && words[2] != first[2]) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    for (size_t b = 0; b < sizeof mask; b++) mask.bits[b] |= priv(&resources[i])->mask.bits[b];
  }
  CUdevResource *d = &descriptors[numDescriptors++ % 4096];
  fill(d, &mask, 0, 0, first[2]);
  *out = (CUdevResourceDesc)d;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc descriptor, CUdevice device, unsigned flags) {
  CHECK();
  const CUdevResource *d = (const CUdevResource *)descriptor;
  if (!out || d < descriptors || d >= descriptors + 4096 || flags != CU_GREEN_CTX_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  int live = 0;
  for (int i = 0; i < MAX_CONTEXTS; i++) live += contexts[i].alive && contexts[i].green;
  if (config.oomAfter && live >= config.oomAfter) return CUDA_ERROR_OUT_OF_MEMORY;
  Context *c = newContext(1, device);
  if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
  const unsigned *words = (const unsigned *)((char *)d + 96);
  c->numSms = (int)words[0], c->align = (int)words[2], c->mask = priv(d)->mask;
  *out = (CUgreenCtx)c;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  CHECK();
  Context *c = contextOf(green);
  if (!c || !c->green) return CUDA_ERROR_INVALID_CONTEXT;
  if (c->owned) return CUDA_ERROR_CONTEXT_ALREADY_IN_USE;
  c->alive = 0;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx green) {
  CHECK();
  if (!out || !contextOf(green)) return CUDA_ERROR_INVALID_VALUE;
  *out = (CUcontext)green;
  return CUDA_SUCCESS;
}

#if DRIVER >= 12050 && (!defined REAL_HEADERS || CUDA_VERSION >= 12050)
EXPORT CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority) {
  CHECK();
  (void)priority;
  Context *c = contextOf(green);
  if (!c || !c->green) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  return newStream(stream, c);
}
#endif

#if DRIVER >= 13010 && CUDA_VERSION >= 13010
EXPORT CUresult cuDevSmResourceSplit(CUdevResource *result, unsigned groups, const CUdevResource *input,
                                     CUdevResource *remainder, unsigned flags,
                                     CU_DEV_SM_RESOURCE_GROUP_PARAMS *params) {
  CHECK();
  if (!result || !params || flags) return CUDA_ERROR_INVALID_VALUE;
  if (!valid(input) || priv(input)->isOutput) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  unsigned total = *(unsigned *)((char *)input + 96), used = 0;
  uint32_t split = nextSplit++;
  for (unsigned g = 0; g < groups; g++) {
    unsigned size = params[g].smCount, align = params[g].coscheduledSmCount;
    if (!align) align = config.cc >= 90 ? 8 : 2;
    if (!size || size % align || used + size > total) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    SmMask mask = rangeMask(&priv(input)->mask, used, size);
    fill(&result[g], &mask, split, 1, align);
    used += size;
  }
  if (remainder) {
    SmMask mask = rangeMask(&priv(input)->mask, used, total - used);
    fill(remainder, &mask, split, 1, 2);
  }
  return CUDA_SUCCESS;
}
#endif
#endif
