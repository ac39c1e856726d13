/**
 * Implements `c3 diagnose --training-credit`: compares the credits that a run's updates used with
 * fresh replays of the same messages.
 */

import {
  measureTrainingCredit,
  type TargetedMessage,
  type TrainingCreditFidelity,
} from '../../diagnostics/trainingCredit.ts';
import { REPLAY_LIMITS } from '../../replay/request.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type { DiagnosticSample, StoreReader } from '../../store/types.ts';
import { listLearnedMessages, type LearnedMessage, type LearnedRun } from '../../training/learnedMessages.ts';
import {
  checkCount,
  checkRole,
  drawRows,
  fillSample,
  MOST_CONTEXTS,
  type SampleControl,
  type SampleDependencies,
  type SampleDesign,
} from './diagnoseSample.ts';

export interface TrainingCreditSettings {
  /** Contexts of each role, over all steps of the run. All learned messages of a context are replayed. */
  readonly contexts: number;
  /** Pairs of each message: the message and a fresh alternative, each continued once. */
  readonly replays: number;
  /** One role, or null for every role that learns. */
  readonly role: string | null;
  /** Seed for drawing the contexts. It affects nothing else. */
  readonly seed: number;
}

/** The fidelity of the training credits of a role. */
export interface RoleTrainingCredit extends TrainingCreditFidelity {
  readonly role: string;
  /** Evaluator calls of the replays. Equal texts are not evaluated again. */
  readonly evaluatorCalls: number;
}

/** Key in the settings of a sample that marks it as one of training credit. */
const KEY = 'trainingCredit';

/** Returns the samples of contexts of a run, oldest first, without samples of training credit. */
export const listContextSamples = (store: Pick<StoreReader, 'diagnosticSamples'>, run: string): DiagnosticSample[] =>
  store.diagnosticSamples(run).filter(({ settings }) => {
    const read: unknown = JSON.parse(settings);
    return !isRecord(read) || !Object.hasOwn(read, KEY);
  });

/** Returns the stored settings of a sample, with the steps, because more steps give other contexts. */
const formatSampleSettings = (store: StoreReader, run: string, settings: TrainingCreditSettings): string =>
  JSON.stringify({ [KEY]: { ...settings, steps: store.run(run).steps } });

/** Returns the ID of the sample with these settings, or null. */
const findSampleWith = (store: StoreReader, run: string, settings: string): number | null =>
  store.diagnosticSamples(run).find((one) => one.settings === settings)?.id ?? null;

/**
 * Replays the messages of drawn contexts in pairs. A second call with the same settings continues
 * the sample.
 * @throws C3Error('input') for settings out of bounds, or a run that learned from no message;
 *   C3Error('model') if weights are not available; CancelledError, keeping the complete buckets
 */
export async function sampleTrainingCredit(
  { run, config }: Pick<LearnedRun, 'run' | 'config'>,
  settings: TrainingCreditSettings,
  dependencies: SampleDependencies,
  control: SampleControl,
): Promise<void> {
  const { store, protocol } = dependencies;
  checkCount('contexts', settings.contexts, 1, MOST_CONTEXTS);
  checkCount('replays', settings.replays, 1, REPLAY_LIMITS.replays);
  checkRole(settings.role, protocol);
  const drawn = drawMessages({ store, run, config, protocol }, settings);
  const text = formatSampleSettings(store, run, settings);
  const sample = findSampleWith(store, run, text) ?? store.insertDiagnosticSample(run, text);
  const done = new Set(listSampleBuckets(store, sample).map((bucket) => store.bucket(bucket).message));
  const missing = store.messages(drawn.map(({ message }) => message).filter((id) => !done.has(id)));
  const { replays } = settings;
  const pairs = { alternatives: replays, replays: 1, text: null, design: 'paired' } as const;
  // With origin `request`, the taxonomy does not count these contexts twice, and the transcript
  // shows the replays.
  const design: SampleDesign = { request: pairs, origin: 'request', credited: 1, values: replays };
  await fillSample(sample, missing, design, dependencies, control);
}

/**
 * Reads the results for these settings by role, or none if nothing was sampled.
 * @throws as sampleTrainingCredit
 */
export function readTrainingCredit(learned: LearnedRun, settings: TrainingCreditSettings): RoleTrainingCredit[] {
  const { store, run, protocol } = learned;
  const sample = findSampleWith(store, run, formatSampleSettings(store, run, settings));
  const replayed = new Map(
    (sample === null ? [] : listSampleBuckets(store, sample)).map((bucket) => {
      const view = store.bucketView(bucket);
      return [view.message, view.alternatives];
    }),
  );
  const found = drawMessages(learned, settings).flatMap((message) => {
    const [own, ...others] = replayed.get(message.message) ?? [];
    if (own === undefined) {
      return [];
    }
    // A message that ends its episode has only one return, because its text determines it.
    const returnOf = (pair: number): number | null => own.returns[own.returns.length === 1 ? 0 : pair] ?? null;
    const target: TargetedMessage = {
      problem: message.problem,
      context: createContextKey(message),
      credit: message.advantage,
      pairs: others.map(({ returns: [other = null] }, pair) => [returnOf(pair), other]),
    };
    const evaluatorCalls = [own, ...others].reduce((sum, one) => sum + one.evaluatorCalls, 0);
    return [{ role: message.role, target, evaluatorCalls }];
  });
  return protocol.roles.flatMap(({ name: role }) => {
    const own = found.filter((one) => one.role === role);
    return own.length === 0
      ? []
      : [
          {
            role,
            ...measureTrainingCredit(own.map(({ target }) => target)),
            evaluatorCalls: own.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0),
          },
        ];
  });
}

/** Returns all messages of the drawn contexts, role by role. */
function drawMessages(learned: LearnedRun, { role, ...settings }: TrainingCreditSettings): LearnedMessage[] {
  const contexts = Map.groupBy(listLearnedMessages(learned), createContextKey);
  const asked = learned.protocol.roles.filter(({ name }) => role === null || name === role);
  const drawn = asked.flatMap(({ name }) => {
    const own = [...contexts].filter(([, [first]]) => first?.role === name);
    return drawRows(own, settings, ([context]) => [context]).flatMap(([, messages]) => messages);
  });
  if (drawn.length === 0) {
    throw new C3Error(
      'input',
      `Run ${learned.run} learned from no message` +
        `${role === null ? '' : ` of the role ${JSON.stringify(role)}`}; train it first.`,
    );
  }
  return drawn;
}

/** Returns a key of the context and the weights of a message. */
const createContextKey = ({ iteration, stage, problem, position, context }: LearnedMessage): string =>
  JSON.stringify([iteration, stage, problem, position, context]);

const PAGE = 500;

/** Reads the IDs of the complete buckets of a sample. */
function listSampleBuckets(store: StoreReader, sample: number): number[] {
  const found: number[] = [];
  for (let page = PAGE; page === PAGE;) {
    const rows = store.diagnosticBuckets(sample, found.length, PAGE);
    found.push(...rows.map(({ bucket }) => bucket));
    page = rows.length;
  }
  return found;
}
