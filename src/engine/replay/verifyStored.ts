/** Executes stored replays again on this machine with the weights that sampled them. */

import { compareReturns } from '../../credit/sameReturns.ts';
import { IMPORTED } from '../../domain/episode.ts';
import type { BucketView, Replay } from '../../domain/replay.ts';
import type { ReturnSamples } from '../../domain/verification.ts';
import { PolicyGone } from '../../policy/policy.ts';
import { isUnseeded, sampleAgain } from '../../replay/sampleAgain.ts';
import {
  findReplaysOfMessage,
  verifyReplays,
  type VerificationReport,
  type VerifyControl,
} from '../../replay/verify.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { RunSession, type Engine } from '../session/session.ts';
import { toCostedTeam, estimateSamplingCosts } from './costs.ts';

/** Replays that one query reads. */
const PAGE = 500;

/** Executes replays of the session's run again with its own weights, and compares tokens. */
export async function verifyStored(
  session: RunSession,
  replays: readonly Replay[],
  control: VerifyControl,
): Promise<VerificationReport> {
  const { store, signal, protocol, recipe } = session;
  if (session.isImported) {
    return storeNotComparable(store, replays);
  }
  const rules = { protocol, returnBound: recipe.config.credit.return_clip, evaluator: session.evaluator(null) };
  return verifyReplays(store, replays, (snapshot) => session.team(snapshot), rules, { ...control, signal });
}

/** @param again true to sample unseeded replays again, which costs as much as the first time */
export type AgainControl = VerifyControl & {
  readonly again: boolean;
  /** Receives the highest server costs before any request is sent. */
  readonly onRemark?: ((remark: string) => void) | undefined;
};

/**
 * Executes replays again. Unseeded replays cannot be repeated exactly, so each one is sampled again
 * and the returns are compared.
 * @throws as verifyStored; C3Error('budget') if a spending limit is too low for it
 */
export async function verifyReturns(
  session: RunSession,
  replays: readonly Replay[],
  control: AgainControl,
): Promise<VerificationReport> {
  const report = await verifyStored(session, replays, control);
  const { store, recipe, protocol, signal, rules } = session;
  const unseeded =
    !control.again || report.notComparable === 0 || session.isImported
      ? []
      : replays.filter((replay) => isUnseeded(store, replay));
  if (unseeded.length === 0) {
    return report;
  }
  for (const cost of estimateSamplingCosts(store, unseeded, toCostedTeam(recipe, protocol))) {
    control.onRemark?.(`To sample again: ${describeCost(cost)}`);
  }
  const samples: ReturnSamples[] = [];
  const evaluator = session.evaluator(session.judge);
  for (const [snapshot, own] of Map.groupBy(unseeded, ({ bucket }) => store.bucket(bucket).snapshot)) {
    try {
      await using team = await session.team(snapshot);
      samples.push(...(await sampleAgain(own, { ...rules, policy: team.policy, evaluator }, signal)));
    } catch (error) {
      // The report already says why they are not comparable.
      if (!(error instanceof PolicyGone)) {
        throw error;
      }
    }
  }
  const returns = compareReturns(samples);
  return { ...report, ...(returns !== null && { returns }) };
}

/** Returns the highest server costs of sampling a message's unseeded replays again. */
export function estimateVerifyCosts(store: StoreReader, message: number): readonly EndpointCost[] {
  const run = store.messageRun(message);
  if (store.run(run).method === IMPORTED) {
    return [];
  }
  const unseeded = requireReplays(store, message).filter((replay) => isUnseeded(store, replay));
  const recipe = parseRecipe(store.runConfig(run), run);
  return estimateSamplingCosts(store, unseeded, toCostedTeam(recipe, parseRecipeProtocol(recipe)));
}

/** Returns the replays of a message. @throws C3Error('input') if it was never replayed */
export function requireReplays(store: StoreReader, message: number): Replay[] {
  const replays = findReplaysOfMessage(store, message);
  if (replays.length === 0) {
    throw new C3Error('input', `Message ${message} has no replay to verify; replay its alternatives first.`);
  }
  return replays;
}

/** Executes every replay of a complete bucket again. Cancellation leaves the rest unverified. */
export async function verifyBucket(engine: Engine, bucket: number, signal: AbortSignal): Promise<BucketView> {
  const { run } = engine.work.reading((store) => store.bucket(bucket));
  try {
    await using session = await RunSession.open(engine, { what: 'verification of a replay', run }, signal);
    await verifyStored(session, session.store.replaysOfBucket(bucket), { signal });
  } catch (error) {
    if (!(error instanceof CancelledError)) {
      throw error;
    }
  }
  return engine.work.reading((store) => store.bucketView(bucket));
}

/** Stores that replays of recorded episodes cannot be executed again. */
function storeNotComparable(store: StoreWriter, replays: readonly Replay[]): VerificationReport {
  const detail = 'servers answered and a program of the user continued it: sampled, not exact';
  store.transaction(() => {
    for (const { id, environment } of replays) {
      store.insertVerification({ replay: id, result: 'notComparable', detail, difference: null, environment });
    }
  });
  return {
    checked: replays.length,
    identical: 0,
    different: 0,
    notComparable: replays.length,
    firstDifference: null,
    firstReason: detail,
  };
}

/** Returns the replays of a run: all, or a sample spread evenly over them. */
export function selectReplaysToVerify(store: StoreReader, run: string, sample: number | null): Replay[] {
  const total = store.countReplays(run);
  const replays: Replay[] = [];
  if (sample === null || sample >= total) {
    for (let offset = 0; offset < total; offset += PAGE) {
      replays.push(...store.replaysOfRun(run, offset, PAGE));
    }
  } else {
    for (let index = 0; index < sample; index++) {
      replays.push(...store.replaysOfRun(run, Math.floor((index * total) / sample), 1));
    }
  }
  return replays;
}
