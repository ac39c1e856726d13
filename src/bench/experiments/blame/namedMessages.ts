/**
 * `c3 bench named-messages`: tests if replacing the message that a search names saves more of a
 * run's lost episodes than replacing another one. Each message is replaced by fresh ones that no
 * rule has used.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { mean } from '../../../credit/describe.ts';
import { studentInterval } from '../../../credit/interval.ts';
import type { BlamedEpisode } from '../../../domain/answer.ts';
import { readRecipe } from '../../../engine/recipe/recipe.ts';
import { requireLastEvaluation, type Lost } from '../../../engine/replay/blameRun.ts';
import { EngineService } from '../../../engine/service.ts';
import { createTemporaryFolder } from '../../../files/temporaryFolder.ts';
import { isLost, type ReturnScale } from '../../../shared/credit/returns.ts';
import { CancelledError } from '../../../shared/errors.ts';
import type { ReplayParams, RunBlameParams } from '../../../shared/protocols/engineProtocol.ts';
import {
  makeFigure,
  describeHardware,
  type BenchFigure,
  type BenchReport,
  type TeamBenchOptions,
} from '../../report.ts';

/** The instances are evaluated problems, and the search covers the lost ones. */
const FULL = { instances: 512, steps: null, fresh: 16 } as const;
const QUICK = { instances: 48, steps: 2, fresh: 8 } as const;
/** Evaluator calls of the search for each lost episode. */
const CALLS_EACH = 32;
/** Alternatives of each message for the rule `the lowest credit of 8 replays each`. */
const REPLAYED = 8;
const NOTE_EVERY = 20;

/**
 * A lost episode for which a search names a message, with the returns of replacing each message.
 */
export interface Named {
  /** Tokens of each message; characters for a recording. */
  readonly lengths: readonly number[];
  /** The place that the search names. */
  readonly place: number;
  /** The returns of fresh messages at each place, as shares of the highest return. */
  readonly saved: readonly (readonly number[])[];
  /** The same for the alternatives of the rule `the lowest credit of 8 replays each`. */
  readonly replayed: readonly (readonly number[])[];
  /** Mean log-probability of the tokens of each message, or null for recordings, which have none. */
  readonly likelihoods: readonly number[] | null;
}

/** The messages that each rule replaces, as a share for each place; null where the rule has no data. */
const RULES: Readonly<Record<string, (episode: Named) => readonly number[] | null>> = {
  'a random message': ({ lengths }) => lengths.map(() => 1 / lengths.length),
  'the longest message': ({ lengths }) => shareAmongHighest(lengths),
  'the last message': ({ lengths }) => shareAmongHighest(lengths.map((_, place) => place)),
  'the least likely message': ({ likelihoods }) => likelihoods && shareAmongHighest(likelihoods.map((one) => -one)),
  'the lowest credit of 8 replays each': ({ replayed }) => shareAmongHighest(replayed.map(mean)),
};

/** Divides the share equally among the places with the highest value. */
function shareAmongHighest(values: readonly number[]): number[] {
  const most = Math.max(...values);
  const count = values.filter((value) => value === most).length;
  return values.map((value) => (value === most ? 1 / count : 0));
}

/** The run whose lost episodes are searched. */
type Searched = Pick<RunBlameParams, 'run' | 'team'>;

/** Measures one team in a temporary folder. @throws CancelledError; C3Error */
export async function benchNamedMessages(options: TeamBenchOptions): Promise<BenchReport> {
  const { quick, config, folder, signal, note } = options;
  const { instances, steps, fresh } = quick ? QUICK : FULL;
  const overrides = [`evaluation.instances=${instances}`, ...(steps === null ? [] : [`steps=${steps}`])];
  const recipe = await readRecipe(config, overrides, folder);
  const home = createTemporaryFolder('bench-named');
  const service = new EngineService(join(home, 'c3.sqlite'));
  try {
    const { run } = await service.run(recipe, { signal, onProgress: () => undefined });
    const figures = await measureNamedMessages(service, { run }, fresh, { signal, note });
    return { suite: 'named-messages', figures, hardware: describeHardware() };
  } finally {
    await service.close();
    await rm(home, { recursive: true, force: true });
  }
}

/**
 * Searches the lost episodes of a run, and measures what replacing each message of those with a named
 * message saves.
 * @param searched the run and, for a recording, the team file of the program that continues it
 * @param fresh number of fresh messages in each place
 * @throws CancelledError; C3Error
 */
export async function measureNamedMessages(
  service: EngineService,
  searched: Searched,
  fresh: number,
  { signal, note }: Pick<TeamBenchOptions, 'signal' | 'note'>,
): Promise<BenchFigure[]> {
  const { run } = searched;
  const lost = service.reading((store) => {
    const { episodes, scale } = requireLastEvaluation(store, run);
    return episodes.filter(({ return: value }) => value !== null && isLost(value, scale)).length;
  });
  note(`${lost} episodes were lost`);
  const control = { signal, onProgress: () => undefined };
  const found = await service.blameRun({ ...searched, budget: CALLS_EACH * lost }, control);
  note(found.sentence);
  const blamed = await service.blamed(run);
  const named: Named[] = [];
  for (const one of blamed) {
    const place = findNamedPlace(one);
    if (place === null) {
      continue;
    }
    const replaced = await replaceEach(service, one, { ...searched, fresh }, signal);
    if ([...replaced.saved, ...replaced.replayed].some(({ length }) => length < 2)) {
      note(`message ${one.found.message} is left out: replays of its episode could not be scored`);
      continue;
    }
    named.push({ place, ...replaced });
    if (named.length % NOTE_EVERY === 0) {
      note(`the messages of ${named.length} named episodes are replaced`);
    }
  }
  return makeNamedFigures(lost, blamed, named);
}

function findNamedPlace({ episode, found }: Lost & { readonly found: BlamedEpisode }): number | null {
  const place = episode.messages.findIndex(({ id }) => id === found.message);
  return place === -1 ? null : place;
}

/** Measures the returns of fresh messages at each place, and the values for the other rules. */
async function replaceEach(
  service: EngineService,
  { episode: { messages, range } }: Lost,
  { fresh, team }: Searched & { readonly fresh: number },
  signal: AbortSignal,
): Promise<Omit<Named, 'place'>> {
  const [saved, replayed]: [number[][], number[][]] = [[], []];
  for (const { id } of messages) {
    const asked = { message: id, ...(team !== undefined && { team }) };
    replayed.push(await measureFresh(service, asked, REPLAYED, range, signal));
    saved.push(await measureFresh(service, asked, fresh, range, signal));
  }
  const stored = service.reading((store) => messages.map(({ id }) => store.fullMessage(id)));
  // A recording has neither tokens nor their log-probabilities.
  const haveTokens = stored.every(({ logprobs }) => logprobs.length > 0);
  return {
    lengths: stored.map(({ text, logprobs }) => (haveTokens ? logprobs.length : text.length)),
    saved,
    replayed,
    likelihoods: haveTokens ? stored.map(({ logprobs }) => mean([...logprobs])) : null,
  };
}

/** @returns the returns of fresh messages in the place of one, as shares of the highest return */
async function measureFresh(
  service: EngineService,
  asked: Pick<ReplayParams, 'message' | 'team'>,
  alternatives: number,
  range: ReturnScale,
  signal: AbortSignal,
): Promise<number[]> {
  if (signal.aborted) {
    throw new CancelledError();
  }
  const bucket = await service.replay(
    { ...asked, alternatives, replays: 1, text: null, design: 'paired' },
    { signal, onProgress: () => undefined },
  );
  const returns = bucket.alternatives.flatMap((one) => (one.original ? [] : one.returns));
  return returns.flatMap((value) => (value === null ? [] : [value / range.high]));
}

/**
 * Returns the share that each rule saves, and by how much the named message saves more, with
 * Student's t interval over episodes. They are null if no episode has a named message.
 * @param lost number of lost episodes, searched or not
 */
export function makeNamedFigures(
  lost: number,
  blamed: readonly { readonly found: Pick<BlamedEpisode, 'verdict'> }[],
  named: readonly Named[],
): BenchFigure[] {
  const share = (verdict: BlamedEpisode['verdict']): number =>
    (100 * blamed.filter(({ found }) => found.verdict === verdict).length) / lost;
  // In percent of the highest return.
  const savedAt = ({ saved }: Named, place: number): number => 100 * mean(saved[place] ?? []);
  const savedBy = (chosen: readonly number[], one: Named): number =>
    chosen.reduce((sum, part, place) => sum + part * savedAt(one, place), 0);
  const savedByNamed = (one: Named): number => savedAt(one, one.place);
  const meanOrNone = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));
  return [
    makeFigure('lost episodes', lost, ''),
    makeFigure('of them a message is named in', share('message'), '%'),
    makeFigure('of them several messages are named in', share('several'), '%'),
    makeFigure('of them rarely solved', share('rare'), '%'),
    makeFigure('of them better than the team on average', share('won'), '%'),
    makeFigure('of them undecided', share('undecided'), '%'),
    makeFigure('saved by replacing the named message', meanOrNone(named.map(savedByNamed)), '%'),
    ...Object.entries(RULES).flatMap(([rule, choose]) => {
      const compared = named.flatMap((one) => {
        const chosen = choose(one);
        return chosen === null ? [] : [{ own: savedByNamed(one), other: savedBy(chosen, one) }];
      });
      const more = studentInterval(compared.map(({ own, other }) => own - other));
      return [
        makeFigure(`saved by replacing ${rule}`, meanOrNone(compared.map(({ other }) => other)), '%'),
        makeFigure('  the named message saves more, low', more?.low ?? null, 'points'),
        makeFigure('  the named message saves more, high', more?.high ?? null, 'points'),
      ];
    }),
    makeFigure('saved by replacing the best message, at least', meanOrNone(named.map(measureBestAtLeast)), '%'),
    makeFigure('saved by replacing the best message, at most', meanOrNone(named.map(measureBestAtMost)), '%'),
  ];
}

/**
 * Returns what replacing the best message saves in percent, from below: each half of the fresh messages
 * chooses the best place, and the other half measures it. It is the limit of every rule.
 */
function measureBestAtLeast({ saved }: Named): number {
  const halves = [0, 1].map((half) => saved.map((returns) => mean(returns.filter((_, index) => index % 2 === half))));
  const [one = [], other = []] = halves;
  const measured = (chosen: readonly number[], by: readonly number[]): number =>
    shareAmongHighest(chosen).reduce((sum, part, place) => sum + part * (by[place] ?? 0), 0);
  return 50 * (measured(one, other) + measured(other, one));
}

/** The same from above: the highest mean of all fresh messages, which chance makes too high. */
const measureBestAtMost = ({ saved }: Named): number => 100 * Math.max(...saved.map(mean));
