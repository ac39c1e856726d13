/** Measures how long messages take here: tries the model or, if it is large, matrix products. */

import type { Examination, Sampling } from '../../../domain/message.ts';
import type { Problem } from '../../../domain/problem.ts';
import type { Evaluator } from '../../../evaluate/evaluator.ts';
import { LocalPolicy } from '../../../policy/policy.ts';
import type { Tokenizer } from '../../../policy/tokenizer.ts';
import { EvaluatorBudget } from '../../../replay/budget.ts';
import { growEpisodes } from '../../../replay/episodes.ts';
import type { TreeMessage } from '../../../replay/tree.ts';
import { parameterCount } from '../../../runtime/model/model.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import type { ModelInfo, ModelRuntime } from '../../../runtime/modelRuntime.ts';
import { BareProducts, countOperations, listWeightProducts } from '../../../runtime/provider/products.ts';
import type { DeviceSettings } from '../../../runtime/session/session.ts';
import type { TrainingContext } from '../../../runtime/train/graph/pack.ts';
import { combineSignals } from '../../../shared/cancellation.ts';
import { CancelledError } from '../../../shared/errors.ts';
import { requireOccurrence, type Protocol } from '../../../team/protocol.ts';
import type { Renderer } from '../../../team/render.ts';
import type { MessageSeconds } from './estimate.ts';

/** A loaded model, and the work of the planned run. */
export interface TrialInput {
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly sampling: Sampling;
  readonly problems: readonly Problem[];
  readonly signal: AbortSignal;
}

/** Target seconds of a trial, and seconds after which a round is stopped during generation. */
const AIM = 1;
const LIMIT = 3;
/** Episodes of the rounds. The first compiles graphs and does not count; of equal ones the faster does. */
const FEW = 4;
const ROUNDS = [FEW, 16, 16, 48, 48] as const;
/** Largest share of the planned work that a trial may do. */
const SHARE = 1 / 40;
/** Least time of a further episode relative to one of the last round, because two rounds may mislead. */
const LEAST_FURTHER = 0.5;
/** Time of a training step relative to scoring once, measured with the bundled teams. */
const TRAINED_PER_SCORED = 3;

/** Most parameters of a model that is tried itself. */
export const TRIED_PARAMETERS = 16e6;

const UNEXAMINED: Examination = {
  entryPoint: '',
  helper: { source: null, returns: false },
  main: { source: null, returns: false },
  syntax: null,
  usage: null,
  tests: [],
  testCount: 0,
};

const unscored: Evaluator = {
  name: 'none',
  evaluate: () => Promise.resolve({ score: 0, rule: 'trial' }),
  // Feedback has its usual form without executing anything.
  examine: () => Promise.resolve(UNEXAMINED),
};

/** Seconds of a round of episodes. */
interface Round {
  readonly episodes: number;
  readonly sampling: number;
  readonly scoring: number;
}

/**
 * Samples and scores some episodes. Leaves no state in the runtime, so that the trial does not
 * change the run.
 * @param episodes number of episodes of the planned run; a short run has a shorter trial
 * @param together episodes that the run samples at once; in larger batches each episode takes less
 *   time
 * @returns null if it took too long or was cancelled; the caller checks for cancellation
 */
export async function tryModel(input: TrialInput, episodes: number, together: number): Promise<MessageSeconds | null> {
  const began = performance.now();
  const most = Math.min(Math.round(SHARE * episodes), input.problems.length);
  const counts = ROUNDS.map((count) => Math.max(FEW, Math.min(count, most)));
  const rounds: Round[] = [];
  for (const [index, count] of counts.entries()) {
    const last = rounds.at(-1);
    const expected = last === undefined ? 0 : ((last.sampling + last.scoring) * count) / last.episodes;
    if (index > 1 && (count === FEW || expected > AIM - (performance.now() - began) / 1000)) {
      break;
    }
    const measured = await nullIfStopped(runRound(input, count));
    if (measured === null) {
      break;
    }
    if (last?.episodes === measured.episodes) {
      rounds.push(combineFaster(rounds.pop() ?? measured, measured));
    } else if (index > 0) {
      rounds.push(measured);
    }
  }
  const messages = input.protocol.occurrences.length;
  const [sampling, scoring] = [
    extrapolateEpisodeSeconds(rounds, 'sampling', together),
    extrapolateEpisodeSeconds(rounds, 'scoring', together),
  ];
  if (sampling === null || scoring === null) {
    return null;
  }
  return { sampled: sampling / messages, trained: (TRAINED_PER_SCORED * scoring) / messages };
}

function combineFaster(a: Round, b: Round): Round {
  return { ...a, sampling: Math.min(a.sampling, b.sampling), scoring: Math.min(a.scoring, b.scoring) };
}

async function runRound(input: TrialInput, count: number): Promise<Round> {
  const { runtime, tokenizer, info, protocol, render, sampling, problems, signal } = input;
  const policy = new LocalPolicy(runtime, tokenizer, info.snapshot, info.config.maxPositions);
  const stop = combineSignals(signal, AbortSignal.timeout(1000 * LIMIT));
  const streams = { seed: 0, scope: 'trial', commonRandomNumbers: false };
  const budget = new EvaluatorBudget(Infinity);
  const settings = { protocol, render, policy, evaluator: unscored, budget, sampling, ...streams };
  const branches = problems.slice(0, count).map((problem) => ({ problem, message: null }));
  const started = performance.now();
  const roots = await growEpisodes(settings, branches, [], { signal: stop });
  const sampled = performance.now();
  await runtime.score(info.snapshot, toTrainingContexts(roots, protocol), sampling.temperature, stop);
  const scored = performance.now();
  return { episodes: branches.length, sampling: (sampled - started) / 1000, scoring: (scored - sampled) / 1000 };
}

/**
 * Extrapolates the seconds per episode linearly from the last two rounds.
 * @param together episodes in a batch, at least the number in the last round
 * @returns null without a round
 */
export function extrapolateEpisodeSeconds(
  rounds: readonly Round[],
  part: 'sampling' | 'scoring',
  together: number,
): number | null {
  const [before, last] = [rounds.at(-2), rounds.at(-1)];
  if (last === undefined || last.episodes === 0) {
    return null;
  }
  const each = last[part] / last.episodes;
  if (before === undefined || together <= last.episodes) {
    return each;
  }
  const slope = (last[part] - before[part]) / (last.episodes - before.episodes);
  const further = Math.min(each, Math.max(LEAST_FURTHER * each, slope));
  return (last[part] + further * (together - last.episodes)) / together;
}

/** Returns null if the work was stopped. */
async function nullIfStopped<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CancelledError) {
      return null;
    }
    throw error;
  }
}

/** Lists every message of some episodes with its context, in the form that training uses. */
function toTrainingContexts(grown: readonly TreeMessage[], protocol: Protocol): TrainingContext[] {
  return grown.flatMap(({ answer: { prompt, tokens, logprobs }, position, children }) => {
    const role = requireOccurrence(protocol, position).role;
    const messages = [{ tokens, behaviour: logprobs, reference: logprobs, advantages: logprobs }];
    return [{ role, prompt, messages }, ...toTrainingContexts(children, protocol)];
  });
}

/** Matrix shapes for models that are too large to try: 50 MB of weights, larger than any cache. */
const SHAPE: TransformerConfig = {
  vocabularySize: 256,
  hiddenSize: 1024,
  intermediateSize: 2816,
  layers: 1,
  heads: 16,
  keyValueHeads: 16,
  headDim: 64,
  rmsEpsilon: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 64,
  tieEmbeddings: true,
};
/** Rows of a product, as in prompts. */
const ROWS = 256;
/** Share of the speed of bare products that generation and training reach. */
const REACHED = 0.6;
/** Passes of a training step: forward, gradients by inputs and by weights, and the reference's scores. */
const PASSES = 4;

/** Tokens of a message and of its context. */
export interface MessageLength {
  readonly promptTokens: number;
  readonly newTokens: number;
}

/**
 * Estimates the seconds of messages from the speed of this machine's matrix products.
 * @param together messages that are sampled at once, which is the number of rows of each product in
 *   decoding
 */
export async function tryProducts(
  config: TransformerConfig,
  device: DeviceSettings,
  lengths: readonly MessageLength[],
  together: number,
): Promise<MessageSeconds> {
  const weights = new Float32Array(parameterCount(SHAPE)).fill(0.01);
  const products = await BareProducts.create(SHAPE, weights, device, 'forward');
  try {
    const speed = async (rows: number): Promise<number> => {
      await products.run(rows, 1);
      const started = performance.now();
      await products.run(rows, 1);
      const milliseconds = Math.max(1e-3, performance.now() - started);
      return (1000 * countOperations(listWeightProducts(SHAPE, 'forward'), rows, 1)) / milliseconds;
    };
    const [decoding, reading] = [await speed(Math.min(ROWS, Math.max(1, together))), await speed(ROWS)];
    const forward = listWeightProducts(config, 'forward');
    const seconds = lengths.map(({ promptTokens, newTokens }) => ({
      sampled:
        countOperations(forward, promptTokens, 1) / reading / REACHED +
        countOperations(forward, newTokens, newTokens) / decoding / REACHED,
      trained: (PASSES * countOperations(forward, promptTokens + newTokens, newTokens)) / reading / REACHED,
    }));
    const mean = (of: (one: MessageSeconds) => number): number =>
      seconds.reduce((total, one) => total + of(one), 0) / Math.max(1, seconds.length);
    return { sampled: mean(({ sampled }) => sampled), trained: mean(({ trained }) => trained) };
  } finally {
    await products.release();
  }
}
