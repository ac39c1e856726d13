/**
 * Objects that hold several conversations: tables by columns, as TRL, pandas, data sets and Weights & Biases write
 * them, and conversations by their names.
 */
import type { Fields } from '../chat/fields.ts';
import { opened } from '../chat/pythonLiteral.ts';
import { isRecord } from '../shared/guard.ts';
import { isConversation } from './conversations.ts';
import { rowsOf } from './columns.ts';

/** The conversations that an object holds, which is none itself; null where it holds them in no such form. */
export function conversationsIn(value: unknown): readonly Fields[] | null {
  if (!isRecord(value)) {
    return null;
  }
  const rows = rowsOf(value);
  if (rows !== null && rows.some(isConversation)) {
    return rows;
  }
  const [only, ...others] = Object.values(value).filter((one) => typeof one === 'object' && one !== null);
  return named(value) ?? (others.length === 0 && isRecord(only) ? named(only) : null);
}

/** Conversations by their names: several, or one that is a list. Whatever else there is says nothing. */
function named(value: Fields): readonly Fields[] | null {
  const held = Object.entries(value).flatMap(([id, one]) => {
    const given = opened(one);
    return typeof given === 'object' && given !== null ? [{ id, given }] : [];
  });
  const [first] = held;
  return first !== undefined &&
    (held.length > 1 || Array.isArray(first.given)) &&
    held.every(({ given }) => isConversation(given))
    ? held.map(({ id, given }) => {
        const known = isRecord(given) ? given : { messages: given };
        // The key of the only list is no name, where something is said beside it.
        return held.length === 1 && Object.keys(value).length > 1 ? { ...value, ...known } : { id, ...known };
      })
    : null;
}
