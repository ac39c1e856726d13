/**
 * Replaying one stored message: alternatives from its frozen context, each continued to the end of the episode, with
 * leave-one-out credit.
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
  /** Continuations of each alternative; a terminal message is scored once, because its score is deterministic. */
  readonly replays: number;
  /** A message of the user's own, beside the sampled ones. */
  readonly text: string | null;
  /**
   * Where a program says what is next: what the tool that the message called gave instead. The alternative is the text,
   * where one is given, else the message as it is, followed by this result in the place of the recorded one.
   */
  readonly result?: string | null;
  /**
   * crossed, unless given: every alternative and the message itself are continued `replays` times. paired:
   * `alternatives` pairs, the i-th (from 0) of a fresh alternative and the message itself, each continued once with the
   * numbers of replay i. No two pairs share anything but the message, so each is an independent unit of its credit;
   * pairs come in chunks, and none is begun once the credit is decided.
   */
  readonly design?: 'crossed' | 'paired';
  /**
   * True: every alternative draws numbers of its own. Otherwise replay m shares its numbers with replay m of the others
   * (common random numbers).
   */
  readonly independent?: boolean;
  /** Other weights or another temperature than those of the message; as recorded unless given. */
  readonly continuation?: ContinuationChoice;
}

export interface ReplayDependencies {
  readonly store: StoreWriter;
  readonly protocol: Protocol;
  /** Writes contexts as the run wrote them. */
  readonly render: Renderer;
  /**
   * The message's own snapshot, so that the continuation distribution is that of its time; else the one that was
   * chosen.
   */
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  /**
   * The run's own, at the message's temperature or the one that was chosen: one that was picked greedily has sampled
   * alternatives all the same, and every role its own cap.
   */
  readonly sampling: Sampling;
  readonly seed: number;
  readonly returnBound: number;
  readonly credit: CreditRule;
  /** What says what is next, where the protocol does not; contexts are then what it says too. */
  readonly program?: EpisodeProgram;
  /** What the bucket is for: a user's request, unless it is to be measured on. */
  readonly origin?: 'request' | 'diagnostic';
  /** Whether the credit of the message is decided; asked after each chunk of pairs. */
  readonly decided?: (bucket: BucketView) => boolean;
  /** False: determined results are paid for again; to compare with. */
  readonly reuse?: boolean;
}

export interface ReplayControl {
  readonly signal: AbortSignal;
  /**
   * After every alternative that appears or is complete, and replays in between (all of few, some of many); credits are
   * those of the returns so far. Done and total count alternatives; in pairs, replays.
   */
  readonly onProgress: (bucket: BucketView, done: number, total: number) => void;
  /**
   * Asked before each of these but the last whether it is due; all are where it is left out. A report reads the whole
   * bucket.
   */
  readonly due?: () => boolean;
  /** Hears what the user should know of this replay, one line each. */
  readonly onRemark?: (remark: string) => void;
}

/** Bounds of one request. */
export const REPLAY_LIMITS = {
  alternatives: 256,
  replays: 256,
  pairs: SETTLE_LIMITS.most,
  textLength: 16_384,
} as const;

/** @throws C3Error('input') for a request out of bounds */
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
