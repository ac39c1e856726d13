/** What an update did to the probabilities of tokens by their rank before it (TeamTR reference section 6). Pure. */
import type { StepMeasure } from './stepMeasure.ts';

/** The likeliest tokens before an update, and all others together as the last rank. */
const RANKS = [1, 2, 3, 4, 5, 6] as const;
type Rank = (typeof RANKS)[number];
/** Ranks of one token each. */
export const SINGLE_RANKS = RANKS.length - 1;

/** Means over the tokens of messages, by rank before the update; the last is the rest of the vocabulary. */
export interface RankShift {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

interface RankMeasure extends StepMeasure {
  readonly everyStep: false;
  readonly figure: null;
}

type Region = 'Inside' | 'Outside';
type Moment = 'Before' | 'After';
type RankName = `rank${Region}${Moment}${Rank}`;
type TurnsName = `rank${Region}Turns`;
export type RankMeasureName = RankName | TurnsName;

const SIDES: Readonly<Record<Region, string>> = { Inside: 'in the region', Outside: 'out of it' };

/** As tables name a rank. */
export const rankWords = (rank: number): string => (rank <= SINGLE_RANKS ? `rank ${String(rank)}` : 'all others');

const named = <Name extends RankMeasureName>(name: Name, title: string, written: number): [Name, RankMeasure] => [
  name,
  { title, written, everyStep: false, figure: null },
];

/** Of method teamtr with `teamtr.rank_shifts`; an update out of the region is measured before it goes back. */
export const RANK_MEASURES = Object.fromEntries(
  (['Inside', 'Outside'] as const).flatMap((region) => [
    named(`rank${region}Turns`, `Updates ${SIDES[region]}`, 0),
    ...RANKS.flatMap((rank) => [
      named(`rank${region}Before${rank}`, `Probability of ${rankWords(rank)} before updates ${SIDES[region]}`, 5),
      named(`rank${region}After${rank}`, `Probability of ${rankWords(rank)} after updates ${SIDES[region]}`, 5),
    ]),
  ]),
) as Readonly<Record<RankMeasureName, RankMeasure>>;

type RankMeasures = Partial<Readonly<Record<RankMeasureName, number>>>;

/** The mean over updates, each of which counts the same; nothing without one. */
export function rankMeasures(region: 'inside' | 'outside', shifts: readonly RankShift[]): RankMeasures {
  if (shifts.length === 0) {
    return {};
  }
  const name = region === 'inside' ? 'Inside' : 'Outside';
  const at = (values: (shift: RankShift) => readonly number[], rank: Rank): number =>
    shifts.reduce((sum, shift) => sum + (values(shift)[rank - 1] ?? 0), 0) / shifts.length;
  return Object.fromEntries([
    [`rank${name}Turns`, shifts.length],
    ...RANKS.flatMap((rank) => [
      [`rank${name}Before${rank}`, at(({ before }) => before, rank)] as const,
      [`rank${name}After${rank}`, at(({ after }) => after, rank)] as const,
    ]),
  ]);
}

/** One rank of all updates of some steps. */
export interface ShownRank {
  readonly region: 'inside' | 'outside';
  /** From 1; the last one is the rest of the vocabulary. */
  readonly rank: number;
  readonly before: number;
  readonly after: number;
  /** Updates that it is the mean of. */
  readonly updates: number;
}

/** What is drawn of a run's steps: ranks of updates in the region, then of those out of it. */
export function shownRanks(steps: readonly RankMeasures[]): readonly ShownRank[] {
  return (['inside', 'outside'] as const).flatMap((region) => {
    const name = region === 'inside' ? 'Inside' : 'Outside';
    const some = steps.filter((step) => (step[`rank${name}Turns`] ?? 0) > 0);
    const updates = some.reduce((sum, step) => sum + (step[`rank${name}Turns`] ?? 0), 0);
    const meanOf = (key: RankName): number =>
      some.reduce((sum, step) => sum + (step[key] ?? 0) * (step[`rank${name}Turns`] ?? 0), 0) / updates;
    return updates === 0
      ? []
      : RANKS.map((rank) => ({
          region,
          rank,
          before: meanOf(`rank${name}Before${rank}`),
          after: meanOf(`rank${name}After${rank}`),
          updates,
        }));
  });
}
