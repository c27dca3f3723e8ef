/**
 * @module
 * The configuration that `init` writes: small, commented, valid as it stands. Its times are placeholders that say so.
 */
export const CONFIG_TEMPLATE = `# horizonserve configuration.
# The times below are placeholders: measure yours and let "horizonserve calibrate" write classes, profile and ladder.

# default: work conserving, with triage.  literal: the paper as printed.
preset: default

# One entry per request class. Text output ends in the shared stage (short path);
# audio and image output need a downstream stage (long path).
classes:
  chat:
    output: text
    inputs: [text]
    # p95 of the first response alone on the GPU; times sloMultiplier (default 5) it is the SLO. Or give sloMs.
    soloP95Ms: 150
  speech:
    output: audio
    inputs: [text, audio]
    soloP95Ms: 40000
  picture:
    output: image
    inputs: [text, image]
    soloP95Ms: 9000
    sloMultiplier: 5

# What each class takes alone: a fixed part plus [input, ms] points, linear in between.
profile:
  chat:
    shared:
      promptTokens: [[64, 45], [1024, 110], [4096, 400]]
  speech:
    shared:
      fixedMs: 2000
    # Up to the first response; downstreamBusy (default: the same) is how long the stage is taken.
    downstream:
      fixedMs: 18000
  picture:
    shared:
      fixedMs: 400
    downstream:
      fixedMs: 8000

# SM counts the shared stage may be held to while a downstream stage runs, Smin first, Scap last.
# Leave the whole section out where SMs are not controlled.
ladder:
  totalSms: 142
  levels: [36, 54, 72, 88]
  # While no downstream stage runs (default: totalSms).
  aggressiveSms: 142

# A request is protected when less than uGuard times its remaining time is left before its deadline.
uGuard: 2

# N short-path steps, then m long-path steps; N moves between nMin and nMax with the pressure on short requests.
rotation: { m: 2, nMin: 2, nMax: 8, update: cycle }

# Ordinary long-path requests in the shared stage at most.
longPathCap: 2

# Requests that can no longer meet their deadline stand back, except for a share of the steps.
triage: { shareFloor: 0.05 }

# Slots of the shared stage (vLLM: max_num_seqs). Where you know the number, give it: half of them are kept free from requests that can no
# longer meet their deadline, and shareFloor counts slot time. Beside vLLM-Omni this needs lockstep.
# slots: 8

# Memory pressure, smoothed by gamma, at which the shared stage gets the last level of the ladder.
throttle: { gamma: 0.4, saturation: 0.9 }
# Where \`horizonserve run\` reads it: nvml-samples, nvml-utilization, gpm-dram-bandwidth, or auto (one of the first two).
# pressure: { source: auto, device: 0, everyMs: 100 }

# How many long-path requests the downstream stages serve at once.
estimates: { downstreamConcurrency: 1 }
`
