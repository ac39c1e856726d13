/**
 * Writes the messages of a request as one readable text without loss, and reads it back. Each
 * message is a heading, such as `### user` or `### assistant planner`, and its text. A line of a
 * text that looks like a heading begins with a backslash.
 */

import type { ChatMessage } from '../chat/messages.ts';

/** The heading of the note about messages that were left out. No role has this name. */
const LEFT_OUT = '### left out\n';
const HEADING = /^\\*### /u;

/** The written form of each message, because the same message occurs in many contexts. */
const blocks = new WeakMap<ChatMessage, string>();

function writeBlock(message: ChatMessage): string {
  const known = blocks.get(message);
  if (known !== undefined) {
    return known;
  }
  const { role, name, text } = message;
  const lines = text.split('\n').map((line) => (HEADING.test(line) ? `\\${line}` : line));
  const block = [`### ${role}${name === null ? '' : ` ${name.replace(/\s/gu, ' ')}`}`, ...lines].join('\n');
  blocks.set(message, block);
  return block;
}

const ROLES: readonly ChatMessage['role'][] = ['system', 'user', 'assistant', 'tool'];

/** Reads the messages from a text of `contextText`. Returns null for any other text. */
export function readContextText(text: string): ChatMessage[] | null {
  const messages: ChatMessage[] = [];
  for (const block of text.split(/\n\n(?=### )/u)) {
    const [, named, name = null] = /^### (\w+)(?: (.*))?$/mu.exec(block.split('\n', 1)[0] ?? '') ?? [];
    const role = ROLES.find((one) => one === named);
    if (role === undefined) {
      return null;
    }
    const lines = block.split('\n').slice(1);
    messages.push({ role, name, text: lines.map((line) => line.replace(/^\\(?=\\*### )/u, '')).join('\n') });
  }
  return messages;
}

/** Returns true if a text of `contextText` lacks some of its messages. */
export const isShortened = (text: string): boolean => text.startsWith(LEFT_OUT);

/** The separator between the texts of successive messages. */
export const BETWEEN = '\n\n';

/**
 * Writes messages as one text. Different messages give different texts unless they are shortened.
 * @param most characters; of a longer text the end is kept, after a note of how many messages were
 *   left out
 */
export function contextText(messages: readonly ChatMessage[], most = Number.POSITIVE_INFINITY): string {
  const kept: string[] = [];
  let length = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    const block = message === undefined ? '' : writeBlock(message);
    length += block.length;
    if (length > most && kept.length > 0) {
      kept.push(`${LEFT_OUT}${at + 1} earlier messages`);
      break;
    }
    kept.push(block.length > most ? `${LEFT_OUT}the beginning\n${block.slice(-most)}` : block);
  }
  return kept.toReversed().join(BETWEEN);
}
