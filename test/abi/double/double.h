// State shared by the two halves of the CUDA double. DRIVER is the CUDA version it plays: what that driver lacks is not compiled.
#pragma once
#ifdef REAL_HEADERS
#include <cuda.h>
#include <stddef.h>
// The v2 names are macros of the header; the double defines the exported symbols.
#else
#include "cuda-min.h"
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef DRIVER
#define DRIVER 12080
#endif
#define EXPORT __attribute__((visibility("default")))
#define MAX_SMS 512
#define MAX_CONTEXTS 512

typedef struct { uint8_t bits[MAX_SMS / 8]; } SmMask;

// A primary or a Green Context. CUgreenCtx and CUcontext of one are the same address here.
typedef struct {
  int alive, green, device, numSms, align;
  SmMask mask;
  int owned;
  pthread_t owner;
  double clockNs;
} Context;

typedef struct {
  int sms, cc, devices, version, init, fewer, strictAlign, oomAfter, shortFrom, shortTo, stickyAfter, sticky, mps,
      launches, uuidShift, mergeRc;
  int refuse[16], numRefuse;
} Config;

extern Config config;
extern Context contexts[MAX_CONTEXTS];
extern int initialised, stickyNow, liveAllocations;
extern __thread Context *current;

struct CUstream_st { Context *context; };

#define CHECK()                                                                                                        \
  do {                                                                                                                 \
    if (stickyNow) return (CUresult)stickyNow;                                                                         \
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;                                                               \
  } while (0)

Context *contextOf(const void *handle);
Context *newContext(int green, int device);
int smIdAt(int order);
CUresult setCurrent(Context *context);
CUresult newStream(CUstream *stream, Context *context);
