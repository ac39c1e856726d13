/**
 * Reads episodes of LangGraph's threads. The steps between checkpoints give the context of each
 * message. Messages that a summary removed later are in the earlier contexts, and the summary is in
 * the later ones.
 */

import { fieldsAt, listAtKey, textAt, type Fields } from '../chat/fields.ts';
import { toChatMessage, parseMessages, findQuestion, withToolNames } from '../chat/messages.ts';
import type { ChatMessage, ParsedMessage } from '../chat/messages.ts';
import { readSpentTokens } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import { BEYOND_MESSAGES, MOST_MESSAGES } from './conversations.ts';
import {
  ownContext,
  type ListedContext,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedMessage,
  type Survey,
} from './episode.ts';
import { fieldsOf, MOST_KEYS } from './langGraphState.ts';
import { soleSpeaker } from './promptLabels.ts';

/** The most characters of a state's key that are shown. */
const MOST_NAME = 60;
/** The most steps of a thread that are read. Most steps have a message. */
const MOST_STEPS = 2 * MOST_MESSAGES;
const BEYOND_STEPS = `steps beyond the first ${MOST_STEPS.toLocaleString('en')} of a thread`;
/** Lists that all nodes share by convention. Every other list belongs to one agent. */
const SHARED = ['chat_history', 'conversation', 'history', 'messages'];
/** Keys of a state that may hold the question if no message asks one. */
const QUESTIONS = ['question', 'query', 'input', 'task', 'topic'];
/** The most reasons that name a key of a state, because a log may have any number of keys. */
const MOST_REASONS = 100;

/** Returns true if a value is a line of the file into which a checkpoint database is read. */
export const isThread = (value: unknown): boolean => isRecord(value) && value['langgraph_thread'] === true;

/** A message of the pool: the messages that it is parsed into, and its id. */
interface Pooled {
  readonly messages: readonly ParsedMessage[];
  readonly chat: readonly ChatMessage[];
  readonly id: string | null;
  /** The message as the log has it. */
  readonly given: Fields;
}

/**
 * Returns the episode of a thread, or null if no model says anything.
 * @param value a line of `ThreadSteps`; parts in any other form are skipped
 * @param id used if the thread has no id of its own
 */
export function threadEpisode(value: unknown, id: string, survey: Survey): RecordedEpisode | null {
  const [given, steps] = [listAtKey(value, 'pool'), listAtKey(value, 'steps')];
  survey.leaveOut(BEYOND_MESSAGES, given.length - MOST_MESSAGES);
  survey.leaveOut(BEYOND_STEPS, steps.length - MOST_STEPS);
  const pool = parsePool(given.slice(0, MOST_MESSAGES));
  survey.leaveOut('entries of conversations that are not messages', pool.filter((one) => one.chat.length === 0).length);
  const messages = pool.flatMap((one) => one.messages);
  if (!messages.some(({ role }) => role === 'assistant')) {
    return null;
  }
  const read = steps.slice(0, MOST_STEPS).filter(isRecord);
  return {
    id: (isRecord(value) ? textAt(value, 'id') : null) ?? id,
    question: questionIn(messages, read),
    answer: '',
    return: null,
    entries: entriesOf(pool, read, survey),
  };
}

function questionIn(messages: readonly ParsedMessage[], steps: readonly Fields[]): string {
  const isAsked = messages.some(({ role }) => role === 'user');
  const texts = isAsked
    ? []
    : steps.map(({ texts: changed }) => textAt(isRecord(changed) ? changed : {}, ...QUESTIONS));
  return texts.find((text) => text !== null) ?? findQuestion(messages);
}

function parsePool(given: readonly unknown[]): Pooled[] {
  const parsed = given.map((one) => parseMessages([one]));
  const named = withToolNames(parsed.flat());
  let at = 0;
  return parsed.map(({ length }, index) => {
    const messages = named.slice(at, at + length);
    at += length;
    return {
      messages,
      chat: messages.map(toChatMessage),
      id: textAt(fieldsOf(given[index]), 'id'),
      given: fieldsOf(given[index]),
    };
  });
}

interface Added {
  readonly place: number;
  readonly message: number;
  readonly task: number;
}

interface Change {
  readonly key: string;
  readonly removed: ReadonlySet<number>;
  readonly added: readonly Added[];
}

function* entriesOf(
  pool: readonly Pooled[],
  steps: readonly Fields[],
  survey: Survey,
): Generator<RecordedMessage | RecordedEvent> {
  const state = new State(pool);
  let begun = false;
  for (const step of steps) {
    const nodes = listAtKey(step, 'nodes');
    const changes = readChanges(step, pool.length);
    for (const { key, one, added } of state.newOnes(changes)) {
      const before: ChatMessage[] = [];
      for (const { role, name: own, text, finish } of one.messages) {
        if (role === 'assistant' && step['given'] !== true) {
          const node = nodes[added.task];
          const context = state.context(key, changes, added, before);
          const name = own ?? (typeof node === 'string' && node !== '' ? node : null);
          const seen = context.list.slice(0, name === null ? context.length : 0);
          const label = name === null ? soleSpeaker(seen, survey.named()) : { name, by: 'name' as const };
          const speaker = survey.speaker(label.name, label.by);
          const model = textAt(fieldsAt(one.given, 'response_metadata'), 'model_name', 'model');
          const spent = readSpentTokens(fieldsAt(one.given, 'usage_metadata'));
          yield { kind: 'message', speaker, context, text, model, ...spent, finish };
          begun = true;
        } else if (begun && (role === 'user' || role === 'tool')) {
          yield { kind: 'event', source: role === 'user' ? 'user' : (own ?? 'tool'), text };
        }
        before.push(toChatMessage({ role, name: own, text }));
      }
    }
    state.apply(changes, isRecord(step['texts']) ? step['texts'] : {});
  }
  for (const key of state.unseen) {
    const named = survey.leftOut.size < MOST_REASONS ? `the key "${toOneLine(key, MOST_NAME)}"` : 'further keys';
    survey.leaveOut(`texts of states under ${named} that no message followed`);
  }
}

const parts = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function readChanges(step: Fields, most: number): Change[] {
  const isPlace = (place: unknown): place is number =>
    typeof place === 'number' && Number.isSafeInteger(place) && place >= 0;
  return listAtKey(step, 'lists').flatMap((change): Change[] => {
    const [key, removed, added] = parts(change);
    if (typeof key !== 'string' || !Array.isArray(removed) || !Array.isArray(added)) {
      return [];
    }
    return [
      {
        key,
        removed: new Set(removed.filter(isPlace)),
        added: added.flatMap((one: unknown): Added[] => {
          const [place, message, task] = parts(one);
          return isPlace(place) && isPlace(message) && isPlace(task) && message < most
            ? [{ place, message, task }]
            : [];
        }),
      },
    ];
  });
}

interface NewMessage {
  readonly key: string;
  readonly one: Pooled;
  readonly added: Added;
}

/** A state as one list's messages see it. */
interface Seen {
  readonly list: ChatMessage[];
  /** Indices of the messages in `list`. */
  readonly known: Set<number>;
  /** The number of messages of the own list that are in `list`. */
  own: number;
}

/** The state of a thread, updated step by step. */
class State {
  /** The keys of texts that entered after the last message. */
  readonly unseen = new Set<string>();
  private readonly pool: readonly Pooled[];
  private readonly lists = new Map<string, number[]>();
  private readonly texts = new Map<string, ChatMessage>();
  /** The state as messages of each list see it, until more than the end of that list changes. */
  private readonly seen = new Map<string, Seen>();
  /** Messages that were returned already, by index and by id with text. */
  private readonly said = new Set<number | string>();

  constructor(pool: readonly Pooled[]) {
    this.pool = pool;
  }

  /**
   * Returns the messages that occur first in this step. A message that is in several lists or has
   * other metadata counts once.
   */
  newOnes(changes: readonly Change[]): NewMessage[] {
    const { said, pool } = this;
    return changes.flatMap(({ key, added }) =>
      added.flatMap((one): NewMessage[] => {
        const found = pool[one.message];
        const words =
          found?.id === undefined || found.id === null
            ? one.message
            : JSON.stringify([found.id, found.messages.map(({ role, text }) => [role, text])]);
        if (found === undefined || said.has(one.message) || said.has(words)) {
          return [];
        }
        said.add(one.message).add(words);
        return [{ key, one: found, added: one }];
      }),
    );
  }

  /**
   * Returns the input of a message: the texts and lists before the step, and what its task added
   * before it.
   * @param key of its list
   * @param before earlier messages of its own entry
   */
  context(
    key: string,
    changes: readonly Change[],
    { place, task }: Added,
    before: readonly ChatMessage[],
  ): ListedContext {
    this.unseen.clear();
    const made = changes.find((change) => change.key === key)?.added ?? [];
    const step: number[] = [];
    for (const one of made) {
      if (one.place >= place) {
        break;
      }
      if (one.task === task) {
        step.push(one.message);
      }
    }
    const { list, known } = this.stateFor(key);
    const added = [...new Set(step)]
      .filter((message) => !known.has(message))
      .flatMap((message) => this.pool[message]?.chat ?? []);
    return added.length + before.length === 0
      ? { list, length: list.length }
      : ownContext([...list, ...added, ...before]);
  }

  /** Returns the state as messages of one list see it, extended if only that list grew. */
  private stateFor(key: string): Seen {
    const own = this.lists.get(key) ?? [];
    const seen = this.seen.get(key);
    if (seen === undefined) {
      const shared = SHARED.filter((other) => other !== key).flatMap((other) => this.lists.get(other) ?? []);
      const known = new Set([...shared.filter(createExclusion(shared, own)), ...own]);
      const list = [...this.texts.values(), ...[...known].flatMap((message) => this.pool[message]?.chat ?? [])];
      const made = { list, known, own: own.length };
      this.seen.set(key, made);
      return made;
    }
    for (; seen.own < own.length; seen.own++) {
      const message = own[seen.own] ?? -1;
      if (seen.known.has(message)) {
        // It was there already, in another list.
        this.seen.delete(key);
        return this.stateFor(key);
      }
      seen.known.add(message);
      seen.list.push(...(this.pool[message]?.chat ?? []));
    }
    return seen;
  }

  apply(changes: readonly Change[], texts: Fields): void {
    for (const { key, removed, added } of changes) {
      if (this.lists.has(key) || this.lists.size < MOST_KEYS) {
        const list = this.lists.get(key) ?? [];
        const after = applyListChange(list, removed, added);
        this.lists.set(key, after);
        // Lists that all nodes share are in the state of the other lists too.
        for (const other of [...this.seen.keys()].filter((one) => one !== key || after !== list)) {
          if (other === key || SHARED.includes(key)) {
            this.seen.delete(other);
          }
        }
      }
    }
    for (const [key, text] of Object.entries(texts)) {
      this.seen.clear();
      if (typeof text !== 'string') {
        this.texts.delete(key);
      } else if (this.texts.has(key) || this.texts.size < MOST_KEYS) {
        this.texts.set(key, { role: 'system', name: key, text });
        this.unseen.add(key);
      }
    }
  }
}

/** Returns a filter for messages that are not in another list. An empty list needs no index. */
function createExclusion(list: readonly number[], other: readonly number[]): (message: number) => boolean {
  const known = list.length === 0 ? new Set() : new Set(other);
  return (message) => !known.has(message);
}

function applyListChange(list: number[], removed: ReadonlySet<number>, added: readonly Added[]): number[] {
  if (removed.size === 0 && (added[0]?.place ?? 0) >= list.length) {
    for (const { message } of added) {
      list.push(message);
    }
    return list;
  }
  const kept = list.filter((_, place) => !removed.has(place));
  const made: number[] = [];
  let next = 0;
  for (const { place, message } of added) {
    const until = Math.min(kept.length, next + Math.max(0, place - made.length));
    for (; next < until; next++) {
      made.push(kept[next] ?? 0);
    }
    made.push(message);
  }
  for (; next < kept.length; next++) {
    made.push(kept[next] ?? 0);
  }
  return made;
}
