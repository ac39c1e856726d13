/** Reads the key `rounds` of a protocol, which repeats a team's turns. */

import type { WholeOption } from '../environment/kind.ts';
import { findEnvironmentKind, ENVIRONMENT_KINDS } from '../environment/kinds.ts';
import { asMapping, suggestName, type KeyPath, type SourceDocument } from './document.ts';
import { MEMORY_MODES, type History } from './history.ts';
import type { Occurrence, Protocol } from './protocol.ts';
import { eventsPerRound } from './rounds.ts';
import { isOneByOne, MEMORIES, ORDERS, type EnvironmentCall, type Rounds } from './roundsForm.ts';

const ROUND_KEYS = ['turns', 'order', 'environment', 'until', 'memory', 'closing', 'discount', 'max_events', 'history'];
const CALL_KEYS = ['name', 'after', 'of'];
const DEFAULT_MAX_EVENTS = 64;
const LIMITS = { turns: 64, max_events: 512, calls: 16 } as const;

/** Settings of rounds that replace those of a file. */
export interface GivenRounds {
  readonly turns?: number;
  readonly discount?: number;
  /** The call between two rounds, in place of the file's calls there; the file's calls after a turn stay. */
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly history?: Readonly<Record<string, unknown>>;
}

/** A call with its place: the index of a turn, or null between two rounds. */
interface PlacedCall {
  readonly call: EnvironmentCall;
  readonly after: number | null;
}

/**
 * Reads `{turns, order?, environment?, until?, memory?, closing?, discount?, max_events?, history?}`:
 * - `turns`: largest number of rounds; required unless the order is `chosen` or `drawn`, where the default is as many
 *   as `max_events` allows.
 * - `order`: by_role (default), fixed, reverse, random, drawn or chosen. All but by_role need roles without
 *   `depends_on`.
 * - `environment`: a name, or `{name, after?, of?, ...options}`, or a list of these. `after` is the id of a turn;
 *   without it the environment is called between two rounds. `of` is the role whose messages it reads.
 * - `until`: ends the episode after a round whose rewards add up to it.
 * - `closing`: an environment that is called once at the end and whose event is scored. Messages are then scored only
 *   if the file says so.
 * - `history`: `{memory, prompts, responses}`, if an environment asks every role anew between rounds.
 * @param team one round
 * @param isScoringNamed true if the file names the scored messages
 * @param given settings that replace those of the file
 * @throws C3Error('input') with the source, line and key
 */
export function readRounds(
  value: unknown,
  team: Protocol,
  isScoringNamed: boolean,
  document: SourceDocument,
  given: GivenRounds = {},
): Protocol {
  const path: KeyPath = ['rounds'];
  const { error } = document;
  const written = asMapping(value, path, ROUND_KEYS, document);
  const fields = new Map<string, unknown>([...written, ...Object.entries(given)]);
  const at = (key: string): KeyPath => [...path, key];
  const order = readOneOf(fields.get('order'), ORDERS, at('order'), document);
  const memory = readOneOf(fields.get('memory'), MEMORIES, at('memory'), document);
  if (order !== 'by_role' && team.occurrences.some(({ parents }) => parents.length > 0)) {
    throw error(at('order'), `is '${order}', and 'depends_on' orders the roles too; take one of the two out.`);
  }
  if (isOneByOne(order) && team.occurrences.length !== team.roles.length) {
    throw error(at('order'), `is '${order}': list roles without 'turns', each is a speaker to choose.`);
  }
  const own = readCalls(written.get('environment'), at('environment'), team, document);
  const calls =
    given.environment === undefined
      ? own
      : [
          ...own.filter(({ after }) => after !== null),
          ...readCalls(given.environment, at('environment'), team, document),
        ];
  const [closing = null] = fields.has('closing') ? readCalls(fields.get('closing'), at('closing'), team, document) : [];
  const counted = {
    order,
    size: team.occurrences.length,
    after: groupByTurn(calls, order === 'reverse' ? team.occurrences.length - 1 : null),
    between: calls.flatMap(({ call, after }) => (after === null ? [call] : [])),
  };
  const each = eventsPerRound(counted);
  const ending = closing === null ? 0 : 1;
  const maxEvents = readWholeNumber(
    fields.get('max_events') ?? DEFAULT_MAX_EVENTS,
    LIMITS.max_events,
    at('max_events'),
    document,
  );
  if (each + ending > maxEvents) {
    throw error(at('max_events'), `is ${maxEvents}, and one round has ${each + ending} events; raise it.`);
  }
  const allowed = Math.min(LIMITS.turns, Math.floor((maxEvents - ending) / each));
  const turns =
    isOneByOne(order) && !fields.has('turns')
      ? allowed
      : readWholeNumber(fields.get('turns'), LIMITS.turns, at('turns'), document);
  if (turns > allowed) {
    throw error(
      at('turns'),
      `is ${turns}: ${turns * each + ending} events, more than max_events (${maxEvents}); change one of the two.`,
    );
  }
  const isScored = closing === null || isScoringNamed;
  if (isOneByOne(order) && (closing === null || isScoringNamed)) {
    throw error(
      path,
      "lets each message have any speaker, so who speaks last is not known: score with 'closing: last', and no role.",
    );
  }
  const until = fields.get('until') ?? null;
  if (until !== null && (typeof until !== 'number' || !Number.isFinite(until) || !isScored)) {
    throw error(at('until'), isScored ? 'must be a number.' : 'needs scored messages; give a role with_answer: true.');
  }
  const discount = fields.get('discount') ?? 1;
  if (typeof discount !== 'number' || !(discount > 0 && discount <= 1)) {
    throw error(at('discount'), 'must be a number above 0 and at most 1.');
  }
  const historyOf = readHistory(fields.get('history'), at('history'), calls, document);
  const rounds: Rounds = {
    ...counted,
    turns,
    until,
    memory,
    closing: closing?.call ?? null,
    discount,
    maxEvents,
    ...historyOf,
  };
  return { ...team, occurrences: unfoldRounds(team, rounds, isScored), rounds };
}

/** Reads a role's memory of its own turns; needs an environment that asks it between rounds. */
function readHistory(
  value: unknown,
  path: KeyPath,
  calls: readonly PlacedCall[],
  document: SourceDocument,
): { readonly history?: History } {
  if (value === undefined) {
    return {};
  }
  const { error } = document;
  if (!calls.some(({ after }) => after === null)) {
    throw error(path, 'needs an environment that asks the roles between two rounds, such as level_feedback.');
  }
  const fields = asMapping(value, path, ['memory', 'prompts', 'responses'], document);
  const flag = (key: string, preset: boolean): boolean => {
    const given = fields.get(key) ?? preset;
    if (typeof given !== 'boolean') {
      throw error([...path, key], 'must be true or false.');
    }
    return given;
  };
  const memory = readOneOf(fields.get('memory') ?? 'full', MEMORY_MODES, [...path, 'memory'], document);
  return { history: { memory, prompts: flag('prompts', false), responses: flag('responses', true) } };
}

function readOneOf<Value extends string>(
  value: unknown,
  values: readonly [Value, ...Value[]],
  path: KeyPath,
  { error }: SourceDocument,
): Value {
  const found = value === undefined ? values[0] : values.find((one) => one === value);
  if (found === undefined) {
    throw error(path, `must be one of ${values.join(', ')}.`);
  }
  return found;
}

/** Reads a whole number, also in text form. Null and every word in `all` stand for 0. */
function readWholeOption(
  value: unknown,
  { number, all }: WholeOption,
  path: KeyPath,
  { error }: SourceDocument,
): string {
  if (value === undefined) {
    return number;
  }
  const given = typeof value === 'string' ? value.trim() : value;
  if (given === null || (typeof given === 'string' && all.includes(given))) {
    return '0';
  }
  const whole = typeof given === 'string' && /^[+-]?\d{1,9}$/u.test(given) ? Number(given) : given;
  if (typeof whole !== 'number' || !Number.isSafeInteger(whole)) {
    throw error(path, `must be a whole number, below 0 to count from the end, or ${all.join(' or ')}.`);
  }
  return String(whole);
}

function readWholeNumber(value: unknown, most: number, path: KeyPath, { error }: SourceDocument): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most) {
    throw error(path, `must be a whole number from 1 to ${most}.`);
  }
  return value;
}

function readCalls(value: unknown, path: KeyPath, team: Protocol, document: SourceDocument): PlacedCall[] {
  if (value === undefined) {
    return [];
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > LIMITS.calls) {
    throw document.error(path, `has ${list.length} environments; at most ${LIMITS.calls} are possible.`);
  }
  return list.map((item, index) => readCall(item, Array.isArray(value) ? [...path, index] : path, team, document));
}

function readCall(value: unknown, path: KeyPath, team: Protocol, document: SourceDocument): PlacedCall {
  const { error } = document;
  const given = typeof value === 'string' ? { name: value } : value;
  const name: unknown = typeof given === 'object' && given !== null && 'name' in given ? given.name : undefined;
  const kind = typeof name === 'string' ? findEnvironmentKind(name) : undefined;
  if (kind === undefined) {
    const names = ENVIRONMENT_KINDS.map((one) => one.name);
    const wrong =
      typeof name === 'string' ? `no environment is called '${name.slice(0, 100)}'; ` : 'names no environment; ';
    throw error(path, wrong + suggestName(typeof name === 'string' ? name : '', names));
  }
  const fields = asMapping(given, path, [...CALL_KEYS, ...Object.keys(kind.options)], document);
  const options = Object.entries(kind.options).map(([key, values]): [string, string] => [
    key,
    'number' in values
      ? readWholeOption(fields.get(key), values, [...path, key], document)
      : readOneOf(fields.get(key), values, [...path, key], document),
  ]);
  const named = (key: string, names: readonly string[], what: string): string | null => {
    const found = fields.get(key) ?? null;
    if (found !== null && typeof found !== 'string') {
      throw error([...path, key], `must be the name of a ${what}.`);
    }
    if (found !== null && !names.includes(found)) {
      throw error([...path, key], `no ${what} is called '${found.slice(0, 100)}'; ${suggestName(found, names)}`);
    }
    return found;
  };
  const ids = team.occurrences.map(({ id }) => id);
  const after = named('after', ids, 'turn');
  if (team.roles.some((role) => role.name === kind.name || role.name === `${kind.name}_output`)) {
    throw error(path, `a role is called '${kind.name}' too; rename the role.`);
  }
  const of = named(
    'of',
    team.roles.map((role) => role.name),
    'role',
  );
  return {
    call: { name: kind.name, options: Object.fromEntries(options), of },
    after: after === null ? null : ids.indexOf(after),
  };
}

/** Groups calls by the turn before them. @param reversed the last index, if turns come in reverse */
function groupByTurn(
  calls: readonly PlacedCall[],
  reversed: number | null,
): ReadonlyMap<number, readonly EnvironmentCall[]> {
  const after = new Map<number, EnvironmentCall[]>();
  for (const { call, after: index } of calls) {
    if (index !== null) {
      const slot = reversed === null ? index : reversed - index;
      after.set(slot, [...(after.get(slot) ?? []), call]);
    }
  }
  return after;
}

/** Returns every possible occurrence, round after round; `ancestors` are all that one may see. */
function unfoldRounds(team: Protocol, { order, turns, memory, size }: Rounds, isScored: boolean): Occurrence[] {
  const body = order === 'reverse' ? team.occurrences.toReversed() : team.occurrences;
  const spoken = new Map<string, number>();
  const all: Occurrence[] = [];
  for (let round = 0; round < turns; round++) {
    const start = round * size;
    for (const [slot, { role, scored, ...one }] of body.entries()) {
      const turn = spoken.get(role) ?? 0;
      spoken.set(role, turn + 1);
      const others = (length: number): number[] => Array.from({ length }, (_, index) => start + index);
      const own =
        order === 'by_role'
          ? one.ancestors.map((index) => start + index)
          : others(order === 'random' ? size : slot).filter((position) => position !== start + slot);
      const seen = memory === 'full' || isOneByOne(order) ? 0 : Math.max(0, start - size);
      const earlier = Array.from({ length: start - seen }, (_, index) => seen + index);
      all.push({
        id: round === 0 ? one.id : `${one.id}/${round + 1}`,
        role,
        turn,
        position: start + slot,
        parents: [...earlier.slice(-size), ...own],
        ancestors: [...earlier, ...own],
        scored: scored && isScored,
      });
    }
  }
  return all;
}
