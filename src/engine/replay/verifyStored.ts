/** Re-executing stored replays on this machine, with the weights that they were sampled with. */
import { compareReturns } from '../../credit/sameReturns.ts';
import { IMPORTED } from '../../domain/episode.ts';
import type { BucketView, Replay } from '../../domain/replay.ts';
import type { ReturnSamples } from '../../domain/verification.ts';
import { PolicyGone } from '../../policy/policy.ts';
import { isUnseeded, sampleAgain } from '../../replay/sampleAgain.ts';
import { replaysOfMessage, verifyReplays, type VerificationReport, type VerifyControl } from '../../replay/verify.ts';
import { costWords, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import { RunSession, type Engine } from '../session/session.ts';
import { costedTeam, samplingCosts } from './costs.ts';

/** Replays that are read together. */
const PAGE = 500;

/** Re-executes replays of the session's run under its own weights and compares tokens. */
export async function verifyStored(
  session: RunSession,
  replays: readonly Replay[],
  control: VerifyControl,
): Promise<VerificationReport> {
  const { store, signal, protocol, recipe } = session;
  if (session.isImported) {
    return notComparable(store, replays);
  }
  const rules = { protocol, returnBound: recipe.config.credit.return_clip, evaluator: session.evaluator(null) };
  return verifyReplays(store, replays, (snapshot) => session.team(snapshot), rules, { ...control, signal });
}

/** @param again whether replays that no seed gives again are sampled again, which costs as much as they did */
export type AgainControl = VerifyControl & {
  readonly again: boolean;
  /** Hears what that may ask of servers at most, before anything is asked. */
  readonly onRemark?: ((remark: string) => void) | undefined;
};

/**
 * Re-executes replays, and compares the returns of those that no seed gives again with as many that are sampled again.
 * @throws as verifyStored; C3Error('budget') where a spending limit does not reach for it
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
  for (const cost of samplingCosts(store, unseeded, costedTeam(recipe, protocol))) {
    control.onRemark?.(`To sample again: ${costWords(cost)}`);
  }
  const samples: ReturnSamples[] = [];
  const evaluator = session.evaluator(session.judge);
  for (const [snapshot, own] of Map.groupBy(unseeded, ({ bucket }) => store.bucket(bucket).snapshot)) {
    try {
      await using team = await session.team(snapshot);
      samples.push(...(await sampleAgain(own, { ...rules, policy: team.policy, evaluator }, signal)));
    } catch (error) {
      // The report says already that they are not comparable, and why.
      if (!(error instanceof PolicyGone)) {
        throw error;
      }
    }
  }
  const returns = compareReturns(samples);
  return { ...report, ...(returns !== null && { returns }) };
}

/** What sampling the replays of a message again may ask of servers at most; nothing where all have seeds. */
export function verifyCosts(store: StoreReader, message: number): readonly EndpointCost[] {
  const run = store.messageRun(message);
  if (store.run(run).method === IMPORTED) {
    return [];
  }
  const unseeded = knownReplays(store, message).filter((replay) => isUnseeded(store, replay));
  const recipe = parseRecipe(store.runConfig(run), run);
  return samplingCosts(store, unseeded, costedTeam(recipe, protocolOf(recipe)));
}

/** The replays that a message represents. @throws C3Error('input') where it was never replayed */
export function knownReplays(store: StoreReader, message: number): Replay[] {
  const replays = replaysOfMessage(store, message);
  if (replays.length === 0) {
    throw new C3Error('input', `Message ${message} has no replay to verify; replay its alternatives first.`);
  }
  return replays;
}

/** Re-executes every replay of a bucket that is complete; a cancel leaves the rest unverified. */
export async function proveBucket(engine: Engine, bucket: number, signal: AbortSignal): Promise<BucketView> {
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

/** Notes of replays that servers answered and a program continued that they cannot be executed again. */
function notComparable(store: StoreWriter, replays: readonly Replay[]): VerificationReport {
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

/** The replays of a run: all, or a sample spread evenly over them. */
export function replaysToVerify(store: StoreReader, run: string, sample: number | null): Replay[] {
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
