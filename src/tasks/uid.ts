/** What makes two problems the same question. */
import { createHash } from 'node:crypto';

/**
 * The identity of a question: SHA-256 over UTF-8 of the text in NFC, with CRLF and CR as LF and no whitespace at its
 * end (the C3 paper's `uid_sha`; line ends inside the text keep theirs).
 * @returns 64 lower-case hex digits
 */
export function uidSha(question: string): string {
  return sha256(normaliseQuestion(question));
}

/**
 * The identity of a set of questions: SHA-256 of its sorted uidShas joined by newline; the order given does not matter.
 */
export function splitFingerprint(uidShas: readonly string[]): string {
  return sha256([...uidShas].sort().join('\n'));
}

/** The items in their order, each question once: a later item of the same uidSha is passed over. */
export function* distinctQuestions<Item extends { readonly uidSha: string }>(
  items: Iterable<Item>,
): Generator<Item, void, undefined> {
  const seen = new Set<string>();
  for (const item of items) {
    if (!seen.has(item.uidSha)) {
      seen.add(item.uidSha);
      yield item;
    }
  }
}

function normaliseQuestion(question: string): string {
  return question.normalize('NFC').replace(/\r\n?/gu, '\n').trimEnd();
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
