/**
 * @module
 * A C++ program, generated from the tables of `abi.ts` and compiled against a header, prints what the compiler thinks; the tables
 * must say the same. It runs against our minimal header everywhere, and against NVIDIA's own where they are at hand.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as abi from '../../src/gpu/abi.js'
import { CUDA_BASE, CUDA_GREEN, CUDA_LATER, CUDA_SYMBOL_SINCE } from '../../src/gpu/cuda-symbols.js'
import { NVML_BASE, NVML_GPM, NVML_MIG } from '../../src/gpu/nvml-symbols.js'
import { loadKoffi } from '../../src/native/koffi.js'
import { cudaDouble, NO_HEADERS, nvmlDouble, realHeaders } from './double/build.js'
import { describeDouble } from './double/describe.js'

const STRUCTS: readonly abi.StructAbi[] = [
  abi.CU_DEV_RESOURCE,
  abi.CU_GROUP_PARAMS,
  abi.CU_UUID,
  abi.NVML_UTILIZATION,
  abi.NVML_MEMORY,
  abi.NVML_SAMPLE,
  abi.NVML_GPM_SUPPORT,
  abi.NVML_GPM_METRIC,
]
const CONSTANTS = {
  ...abi.CU_RESULT,
  ...abi.CU,
  ...abi.CU_ATTRIBUTE,
  ...abi.NVML_RETURN,
  ...abi.NVML,
}
const PROTOTYPES = {
  ...CUDA_BASE,
  ...CUDA_GREEN,
  ...CUDA_LATER,
  ...NVML_BASE,
  ...NVML_GPM,
  ...NVML_MIG,
}
const HEAD = abi.NVML_GPM_METRICS_GET

/** What the tables say, in the lines that the program prints. */
function expectedLines(cudaVersion: number): string[] {
  const lines: string[] = []
  for (const struct of STRUCTS) {
    if ((struct.since ?? 0) > cudaVersion) continue
    lines.push(`sizeof ${struct.name} ${struct.bytes}`)
    for (const [field, at] of Object.entries(struct.fields))
      if ((at.since ?? 0) <= cudaVersion)
        lines.push(`${struct.name}.${field} ${at.offset} ${at.bytes}`)
  }
  lines.push(`${HEAD.name}.metrics ${HEAD.headBytes}`)
  for (const [field, at] of Object.entries(HEAD.fields))
    lines.push(`${HEAD.name}.${field} ${at.offset} ${at.bytes}`)
  for (const [name, value] of Object.entries(CONSTANTS))
    if ((abi.SINCE[name] ?? 0) <= cudaVersion) lines.push(`${name} ${value}`)
  for (const [name, prototype] of Object.entries(PROTOTYPES))
    if ((CUDA_SYMBOL_SINCE[name] ?? 0) <= cudaVersion)
      lines.push(`${name} ${signatureOf(prototype)}`)
  lines.push(`NVML_TEXT_BYTES ${abi.NVML_TEXT_BYTES}`)
  return lines.sort()
}

/** `int f(void *p, uint32_t n)` as `i4 p8 u4`; enums count as the int they are passed as. */
function signatureOf(prototype: string): string {
  const [, returned, list] = /^(.*?)\w+\((.*)\)$/.exec(prototype) as RegExpExecArray
  const kind = (type: string): string => {
    if (type.includes('*')) return 'p8'
    if (type.includes('uint64_t') || type.includes('size_t')) return 'u8'
    return type.includes('uint32_t') ? 'u4' : 'i4'
  }
  const args = list === '' ? [] : (list as string).split(', ')
  return [kind(returned as string), ...args.map(kind)].join(' ')
}

function program(): string {
  const guarded = (since: number | undefined, line: string): string =>
    since === undefined ? line : `#if CUDA_VERSION >= ${since}\n${line}\n#endif`
  const lines: string[] = []
  const structs = [
    ...STRUCTS,
    { name: HEAD.name, fields: HEAD.fields, bytes: undefined, since: undefined },
  ]
  for (const { name, bytes, since, fields } of structs) {
    if (bytes !== undefined)
      lines.push(guarded(since, `printf("sizeof ${name} %zu\\n", sizeof(${name}));`))
    for (const [field, at] of Object.entries(fields) as [string, abi.FieldAbi][])
      lines.push(
        guarded(
          at.since ?? since,
          `{ ${name} x; printf("${name}.${field} %zu %zu\\n", offsetof(${name}, ${field}), sizeof(x.${field})); }`,
        ),
      )
  }
  lines.push(`printf("${HEAD.name}.metrics %zu\\n", offsetof(${HEAD.name}, metrics));`)
  lines.push('printf("NVML_TEXT_BYTES %d\\n", (int)NVML_DEVICE_UUID_V2_BUFFER_SIZE);')
  for (const name of Object.keys(CONSTANTS))
    lines.push(guarded(abi.SINCE[name], `printf("${name} %d\\n", (int)${name});`))
  for (const name of Object.keys(PROTOTYPES))
    lines.push(guarded(CUDA_SYMBOL_SINCE[name], `show("${name}", &${name});`))
  return `#include <cstdio>
#include <cstddef>
#include <type_traits>
#include CUDA_HEADER
#include NVML_HEADER
template <class T> void kind() {
  const char *c = std::is_pointer<T>::value ? "p" : std::is_enum<T>::value || std::is_signed<T>::value ? "i" : "u";
  printf(" %s%zu", c, sizeof(T));
}
template <class R, class... A> void show(const char *name, R (*)(A...)) {
  printf("%s", name);
  kind<R>();
  (kind<A>(), ...);
  puts("");
}
int main() {
${lines.join('\n')}
}
`
}

function printed(flags: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'horizonserve-abi-'))
  try {
    const source = join(folder, 'abi.cc')
    writeFileSync(source, program())
    // Only addresses of functions are taken: nothing is linked, so undefined symbols may stay.
    const link = ['-Wl,--unresolved-symbols=ignore-all', '-no-pie', '-w']
    execFileSync('g++', ['-std=c++17', ...flags, ...link, '-o', join(folder, 'abi'), source])
    return execFileSync(join(folder, 'abi'), { encoding: 'utf8' }).trim().split('\n').sort()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describeDouble('the tables of abi.ts', () => {
  test('say what a compiler says of the minimal header', () => {
    const double = join(import.meta.dirname, 'double')
    const flags = [`-I${double}`, '-DCUDA_HEADER="cuda-min.h"', '-DNVML_HEADER="nvml-min.h"']
    expect(printed(flags)).toEqual(expectedLines(13010))
  })

  test.skipIf(realHeaders.length === 0)(
    titled("say what a compiler says of NVIDIA's headers"),
    () => {
      for (const headers of realHeaders) {
        const version = cudaVersionOf(headers)
        const flags = [`-I${headers}`, '-DCUDA_HEADER=<cuda.h>', '-DNVML_HEADER=<nvml.h>']
        expect(printed(flags), headers).toEqual(expectedLines(version))
      }
    },
  )

  test.skipIf(realHeaders.length === 0)(
    titled('agree with the doubles compiled against them'),
    () => {
      for (const headers of realHeaders) {
        expect(() => cudaDouble(13010, headers), headers).not.toThrow()
        expect(() => nvmlDouble(headers), headers).not.toThrow()
      }
    },
  )

  test('a wrong offset, value or signature would be seen', () => {
    const lines = expectedLines(13010)
    expect(lines).toContain('CUdevResource.sm.smCount 96 4')
    expect(lines).toContain('CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION 915')
    expect(lines).toContain('cuDevSmResourceSplitByCount i4 p8 p8 p8 p8 u4 u4')
    expect(lines).toContain('cuMemAlloc_v2 i4 p8 u8')
  })
})

test('koffi lays the same structs out the same way', () => {
  const koffi = loadKoffi()
  const resource = koffi.struct({
    type: 'int',
    padding: koffi.array('uint8_t', 92),
    smCount: 'uint32_t',
    minSmPartitionSize: 'uint32_t',
    smCoscheduledAlignment: 'uint32_t',
    flags: 'uint32_t',
    rest: koffi.array('uint8_t', 24),
    nextResource: 'void *',
  })
  expect(koffi.sizeof(resource)).toBe(abi.CU_DEV_RESOURCE.bytes)
  expect(koffi.alignof(resource)).toBe(8)
  expect(koffi.offsetof(resource, 'smCount')).toBe(abi.CU_DEV_RESOURCE.fields['sm.smCount'].offset)
  expect(koffi.offsetof(resource, 'nextResource')).toBe(
    abi.CU_DEV_RESOURCE.fields.nextResource.offset,
  )
  const sample = koffi.struct({ timeStamp: 'uint64_t', value: 'double' })
  expect(koffi.sizeof(sample)).toBe(abi.NVML_SAMPLE.bytes)
  const metric = koffi.struct({
    id: 'uint32_t',
    rc: 'int',
    value: 'double',
    info: koffi.array('void *', 3),
  })
  expect(koffi.sizeof(metric)).toBe(abi.NVML_GPM_METRIC.bytes)
})

/** The reason stands in the name of a test that is skipped. */
function titled(name: string): string {
  return realHeaders.length === 0 ? `${name} [skipped: ${NO_HEADERS}]` : name
}

function cudaVersionOf(headers: string): number {
  const text = execFileSync(
    'grep',
    ['-m1', '-E', '^#define CUDA_VERSION', join(headers, 'cuda.h')],
    {
      encoding: 'utf8',
    },
  )
  return Number(text.trim().split(/\s+/).at(-1))
}
