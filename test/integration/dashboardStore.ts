/** Stores with runs of many steps, written as the engine writes them, for the dashboard's scenarios. */

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Interval } from '../../src/domain/credit.ts';
import type { Problem } from '../../src/domain/problem.ts';
import type { Ledger, RunSummary } from '../../src/domain/run.ts';
import type { StepMetrics } from '../../src/domain/step.ts';
import { openStoreForWriting, type StoreWriter } from '../../src/store/write/writer.ts';
import { hashContext } from '../../src/team/contextKey.ts';
import { UNIT_RULE } from '../support/headlines.ts';

const SNAPSHOT = 'ab'.repeat(32);
const INSTANCE: Problem = {
  uid: 'sum-1',
  uidSha: '5e'.repeat(32),
  question: 'How many is 12 + 7?',
  answer: '19',
  source: 'sums',
  level: 1,
};
/** Evaluator calls of one step: two plans with two answers each. */
export const CALLS = 4;

export interface MadeRun {
  readonly id: string;
  readonly title: string;
  readonly method?: string;
  readonly seed?: number;
  readonly steps: number;
  readonly planned?: number;
  /** Greedy accuracy before and after; none for a run that continues. */
  readonly accuracy?: readonly [number, number];
  /** The bundled task that its configuration names; a configuration that says nothing unless given. */
  readonly task?: string;
}

/** A number from 0 to 1 that looks like chance and is the same every time. */
const noise = (seed: number, step: number): number =>
  ((Math.sin(seed * 91.7 + step * 12.9898) * 43_758.5453) % 1) / 2 + 0.5;

export function openMade(path: string): StoreWriter {
  mkdirSync(dirname(path), { recursive: true });
  const store = openStoreForWriting(path, { headlines: UNIT_RULE });
  store.insertProblems([INSTANCE]);
  return store;
}

/** Appends a run with its steps; one with an accuracy has ended. */
export function addMadeRun(store: StoreWriter, run: MadeRun): void {
  const { id, title, method = 'c3', seed = 1, steps, planned = steps, accuracy, task } = run;
  const config = task === undefined ? '{}' : JSON.stringify({ config: { task: { name: task } } });
  store.transaction(() => {
    store.insertRun({
      id,
      method,
      seed,
      title,
      config,
      plannedSteps: planned,
      createdAt: `2026-01-0${seed}T10:00:00.000Z`,
    });
    store.insertSnapshot({ id: SNAPSHOT, run: id, iteration: 0, base: 'team', file: null });
    for (let step = 1; step <= steps; step++) {
      addMadeStep(store, id, seed, step, planned);
    }
    if (accuracy !== undefined) {
      store.updateRunStatus(id, 'done', '2026-02-01T10:00:00.000Z', summaryOf(run, accuracy));
    }
  });
}

/** Appends one finished step: two plans, two answers to each, all credited. */
export function addMadeStep(store: StoreWriter, run: string, seed: number, step: number, planned: number): void {
  const progress = step / planned;
  const right = (index: number): number => (noise(seed, 7 * step + index) < 0.35 + 0.5 * progress ? 1 : 0);
  const common = {
    run,
    phase: 'train',
    iteration: step,
    problem: INSTANCE.uidSha,
    snapshot: SNAPSHOT,
    turn: 0,
  } as const;
  const environment = store.environmentId({
    runtime: 'made',
    provider: 'cpu',
    device: 'made',
    threads: 1,
    platform: 'made',
  });
  const contextOf = (role: string, parent: number | null): string =>
    `${role} of step ${step} of ${run} after ${String(parent)}`;
  const say = (
    role: string,
    position: number,
    parent: number | null,
    bucket: number,
    siblingIndex: number,
    text: string,
  ): number => {
    const context = contextOf(role, parent);
    return store.insertMessage({
      ...common,
      environment,
      role,
      position,
      parent,
      bucket,
      siblingIndex,
      context,
      contextKey: hashContext(context).key,
      text,
      tokens: Int32Array.of(position, siblingIndex, text.length, text.charCodeAt(1)),
      logprobs: Float32Array.of(0, 0, 0, 0),
      streamKey: `made ${siblingIndex}`,
      sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 8 },
      finish: 'end',
      promptTokens: 20,
      reusedTokens: position === 0 ? 0 : 12,
    });
  };
  const group = (role: string, parent: number | null): number =>
    store.insertBucket({
      run,
      origin: 'training',
      iteration: step,
      problem: INSTANCE.uidSha,
      role,
      turn: 0,
      contextKey: hashContext(contextOf(role, parent)).key,
      snapshot: SNAPSHOT,
      message: null,
    });
  const replay = (bucket: number, alternative: number, replayIndex: number, leaf: number, value: number): void => {
    store.insertReplay({
      bucket,
      alternative,
      replayIndex,
      leaf,
      return: value,
      evaluatorCalls: 1,
      tokenHash: 'made',
      environment,
    });
  };
  const credit = (bucket: number, message: number, value: number): void => {
    store.insertCredit(bucket, message, {
      estimator: 'loo',
      value,
      low: null,
      high: null,
      n: 2,
      evaluatorCalls: 2,
      interval: 'none',
    });
  };
  store.insertStep({ run, iteration: step, snapshot: SNAPSHOT, ledger: ledgerAt(step - 1) });
  const plans = group('reasoner', null);
  const means: number[] = [];
  const ids = [0, 1].map((plan) => {
    const message = say('reasoner', 0, null, plans, plan, `12 + 7, plan ${plan}`);
    const answers = group('actor', message);
    const returns = [0, 1].map((answer) => right(2 * plan + answer));
    returns.forEach((value, answer) => {
      const leaf = say('actor', 1, message, answers, answer, value === 1 ? '19' : '17');
      store.insertEpisode({ ...common, leaf, return: value, rule: 'exact', evaluatorCalls: 1 });
      replay(plans, message, answer, leaf, value);
      replay(answers, leaf, 0, leaf, value);
      credit(answers, leaf, value - (returns[1 - answer] ?? 0));
    });
    means.push(((returns[0] ?? 0) + (returns[1] ?? 0)) / 2);
    return message;
  });
  ids.forEach((message, plan) => credit(plans, message, (means[plan] ?? 0) - (means[1 - plan] ?? 0)));
  const metrics: StepMetrics = {
    meanReturn: ((means[0] ?? 0) + (means[1] ?? 0)) / 2,
    loss: 0.2 - 0.1 * progress + 0.02 * noise(seed, step),
    kl: 0.004 * progress * (1 + 0.3 * noise(seed + 1, step)),
    clipFraction: 0.03 * noise(seed + 2, step),
    gradientNorm: 0.6 + noise(seed + 3, step),
    learningRate: 3e-4,
    ratioDeviation: 0,
    creditVariance: 0,
    generateSeconds: 0.1 + 0.02 * noise(seed + 4, step),
    trainSeconds: 0.3,
  };
  store.finishStep(run, step, metrics, ledgerAt(step));
}

/** Six messages of 20 prompt tokens and 4 others in each step. */
function ledgerAt(step: number): Ledger {
  return {
    evaluatorCalls: CALLS * step,
    tokens: { prompt: 120 * step, reused: 48 * step, completion: 24 * step },
    decisions: { reasoner: 2 * step, actor: 4 * step },
    seconds: step / 2,
  };
}

function summaryOf(
  { id, method = 'c3', seed = 1, steps }: MadeRun,
  [before, after]: readonly [number, number],
): RunSummary {
  const interval = (value: number): Interval => ({ value, low: value - 0.06, high: value + 0.06, n: 200 });
  const { evaluatorCalls, tokens, decisions, seconds } = ledgerAt(steps);
  const compared = (a: number, b: number): RunSummary['accuracy'] => ({
    before: interval(a),
    after: interval(b),
    difference: interval(b - a),
  });
  return {
    run: id,
    method,
    seed,
    steps,
    evaluatorCalls,
    tokens,
    decisions,
    seconds,
    store: '',
    accuracy: compared(before, after),
    passAt1: compared(before - 0.05, after - 0.03),
  };
}
