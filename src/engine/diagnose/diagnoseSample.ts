/**
 * Samples buckets for the diagnostics: contexts drawn uniformly, their alternatives, and
 * independent samples of their value (C3 appendix I).
 */

import { createHash } from 'node:crypto';
import type { SaidEvent } from '../../domain/episode.ts';
import type { Message, Sampling } from '../../domain/message.ts';
import { selectScoredText, type Evaluator } from '../../evaluate/evaluator.ts';
import type { Policy } from '../../policy/policy.ts';
import { replayMessage } from '../../replay/replayMessage.ts';
import { REPLAY_LIMITS, type ReplayRequest } from '../../replay/request.ts';
import type { AlternativeReturns } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { Held } from '../../shared/holds.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { isTerminal, requireOccurrence, type Occurrence, type Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import { listTurnMessages } from '../../team/rounds.ts';
import { creditByStateValue } from '../../training/methods/mappo.ts';
import type { Moment } from '../../training/state/states.ts';
import { startEnergy } from '../machine/energy.ts';
import { describeRound, listNewestEvaluations } from './newestEvaluations.ts';

export interface SampleSettings {
  /** S: number of contexts. */
  readonly contexts: number;
  /** J: number of credited alternatives of each context, including the message that was really said. */
  readonly alternatives: number;
  /** c: number of replays of each alternative; 1 for a terminal message, whose score is determined. */
  readonly replays: number;
  /** J_V: number of further alternatives that only estimate the value of the context. */
  readonly valueSamples: number;
  /** One role; null for every role with a scored role downstream, or for all roles if there is none. */
  readonly role: string | null;
  /** Seed for drawing the contexts. It affects nothing else. */
  readonly seed: number;
}

/** V(h): the value of a state by the value head that belongs to a snapshot of a run. */
export type StateValue = (moment: Moment) => Promise<number>;

/**
 * Takes the policy of a snapshot until it is disposed of, with the state value if the run's method
 * computes its credit against it.
 * @throws PolicyGone if the policy is not available
 */
export type SampleSource = (
  snapshot: string,
) => Promise<Held<{ readonly policy: Policy; readonly stateValue?: StateValue }>>;

export interface SampleDependencies {
  readonly store: StoreWriter;
  readonly protocol: Protocol;
  /** Renders contexts as the run did. */
  readonly render: Renderer;
  readonly evaluator: Evaluator;
  /** Sampling of the run itself. */
  readonly sampling: Sampling;
  readonly seed: number;
  readonly returnBound: number;
  /** Returns true if a role's policy can sample alternatives. */
  readonly samples: (role: string) => boolean;
  readonly source: SampleSource;
}

export interface SampleControl {
  readonly signal: AbortSignal;
  readonly onContext?: (done: number, total: number) => void;
}

/**
 * Samples buckets of a run and stores each with origin `diagnostic`. Replays draw their own random
 * numbers, so that value samples are independent of the credited alternatives. Cancellation keeps
 * the complete buckets.
 * @returns the ID of the sample
 * @throws C3Error('input') for settings out of bounds or a run without messages to sample from;
 *   C3Error('model') if the weights are not available; CancelledError
 */
export async function sampleDiagnostics(
  run: string,
  settings: SampleSettings,
  dependencies: SampleDependencies,
  control: SampleControl,
): Promise<number> {
  const { store, protocol } = dependencies;
  checkSettings(settings, protocol);
  const sampled = protocol.occurrences.filter(({ role }) => dependencies.samples(role));
  const population = findPopulation(store, run, protocol, sampled, settings.role);
  const drawn = drawRows(population.messages, settings, createDrawKey);
  if (drawn.length === 0) {
    throw new C3Error(
      'input',
      `Run ${run} has no sampled message to draw contexts from; train it, or evaluate it with sampling.`,
    );
  }
  const sample = store.insertDiagnosticSample(
    run,
    JSON.stringify({
      ...settings,
      population: population.name,
      populationContexts: population.messages.length,
      drawn: drawn.length,
    }),
  );
  const { alternatives, replays, valueSamples } = settings;
  // The message itself is the first of the credited alternatives.
  const asked = { alternatives: alternatives - 1 + valueSamples, replays, text: null, independent: true };
  const design: SampleDesign = { request: asked, origin: 'diagnostic', credited: alternatives, values: valueSamples };
  await fillSample(sample, drawn, design, dependencies, control);
  return sample;
}

/** The replay of each message of a sample, and the use of its bucket in the diagnostics. */
export interface SampleDesign {
  readonly request: Omit<ReplayRequest, 'message'>;
  readonly origin: 'request' | 'diagnostic';
  /** Number of credited alternatives, of which the message itself is the first. */
  readonly credited: number;
  /** Number of alternatives after them that only estimate the value. */
  readonly values: number;
}

/**
 * Replays messages snapshot by snapshot, and stores the bucket of each in the sample.
 * @throws as sampleDiagnostics, keeping the complete buckets
 */
export async function fillSample(
  sample: number,
  messages: readonly Message[],
  { request, origin, credited, values }: SampleDesign,
  dependencies: SampleDependencies,
  control: SampleControl,
): Promise<void> {
  const { store, source } = dependencies;
  let done = 0;
  for (const snapshot of new Set(messages.map((message) => message.snapshot))) {
    await using taken = await source(snapshot);
    const { policy, stateValue } = taken;
    for (const message of messages.filter((one) => one.snapshot === snapshot)) {
      if (control.signal.aborted) {
        throw new CancelledError();
      }
      const started = performance.now();
      const energy = startEnergy();
      // Before sampling, so that nothing is sampled in vain if the value head is not available.
      const creditOf = stateValue === undefined ? null : await creditAgainstState(message, stateValue, dependencies);
      const bucket = await replayMessage(
        { ...request, message: message.id },
        { ...dependencies, policy, credit: (all) => all.map(() => null), origin },
        // Each progress report would read the whole bucket, and nobody needs it.
        { signal: control.signal, onProgress: () => undefined, due: () => false },
      );
      const seconds = (performance.now() - started) / 1000;
      store.transaction(() => {
        for (const alternative of bucket.alternatives.slice(0, credited)) {
          const credit = creditOf?.(alternative) ?? null;
          if (credit !== null) {
            store.insertCredit(bucket.id, alternative.message, credit);
          }
        }
        store.insertDiagnosticBucket({
          bucket: bucket.id,
          sample,
          credited,
          valueFrom: credited,
          valueCount: values,
          real: 0,
          seconds,
          joules: energy(),
          source: null,
        });
      });
      control.onContext?.(++done, messages.length);
    }
  }
}

/**
 * Returns the credit of alternatives of a message against the value of its context, as in training
 * (C3 appendix I: A_j = mean return - V(h)).
 */
async function creditAgainstState(
  message: Message,
  stateValue: StateValue,
  { store, protocol, evaluator }: SampleDependencies,
): Promise<(alternative: AlternativeReturns) => Credit | null> {
  const problem = store.problem(message.problem);
  const earlier = store.chain(message.id).slice(0, -1);
  const value = await stateValue({
    position: message.position,
    question: problem.question,
    messages: new Map(earlier.map(({ position, text }) => [position, text])),
  });
  let before = 0;
  const log = earlier.map(({ position, role, text }): SaidEvent => ({ kind: 'decision', position, role, text }));
  for (const [index, { position }] of earlier.entries()) {
    // A masked score masks every return below it.
    if (requireOccurrence(protocol, position).scored) {
      const text = selectScoredText(evaluator, problem, listTurnMessages(protocol, log.slice(0, index + 1)));
      before += (await evaluator.evaluate(problem, text)).score ?? 0;
    }
  }
  return (alternative) => creditByStateValue(alternative, before, value);
}

function checkSettings(
  { contexts, alternatives, replays, valueSamples, role }: SampleSettings,
  protocol: Protocol,
): void {
  checkCount('contexts', contexts, 1, MOST_CONTEXTS);
  checkCount('alternatives', alternatives, 2, REPLAY_LIMITS.alternatives);
  checkCount('replays', replays, 1, REPLAY_LIMITS.replays);
  checkCount('value-samples', valueSamples, 0, REPLAY_LIMITS.alternatives + 1 - alternatives);
  checkRole(role, protocol);
}

/** Most contexts of a sample. */
export const MOST_CONTEXTS = 10_000;

/** @throws C3Error('input') for a number out of bounds */
export function checkCount(name: string, value: number, low: number, high: number): void {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new C3Error('input', `--${name} must be a whole number from ${low} to ${high}, not ${value}.`);
  }
}

/** @throws C3Error('input') for a role that the protocol does not have */
export function checkRole(role: string | null, protocol: Protocol): void {
  if (role !== null && !protocol.occurrences.some((occurrence) => occurrence.role === role)) {
    throw new C3Error(
      'input',
      `The run has no role ${JSON.stringify(role.slice(0, 40))}; it has ${protocol.roles.map(({ name }) => name).join(', ')}.`,
    );
  }
}

type EvaluationReader = Pick<StoreReader, 'evaluationNumbers' | 'evaluations' | 'episodes' | 'chain'>;

interface Population {
  readonly name: string;
  /** One message of each context. */
  readonly messages: readonly Message[];
}

const PAGE = 500;

/** Returns the messages of the last sampled evaluation, or else those of the last training iteration. */
function findPopulation(
  store: StoreReader,
  run: string,
  protocol: Protocol,
  sampled: readonly Occurrence[],
  role: string | null,
): Population {
  const open = sampled.filter(({ position }) => !isTerminal(protocol, position));
  const positions = new Set(
    (role === null ? (open.length > 0 ? open : sampled) : sampled.filter((one) => one.role === role)).map(
      ({ position }) => position,
    ),
  );
  const held = findHeldOutContexts(store, run, positions);
  if (held !== null) {
    return held;
  }
  const iteration = store.countSteps(run);
  const messages: Message[] = [];
  const total = store.countBuckets({ run, origin: 'training' });
  for (let end = total; end > 0; end -= PAGE) {
    const offset = Math.max(0, end - PAGE);
    const page = store
      .bucketsOfRun({ run, origin: 'training', offset, limit: end - offset })
      .filter((bucket) => bucket.iteration === iteration);
    if (page.length === 0) {
      break;
    }
    messages.push(
      ...store.messages(page.flatMap(({ alternatives }) => alternatives.slice(0, 1).map(({ message }) => message))),
    );
  }
  return { name: `training iteration ${iteration}`, messages: findDistinctContexts(messages, positions) };
}

/** Returns the contexts of the last sampled evaluation that has messages at the positions, or null. */
export function findHeldOutContexts(
  store: EvaluationReader,
  run: string,
  positions: ReadonlySet<number>,
): Population | null {
  for (const round of listNewestEvaluations(store, run).filter(({ kind }) => kind === 'sampled')) {
    const messages = findDistinctContexts(readEpisodeMessages(store, run, round.iteration), positions);
    if (messages.length > 0) {
      return { name: `sampled evaluation ${describeRound(round)}`, messages };
    }
  }
  return null;
}

function* readEpisodeMessages(
  store: EvaluationReader,
  run: string,
  iteration: number,
): Generator<Message, void, undefined> {
  for (let offset = 0; ; offset += PAGE) {
    const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset, limit: PAGE });
    for (const { leaf } of episodes) {
      yield* store.chain(leaf);
    }
    if (episodes.length < PAGE) {
      return;
    }
  }
}

/** Returns one message for each context at one of the positions. */
function findDistinctContexts(messages: Iterable<Message>, positions: ReadonlySet<number>): Message[] {
  const found = new Map<string, Message>();
  for (const message of messages) {
    if (positions.has(message.position)) {
      found.set(`${message.snapshot} ${message.position} ${message.contextKey}`, message);
    }
  }
  return [...found.values()];
}

/** Returns the key by which messages of an evaluation are drawn. */
export const createDrawKey = ({ problem, position, contextKey }: Message): readonly unknown[] => [
  problem,
  position,
  contextKey,
];

/**
 * Draws rows without replacement: those with the smallest hashes with the seed, so that the order
 * of the rows does not matter.
 * @param nameOf returns the unique key of a row
 */
export function drawRows<Row>(
  rows: readonly Row[],
  { contexts, seed }: Pick<SampleSettings, 'contexts' | 'seed'>,
  nameOf: (row: Row) => readonly unknown[],
): Row[] {
  const rank = new Map(
    rows.map((row) => [
      row,
      createHash('sha256')
        .update(JSON.stringify([seed, ...nameOf(row)]))
        .digest('hex'),
    ]),
  );
  return [...rows].sort((a, b) => ((rank.get(a) ?? '') < (rank.get(b) ?? '') ? -1 : 1)).slice(0, contexts);
}
