/**
 * Teams whose exact chances are known: each message is one of a few texts, and a function of all
 * texts gives the chance that the episode is won. There are chains of 2 to 8 messages with two, one
 * or no culprits, messages of random quality, episodes that end early, and votes.
 */

import { openStream, uniform, type Stream } from '../../../credit/counter.ts';

/** A sequence of pseudorandom numbers. */
export class Numbers {
  private readonly stream: Stream;
  private position = 0;

  constructor(seed: number, index: number) {
    this.stream = openStream(seed, index);
  }

  next(): number {
    return uniform(this.stream, this.position++);
  }

  /** Returns an integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }
}

export const TEAM_KINDS = ['single', 'double', 'none', 'graded', 'ends early', 'vote'] as const;
export type TeamKind = (typeof TEAM_KINDS)[number];

export interface EnumeratedTeam {
  readonly kind: TeamKind;
  /** Messages of an episode that does not end early. */
  readonly messages: number;
  /** Number of possible texts of a message, all equally likely. */
  readonly texts: number;
  /** Returns the chance that these texts score 1, or null if the episode is not over. */
  readonly chance: (said: readonly number[]) => number | null;
}

/** A lost episode of a team. */
export interface LostEpisode {
  readonly team: EnumeratedTeam;
  readonly said: readonly number[];
}

const RIGHT = 2;

/** Returns the lost episode with this number, which alone determines its team and its texts. */
export function drawLostEpisode(number: number): LostEpisode {
  const numbers = new Numbers(0xb1a3e, number);
  const kind = TEAM_KINDS[number % TEAM_KINDS.length] ?? 'single';
  const messages = 2 + (Math.floor(number / TEAM_KINDS.length) % 7);
  const texts = messages > 6 ? 3 : 4;
  const low = 0.02 + 0.13 * numbers.next();
  const high = 0.75 + 0.2 * numbers.next();
  const first = numbers.below(messages);
  const second = (first + 1 + numbers.below(messages - 1)) % messages;
  const qualities = Array.from({ length: messages }, () =>
    Array.from({ length: texts }, () => Math.min(1, 0.35 + numbers.next())),
  );
  const whole = (chance: (said: readonly number[]) => number) => (said: readonly number[]) =>
    said.length < messages ? null : chance(said);
  const failing =
    (...places: readonly number[]) =>
    (said: readonly number[]) =>
      places.reduce((chance, place) => (said[place] === 0 ? chance - (high - low) / places.length : chance), high);
  const chances: Readonly<Record<TeamKind, EnumeratedTeam['chance']>> = {
    single: whole(failing(first)),
    double: whole(failing(first, second)),
    none: whole(() => low / 2),
    graded: whole((said) => said.reduce((chance, text, place) => chance * (qualities[place]?.[text] ?? 1), high)),
    'ends early': (said) => (said.at(-1) === 0 && said.length > first ? 0 : said.length < messages ? null : high),
    vote: whole((said) => (2 * said.filter((text) => text >= RIGHT).length > messages ? high : low)),
  };
  const team: EnumeratedTeam = { kind, messages, texts, chance: chances[kind] };
  const planted = kind === 'single' ? [first] : kind === 'double' ? [first, second] : [];
  for (;;) {
    const said: number[] = [];
    while (team.chance(said) === null) {
      said.push(planted.includes(said.length) ? 0 : numbers.below(texts));
    }
    if (numbers.next() >= (team.chance(said) ?? 0)) {
      return { team, said };
    }
  }
}

/** Returns the exact chance of winning after these texts. */
export function computeChance(team: EnumeratedTeam, said: readonly number[]): number {
  const known = team.chance(said);
  if (known !== null) {
    return known;
  }
  let sum = 0;
  for (let text = 0; text < team.texts; text++) {
    sum += computeChance(team, [...said, text]);
  }
  return sum / team.texts;
}

/** Returns true if the protocol determines that the message at this place is the last one. */
export const isTerminalAt = ({ kind, messages }: EnumeratedTeam, place: number): boolean =>
  kind !== 'ends early' && place === messages - 1;

/** Draws a pair of returns, of the message and a fresh one, both continued with the same texts. */
export function drawPair({ team, said }: LostEpisode, place: number, numbers: Numbers): readonly [number, number] {
  const before = said.slice(0, place);
  const later = Array.from({ length: team.messages }, () => numbers.below(team.texts));
  const score = (begun: readonly number[]): number => {
    const all = [...begun];
    let chance = team.chance(all);
    for (; chance === null; chance = team.chance(all)) {
      all.push(later[all.length] ?? 0);
    }
    return numbers.next() < chance ? 1 : 0;
  };
  const fresh = score([...before, numbers.below(team.texts)]);
  // The last message ends the episode again, with the recorded return of 0.
  return [place === said.length - 1 ? 0 : score(said.slice(0, place + 1)), fresh];
}
