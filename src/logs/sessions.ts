/**
 * Reads sessions of coding agents (Claude Code) from the lines that they write while they work. A
 * line holds a piece of a message and the id of the previous line. Agents that the main one started
 * are side chains with their own contexts.
 */

import { fieldsAt, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import {
  toChatMessage,
  parseMessages,
  findQuestion,
  joinPieces,
  withToolNames,
  type ParsedMessage,
} from '../chat/messages.ts';
import { readSpentTokens } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import type { RecordedEpisode, RecordedEvent, RecordedMessage, Survey } from './episode.ts';
import { measureCall, readTime } from './steps.ts';

/** Returns the session that a line belongs to, or null for a value that is not a line. */
export const readSessionId = (value: unknown): string | null =>
  isRecord(value) && 'uuid' in value && 'parentUuid' in value ? textAt(value, 'sessionId', 'session_id') : null;

/** A message of a session, with its place in its chain. */
interface Place {
  message: ParsedMessage;
  readonly chain: string;
  /** Its last line, which describes the call. */
  line: Fields;
  /** The number of earlier messages in the chain. */
  readonly before: number;
}

/**
 * Returns the episode of a session, or null if no model says anything.
 * @param lines in the order of the log
 */
export function sessionEpisode(lines: readonly unknown[], id: string, survey: Survey): RecordedEpisode | null {
  const places: Place[] = [];
  const chains = new Map<string, Place[]>();
  const roots = new Map<string, string>();
  const pieces = new Map<string, Place>();
  for (const line of lines.filter(isRecord)) {
    const name = findChain(line, roots);
    const chain = chains.get(name) ?? [];
    chains.set(name, chain);
    const messages = parseMessages([line]);
    if (messages.length === 0) {
      survey.leaveOut('entries of conversations that are not messages');
    }
    for (const message of messages) {
      // Results may be written between the pieces of the message that asked for them.
      const piece = `${name} ${message.id ?? ''}`;
      const begun = message.id === null ? undefined : pieces.get(piece);
      if (begun !== undefined) {
        begun.message = joinPieces(begun.message, message);
        begun.line = line;
      } else {
        const place = { message, chain: name, line, before: chain.length };
        chain.push(place);
        places.push(place);
        pieces.set(piece, place);
      }
    }
  }
  if (!places.some(({ message: { role } }) => role === 'assistant')) {
    return null;
  }
  return {
    id,
    question: findQuestion((chains.get(MAIN) ?? places).map(({ message }) => message)),
    answer: '',
    return: null,
    entries: entriesOf(places, chains, survey),
  };
}

const MAIN = 'assistant';

/** Returns a line's role: the main one, or a side chain by its agent's id or first line. */
function findChain(line: Fields, roots: Map<string, string>): string {
  if (line['isSidechain'] !== true) {
    return MAIN;
  }
  const [own, parent, agent] = [textAt(line, 'uuid') ?? '', textAt(line, 'parentUuid'), valueAt(line, 'agentId')];
  const known = parent === null ? undefined : roots.get(parent);
  const root =
    typeof agent === 'string' ? `agent ${agent}` : (known ?? `side chain ${new Set(roots.values()).size + 1}`);
  roots.set(own, root);
  return root;
}

/** Returns a line's metadata of the call that it answers. */
function aboutLine(line: Fields): Pick<RecordedMessage, 'model' | 'promptTokens' | 'completionTokens' | 'measured'> {
  const message = fieldsAt(line, 'message');
  return {
    model: textAt(message, 'model'),
    ...readSpentTokens(fieldsAt(message, 'usage')),
    measured: measureCall({ start: readTime(line['timestamp']), end: 0n }, readMeasures(line)),
  };
}

function* entriesOf(
  places: readonly Place[],
  chains: ReadonlyMap<string, readonly Place[]>,
  survey: Survey,
): Generator<RecordedMessage | RecordedEvent> {
  const chats = new Map(
    [...chains].map(([name, chain]) => {
      const messages = withToolNames(chain.map(({ message }) => message));
      return [name, { messages, list: messages.map(toChatMessage) }] as const;
    }),
  );
  const by = chains.size > 1 ? 'name' : 'only speaker';
  let begun = false;
  for (const { chain, before, line } of places) {
    const chat = chats.get(chain);
    const message = chat?.messages[before];
    if (chat === undefined || message === undefined) {
      continue;
    }
    const { role, name, text, finish } = message;
    if (role === 'assistant') {
      begun = true;
      const context = { list: chat.list, length: before };
      const speaker = survey.speaker(name ?? chain, name === null ? by : 'name');
      yield { kind: 'message', speaker, context, text, ...aboutLine(line), finish };
    } else if (begun && role !== 'system') {
      yield { kind: 'event', source: role === 'user' ? 'user' : (name ?? 'tool'), text };
    }
  }
}
