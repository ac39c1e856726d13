/**
 * Reads objects that hold several conversations: tables by columns, as TRL, pandas, data sets and
 * Weights & Biases write them, and objects with conversations by name.
 */

import type { Fields } from '../chat/fields.ts';
import { parseJsonOrPython } from '../chat/pythonLiteral.ts';
import { isRecord } from '../shared/guard.ts';
import { readTableRows, findRepeatedScalars } from './columns.ts';
import { isConversation, holdsConversation } from './conversations.ts';

/** Keys of the two sides of one conversation, which are not names of two conversations. */
const SIDES = ['input', 'inputs', 'output', 'outputs', 'request', 'response', 'prompt', 'completion'] as const;

/** Returns the conversations that an object holds, or null if it holds none in these forms. */
export function conversationsIn(value: unknown): readonly Fields[] | null {
  if (!isRecord(value)) {
    return null;
  }
  const rows = readTableRows(value);
  if (rows !== null && rows.some(holdsConversation)) {
    return rows;
  }
  const [only, ...others] = Object.values(value).filter((one) => typeof one === 'object' && one !== null);
  return named(value) ?? (others.length === 0 && isRecord(only) ? named(only) : null);
}

/** Returns conversations or lists of them by name: several, or a single list of messages. */
function named(value: Fields): readonly Fields[] | null {
  if (SIDES.some((key) => key in value)) {
    return null;
  }
  const held = Object.entries(value).flatMap(([id, one]) => {
    const given = parseJsonOrPython(one);
    if (Array.isArray(given) && !isConversation(given)) {
      // An item that is no conversation is kept, so that the import counts it.
      const items = given.some(isConversation) ? given : [];
      return items.map((item: unknown, at) => ({ id: `${id} ${at + 1}`, given: item }));
    }
    return typeof given === 'object' && isConversation(given) ? [{ id, given }] : [];
  });
  const [first] = held;
  if (first === undefined || (held.length === 1 && !Array.isArray(first.given))) {
    return null;
  }
  // If the object has other keys, the key of its only list is not a name.
  const isName = held.length > 1 || Object.keys(value).length === 1;
  const beside = findRepeatedScalars(value, held.length);
  return held.map(({ id, given }) => ({
    ...(isName ? { ...beside, id } : value),
    ...(isRecord(given) ? given : { messages: given }),
  }));
}
