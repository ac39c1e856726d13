/**
 * What a model was asked with as one text that people can read and that says all of it: a heading for each message,
 * `### user` or `### assistant planner`, and its text. Lines of texts that would be read as a heading begin with a
 * backslash.
 */
import type { ChatMessage } from '../chat/messages.ts';

/** What stands in the place of what was left out; no role is called so. */
const LEFT_OUT = '### left out\n';
const HEADING = /^\\*### /u;

/** Messages come in many contexts. */
const blocks = new WeakMap<ChatMessage, string>();

function blockOf(message: ChatMessage): string {
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

/** The messages of a text that `contextText` wrote; null for one that is not whole, or was written otherwise. */
export function contextMessages(text: string): ChatMessage[] | null {
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

/** Whether a text that `contextText` wrote does not say all of its messages. */
export const isShortened = (text: string): boolean => text.startsWith(LEFT_OUT);

/** What stands between the texts of messages that follow each other. */
export const BETWEEN = '\n\n';

/**
 * Messages as one text; different messages give different texts, where they are not too long.
 * @param most characters; of a longer one the end is kept, and how many messages were left out is said before it
 */
export function contextText(messages: readonly ChatMessage[], most = Number.POSITIVE_INFINITY): string {
  const kept: string[] = [];
  let length = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    const block = message === undefined ? '' : blockOf(message);
    length += block.length;
    if (length > most && kept.length > 0) {
      kept.push(`${LEFT_OUT}${at + 1} earlier messages`);
      break;
    }
    kept.push(block.length > most ? `${LEFT_OUT}the beginning\n${block.slice(-most)}` : block);
  }
  return kept.toReversed().join(BETWEEN);
}
