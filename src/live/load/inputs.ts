/**
 * @module
 * Inputs of declared sizes, made on the fly: prompts, spoken sound and pictures. No two prompts begin alike, so that a prefix cache finds
 * nothing.
 */
import { createRng } from '../../sim/index.js'
import { solidPng } from '../png.js'
import { wavHeader } from '../wav.js'

// Three letters and a blank: a token for the usual tokenizers, and by the rule of four characters.
const WORDS = [
  'the and you for was are not but all can her one our out day get has him his how man new now old see two way who boy did its let put say she too use big end far few got own run sat top try why yes',
].flatMap((line) => line.split(' '))

/** `tokens` words, drawn by the number of the request: the same number gives the same text. */
export function promptOf(tokens: number, seed: number, request: number): string {
  const rng = createRng(seed).fork(request)
  let text = ''
  for (let i = 0; i < tokens; i++) text += `${WORDS[rng.below(WORDS.length)]} `
  return text
}

const RATE_HZ = 16_000
let voice = Buffer.alloc(0)

/** Makes the sound that later calls cut from, so that no request is late for it. */
export function prepareVoice(seconds: number): void {
  const samples = Math.ceil(seconds * RATE_HZ)
  if (voice.length >= samples * 2) return
  voice = Buffer.alloc(samples * 2)
  // Four syllables a second on a gliding pitch, with overtones: no words, but no tone that a codec could skip either.
  let phase = 0
  for (let i = 0; i < samples; i++) {
    const t = i / RATE_HZ
    phase += (2 * Math.PI * (140 + 40 * Math.sin(2 * Math.PI * 0.7 * t))) / RATE_HZ
    const syllable = Math.max(0, Math.sin(2 * Math.PI * 4 * t)) ** 0.5
    const sound = Math.sin(phase) + 0.5 * Math.sin(2 * phase) + 0.3 * Math.sin(5 * phase)
    voice.writeInt16LE(Math.round(6000 * syllable * sound), i * 2)
  }
}

/** Base64 of a WAV, 16 kHz. */
export function spokenWav(seconds: number): string {
  prepareVoice(seconds)
  const bytes = Math.round(seconds * RATE_HZ) * 2
  return Buffer.concat([wavHeader(RATE_HZ, bytes), voice.subarray(0, bytes)]).toString('base64')
}

const pictures = new Map<number, string>()

/** A data URL of a square PNG; eight colours take turns. */
export function picture(pixels: number, request: number): string {
  const key = pixels * 8 + (request % 8)
  let url = pictures.get(key)
  if (url === undefined) {
    url = `data:image/png;base64,${solidPng(pixels, pixels, 0x202020 * ((request % 8) + 1)).toString('base64')}`
    pictures.set(key, url)
  }
  return url
}
