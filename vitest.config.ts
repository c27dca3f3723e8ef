import { defineConfig } from 'vitest/config'

const reporters = ['default', './scripts/plain-summary-reporter.ts']

export default defineConfig({
  test: {
    reporters,
    // Two workers: the suite is laid out for small machines, and timing never decides a test.
    maxWorkers: 2,
    // The full number of random runs takes many minutes a property.
    testTimeout: process.env.HORIZON_LONG === undefined ? 120_000 : 7_200_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.alloc.test.ts', 'test/engine/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'alloc',
          include: ['test/**/*.alloc.test.ts'],
          pool: 'forks',
          execArgv: ['--expose-gc'],
        },
      },
    ],
  },
})
