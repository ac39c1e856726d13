/**
 * The request of a replay: alternatives from the frozen context of a stored message, each continued
 * to the end of the episode, with leave-one-out credit.
 */

import { MAX_EVENT_TEXT } from '../domain/episode.ts';
import type { Sampling } from '../domain/message.ts';
import { choiceFault, SETTLE_LIMITS, type ContinuationChoice, type BucketView } from '../domain/replay.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { C3Error } from '../shared/errors.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import type { EpisodeProgram } from './program.ts';
import type { CreditRule } from './recordTree.ts';

export interface ReplayRequest {
  readonly message: number;
  /** Fresh samples from the frozen context. */
  readonly alternatives: number;
  /** Continuations of each alternative. A terminal message has one score, which is deterministic. */
  readonly replays: number;
  /** A message of the user's own, in addition to the sampled ones. */
  readonly text: string | null;
  /**
   * With a program that determines the next step, a new result for the tool that the message
   * called. The alternative is the text, if there is one, or else the message itself, followed by
   * this result in place of the recorded one.
   */
  readonly result?: string | null;
  /**
   * crossed (default): every alternative and the message itself are continued `replays` times.
   * paired: `alternatives` pairs, of which the i-th (from 0) is a fresh alternative and the message
   * itself, each continued once with the random numbers of replay i. Pairs share only the message,
   * so each is an independent unit of its credit. Pairs come in chunks, and no chunk begins once
   * the credit is decided.
   */
  readonly design?: 'crossed' | 'paired';
  /**
   * True if every alternative draws its own random numbers. Otherwise replay m shares its numbers
   * with replay m of the others (common random numbers).
   */
  readonly independent?: boolean;
  /** Other weights or another temperature than the message had. Default: as recorded. */
  readonly continuation?: ContinuationChoice;
}

export interface ReplayDependencies {
  readonly store: StoreWriter;
  readonly protocol: Protocol;
  /** Writes contexts in the form of the run. */
  readonly render: Renderer;
  /**
   * The message's own snapshot, so that the continuation distribution is that of its time, or the
   * snapshot that was chosen.
   */
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  /**
   * The run's own sampling, at the message's temperature or the one that was chosen. A greedily
   * picked message also has sampled alternatives, and every role has its own token limit.
   */
  readonly sampling: Sampling;
  readonly seed: number;
  readonly returnBound: number;
  readonly credit: CreditRule;
  /** Determines the next step and its context if the protocol does not. */
  readonly program?: EpisodeProgram;
  /** The purpose of the bucket. Default: a user's request. */
  readonly origin?: 'request' | 'diagnostic';
  /** Returns true if the credit of the message is decided. Called after each chunk of pairs. */
  readonly decided?: (bucket: BucketView) => boolean;
  /** False to compute determined results again, for comparison. */
  readonly reuse?: boolean;
}

export interface ReplayControl {
  readonly signal: AbortSignal;
  /**
   * Called when an alternative appears or is complete, and after replays in between (all of few,
   * some of many). The credits are those of the returns so far. `done` and `total` count
   * alternatives, or replays for pairs.
   */
  readonly onProgress: (bucket: BucketView, done: number, total: number) => void;
  /**
   * Returns true if a report is due, before each report but the last. Default: always. A report
   * reads the whole bucket.
   */
  readonly due?: () => boolean;
  /** Receives remarks for the user on this replay, one line each. */
  readonly onRemark?: (remark: string) => void;
}

/** Limits of one request. */
export const REPLAY_LIMITS = {
  alternatives: 256,
  replays: 256,
  pairs: SETTLE_LIMITS.most,
  textLength: 16_384,
} as const;

/**
 * Checks a request.
 * @throws C3Error('input') if it is out of bounds
 */
export function checkRequest({
  alternatives,
  replays,
  text,
  result = null,
  continuation,
  design,
}: ReplayRequest): void {
  const within = (value: number, low: number, high: number): boolean =>
    Number.isInteger(value) && value >= low && value <= high;
  if (design === 'paired') {
    if (!within(alternatives, 1, REPLAY_LIMITS.pairs)) {
      throw new C3Error('input', `pairs must be a whole number from 1 to ${REPLAY_LIMITS.pairs}.`);
    }
    if (replays !== 1 || text !== null || result !== null) {
      throw new C3Error(
        'input',
        'In pairs every alternative is sampled and continued once; leave out the text, the result and further replays.',
      );
    }
  } else if (!within(alternatives, 0, REPLAY_LIMITS.alternatives)) {
    throw new C3Error('input', `alternatives must be a whole number from 0 to ${REPLAY_LIMITS.alternatives}.`);
  }
  if (!within(replays, 1, REPLAY_LIMITS.replays)) {
    throw new C3Error('input', `replays must be a whole number from 1 to ${REPLAY_LIMITS.replays}.`);
  }
  if (alternatives === 0 && text === null && result === null) {
    throw new C3Error('input', 'Nothing to replay: ask for at least one alternative or give a text.');
  }
  if (text !== null && text.length > REPLAY_LIMITS.textLength) {
    throw new C3Error('input', `The text is longer than ${REPLAY_LIMITS.textLength} characters; shorten it.`);
  }
  if (result !== null && result.length > MAX_EVENT_TEXT) {
    throw new C3Error('input', `The result is longer than ${MAX_EVENT_TEXT} characters; shorten it.`);
  }
  const fault = continuation === undefined ? null : choiceFault(continuation);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
}
