import { existsSync } from 'node:fs'

const PLACES = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Path of an installed Chromium, or undefined. Nothing is downloaded. */
export const chromiumPath = PLACES.find((path) => path !== undefined && existsSync(path))

/** Keeps the browser off the network and out of the home folder. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
