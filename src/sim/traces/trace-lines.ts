/**
 * @module
 * Lines from pieces of text, whatever ends them: LF, CRLF, or CR alone. A piece may end anywhere.
 */

/** A longer line is no line of a trace; and what has no line ends must not fill the memory. */
export const MAX_LINE = 4 * 1024 * 1024

/** Yields lines without their ends. A line beyond `MAX_LINE` is cut there, and nothing follows it. */
export function* linesOf(pieces: Iterable<string>): Generator<string> {
  let rest = ''
  /** The last piece ended with CR: an LF at the start of the next one belongs to it. */
  let endsWithCr = false
  for (const piece of pieces) {
    let at = endsWithCr && piece.startsWith('\n') ? 1 : 0
    endsWithCr = piece.endsWith('\r')
    const ends = /\r\n|\n|\r/g
    ends.lastIndex = at
    for (let end = ends.exec(piece); end !== null; end = ends.exec(piece)) {
      const line = piece.slice(at, end.index)
      yield rest === '' ? line : rest + line
      rest = ''
      at = ends.lastIndex
    }
    rest += piece.slice(at)
    if (rest.length > MAX_LINE) {
      yield rest.slice(0, MAX_LINE + 1)
      return
    }
  }
  if (rest !== '') yield rest
}
