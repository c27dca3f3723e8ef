/**
 * @module
 * Says what a file is that is no trace of ours, by name and in a few words: from its first bytes, or from its first line.
 */
import { excerpt } from './excerpt.js'

/** First bytes of files that people take for traces; longer marks first where one begins with another. */
const MARKS: readonly (readonly [mark: string, name: string, at?: number])[] = [
  ['PAR1', 'a Parquet file'],
  ['ARROW1', 'an Arrow file'],
  ['PK\u0003\u0004', 'a zip archive or an Excel workbook'],
  ['PK\u0005\u0006', 'an empty zip archive'],
  ['\u00d0\u00cf\u0011\u00e0', 'an old Excel or Office file'],
  ['\u0028\u00b5\u002f\u00fd', 'zstd-compressed data'],
  ['BZh', 'bzip2-compressed data'],
  ['\u00fd7zXZ', 'xz-compressed data'],
  ['7z\u00bc\u00af', 'a 7-Zip archive'],
  ['\u0004\u0022\u004d\u0018', 'lz4-compressed data'],
  ['Rar!', 'a RAR archive'],
  ['SQLite format 3', 'an SQLite database'],
  ['%PDF', 'a PDF'],
  ['\u0089PNG', 'a PNG image'],
  ['\u00ff\u00d8\u00ff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['\u0093NUMPY', 'a NumPy array'],
  ['\u0089HDF', 'an HDF5 file'],
  ['Obj\u0001', 'an Avro file'],
  ['ORC', 'an ORC file'],
  ['\u007fELF', 'a program'],
  ['ustar', 'a tar archive', 257],
]

/** What the first bytes are, where they are not text. */
export function nameBytes(head: Uint8Array): string | undefined {
  const latin1 = String.fromCharCode(...head.subarray(0, 512))
  for (const [mark, name, at = 0] of MARKS) if (latin1.startsWith(mark, at)) return name
  // Protocols 2 to 5.
  if (head[0] === 0x80 && (head[1] as number) >= 2 && (head[1] as number) <= 5) {
    return 'a Python pickle'
  }
  return head.subarray(0, 512).includes(0) ? 'binary data' : undefined
}

/** What text is whose first line that is not blank begins none of our formats. */
export function nameText(firstLine: string): string {
  if (firstLine === '') return 'empty'
  // What a decoder could not read, and control characters that text does not have.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u0008\u000e-\u001f\ufffd]/.test(firstLine)) return 'binary data'
  if (firstLine.startsWith('version https://git-lfs')) {
    return 'a Git LFS pointer, not the file it stands for (git lfs pull)'
  }
  if (/^<(!doctype html|html|\?xml|[a-z!])/i.test(firstLine)) return 'a page of HTML or XML'
  if (firstLine.startsWith('[')) return 'a JSON array, not JSON lines'
  if (firstLine.startsWith('{')) {
    const names = fieldNames(firstLine)
    return names === undefined
      ? 'a JSON document, not JSON lines'
      : `JSON lines with the fields ${excerpt(names.join(', '))}`
  }
  if (/^"?-?\d/.test(firstLine)) return `a table without a header: ${excerpt(firstLine)}`
  if (/[,;\t]/.test(firstLine)) return `a table with the columns ${excerpt(firstLine)}`
  return `text: ${excerpt(firstLine)}`
}

function fieldNames(line: string): string[] | undefined {
  try {
    return Object.keys(JSON.parse(line) as object)
  } catch {
    return undefined
  }
}
