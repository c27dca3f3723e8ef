/**
 * @module
 * What a message may quote of a file: short, on one line, and harmless to a terminal, whatever the file holds.
 */

const MOST = 80

export function excerpt(text: string): string {
  // Control characters, line and paragraph separators, marks that turn the direction of writing, halves of pairs.
  const plain = text
    .slice(0, MOST + 1)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffd]/gu, '?')
  return plain.length > MOST ? `${plain.slice(0, MOST - 3)}...` : plain
}
