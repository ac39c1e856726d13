/** Builds the report of one finding from the store. The same store always gives the same report. */

import { CONFIGURABLE_ESTIMATORS, creditGroup } from '../credit/estimators.ts';
import { isEmptied, creditRemoval } from '../credit/sideBySide.ts';
import { titleRunRound } from '../domain/evaluation.ts';
import { measuredFacts, NOTHING_MEASURED, type Message, type Sampling } from '../domain/message.ts';
import {
  describeOtherContinuation,
  folderName,
  OTHER_DISTRIBUTION,
  classifyDraws,
  type Alternative,
  type BucketView,
  type Replay,
} from '../domain/replay.ts';
import { describeStoredJudge, shownStatus } from '../domain/run.ts';
import { toWeightsStep } from '../domain/snapshot.ts';
import type { Credit } from '../shared/credit/credit.ts';
import { isRecord } from '../shared/guard.ts';
import type { ReplayVerdict, StoreReader } from '../store/types.ts';
import { Allowance } from './allowance.ts';
import {
  BRANCHES,
  readOwnBranches,
  readPath,
  readReplayedBranches,
  toReportedMessage,
  buildShape,
  type Shape,
} from './branches.ts';
import { estimateMessage, reportedCredit } from './estimates.ts';
import {
  REPORT_VERSION,
  type Continuation,
  type Cost,
  type EstimatedCredit,
  type FindingReport,
  type ReportedAlternative,
  type ReportedBucket,
  type ReportedRun,
  type Verified,
} from './types.ts';

/** Characters of a note. */
const NOTE_LIMIT = 2000;
/**
 * Buckets of replay requests, alternatives of a bucket, branches of an alternative, and characters of
 * a context and of a question.
 */
const REQUESTS = 12;
const ALTERNATIVES = 128;
const BRANCHES_EACH = 64;
const CONTEXT_CHARACTERS = 200_000;
const QUESTION_CHARACTERS = 20_000;
/** The most messages whose tokens are counted for the cost of a bucket. */
const COUNTED = 5_000;
/** The most alternatives whose missing credits are computed, which takes quadratic time. */
const COMPARED = 512;

/**
 * Reads the report of one message.
 * @throws C3Error('input') if the store does not hold it; C3Error('store') if it cannot be read
 */
export function buildFindingReport(store: StoreReader, id: number): FindingReport {
  const allowance = new Allowance();
  const message = store.message(id);
  const said = store.fullMessage(id);
  const { run, phase, iteration } = message;
  const { uid, question, answer, source, level } = store.problem(message.problem);
  const all = store.bucketsFor(id);
  const requests = all.filter(({ origin }) => origin === 'request');
  allowance.omit('older replays of this message', requests.length - REQUESTS);
  const shown = [...all.filter(({ origin }) => origin !== 'request'), ...requests.slice(-REQUESTS).reverse()];
  // The parts that come first have the first claim on the allowance.
  const credits = {
    credit: reportedCredit(message.credit),
    trainingCredit: message.trainingCredit,
    estimates: estimateMessage(message, all),
  };
  const noted = store.episodeNote(id);
  const reported = {
    ...toReportedMessage(message, allowance),
    ...credits,
    ...(noted !== null && { noted: { ...noted, note: shortenNote(noted.note) } }),
    return: message.return,
    leaves: message.leaves,
    ...(message.byHand === true && { byHand: true as const }),
    sampling: said.sampling,
    snapshot: said.snapshot,
    environment: store.environment(said.environment),
    measured: measuredFacts(store.measured(id) ?? NOTHING_MEASURED),
  };
  const context = {
    key: said.contextKey,
    tokens: said.promptTokens,
    reusedTokens: Math.min(said.promptTokens, said.reusedTokens),
    text: allowance.excerpt(said.context, CONTEXT_CHARACTERS),
  };
  const problem = {
    uid: uid.slice(0, 2000),
    question: allowance.excerpt(question, QUESTION_CHARACTERS),
    answer: allowance.excerpt(answer, QUESTION_CHARACTERS),
    source: source.slice(0, 2000),
    level,
  };
  const path = readPath(store, message, null, allowance);
  allowance.omit('earlier messages of the episode', path.leftOut);
  const branches = shown.some(({ id: bucket }) => bucket === message.bucket)
    ? []
    : readOwnBranches(store, message, buildShape(store, message), BRANCHES_EACH, allowance);
  const buckets = shown.map((bucket) => toReportedBucket(store, bucket, message, allowance));
  const labels = store
    .labelsOfMessage(id)
    .map(({ name, note, createdAt }) => ({ name: name.slice(0, 2000), note: note.slice(0, 2000), createdAt }));
  return {
    report: 'finding',
    version: REPORT_VERSION,
    run: toReportedRun(store, run),
    phase,
    iteration,
    place: titleRunRound(store.run(run).method, phase, iteration),
    instance: problem,
    message: reported,
    context,
    before: path.messages,
    branches,
    buckets,
    labels,
    leftOut: allowance.leftOut,
  };
}

/** Returns a run's row, with the name of its protocol. */
export function toReportedRun(store: Pick<StoreReader, 'run' | 'runConfig'>, id: string): ReportedRun {
  const { title, method, seed, status, createdAt, finishedAt, steps, plannedSteps } = store.run(id);
  const judge = describeStoredJudge(store.runConfig(id));
  // A report does not find out if a process still writes the run.
  return {
    run: id,
    title: title.slice(0, 2000),
    method,
    seed,
    status: shownStatus({ status, finishedAt }, true),
    createdAt,
    finishedAt,
    steps,
    plannedSteps,
    protocol: protocolName(store.runConfig(id)),
    ...(judge !== null && { judge }),
  };
}

/** Cuts a note to `NOTE_LIMIT`. */
const shortenNote = (note: string): string => (note.length > NOTE_LIMIT ? `${note.slice(0, NOTE_LIMIT)}…` : note);

/** Returns the name of the protocol in a stored configuration, or null if it is unknown. */
function protocolName(configuration: string): string | null {
  const text = readJsonKey(configuration, 'protocolText');
  const name = typeof text === 'string' ? readJsonKey(text, 'name') : undefined;
  return typeof name === 'string' ? name.slice(0, 200) : null;
}

/** Returns the value under a key of a JSON object, or undefined if the text is not one. */
export function readJsonKey(json: string, key: string): unknown {
  try {
    const parsed: unknown = JSON.parse(json);
    return isRecord(parsed) ? parsed[key] : undefined;
  } catch {
    return undefined;
  }
}

function toReportedBucket(
  store: StoreReader,
  bucket: BucketView,
  asked: Message,
  allowance: Allowance,
): ReportedBucket {
  const { id, origin, iteration } = bucket;
  const replays = store.replaysOfBucket(id);
  const verdicts = store.verdictsOfBucket(id);
  allowance.omit('alternatives', bucket.alternatives.length - ALTERNATIVES);
  if (bucket.alternatives.length > COMPARED) {
    allowance.omit('credits that are not stored, of buckets with very many alternatives', 1);
  }
  const credits = collectCredits(store, bucket);
  const messages = store.messages(bucket.alternatives.map(({ message: one }) => one));
  const shapes = new Map<string, Shape>();
  const shape = (message: Message): Shape => {
    const name = `${message.phase} ${message.iteration}`;
    const known = shapes.get(name) ?? buildShape(store, message);
    shapes.set(name, known);
    return known;
  };
  const alternatives = bucket.alternatives.slice(0, ALTERNATIVES).map((alternative, index): ReportedAlternative => {
    const message = messages[index] ?? store.message(alternative.message);
    const said = toReportedMessage(message, allowance);
    const own = replays.filter((replay) => replay.alternative === alternative.message);
    allowance.omit(BRANCHES, own.length - BRANCHES_EACH);
    // A training bucket may have replays of its own. Otherwise, the episodes below an alternative
    // are its continuations.
    const branches =
      replays.length === 0 && origin === 'training'
        ? readOwnBranches(store, message, shape(message), BRANCHES_EACH, allowance)
        : readReplayedBranches(store, message, own.slice(0, BRANCHES_EACH), verdicts, allowance);
    const { index: at, original, returns, evaluatorCalls, credit, verification } = alternative;
    return {
      ...said,
      index: at,
      original,
      returns,
      evaluatorCalls,
      credit: reportedCredit(credit),
      credits: credits.get(alternative.message) ?? [],
      verification,
      branches,
    };
  });
  const counted =
    origin === 'training'
      ? messages.flatMap((message) => shape(message).below(message.id))
      : shapeMessages(store, bucket);
  return {
    bucket: id,
    origin,
    iteration,
    alternatives,
    removal: computeBucketRemoval(bucket),
    continuation: describeContinuation(store, bucket, replays, asked),
    verified: verdicts.length === 0 ? null : countVerdicts(verdicts),
    cost: computeBucketCost(store, bucket, counted),
  };
}

function shapeMessages(store: StoreReader, { run, iteration, problem }: BucketView): readonly number[] {
  return store.outline({ run, phase: 'replay', iteration, problem }).messages.map(({ id }) => id);
}

/**
 * Returns the stored credits of each alternative, the newest of each estimator. Missing credits
 * that need only returns are computed if two alternatives have a return, and there are not too
 * many.
 */
function collectCredits(
  store: Pick<StoreReader, 'credits'>,
  { id, alternatives }: BucketView,
): ReadonlyMap<number, readonly EstimatedCredit[]> {
  const found = new Map<number, Map<string, EstimatedCredit>>(alternatives.map(({ message: one }) => [one, new Map()]));
  if (
    alternatives.length <= COMPARED &&
    alternatives.filter(({ returns }) => returns.some((value) => value !== null)).length >= 2
  ) {
    for (const { name: estimator } of CONFIGURABLE_ESTIMATORS.filter(({ needs }) => needs === 'returns')) {
      for (const [index, credit] of creditGroup({ alternatives }, estimator).entries()) {
        if (credit !== null) {
          found.get(alternatives[index]?.message ?? -1)?.set(estimator, { ...credit, stored: false });
        }
      }
    }
  }
  for (const { bucket: _, message: one, ...credit } of store.credits(id)) {
    found.get(one)?.set(credit.estimator, { ...credit, stored: true });
  }
  return new Map([...found].map(([one, byEstimator]) => [one, [...byEstimator.values()]]));
}

/** Returns the effect of an empty message in place of the original, or null without returns. */
function computeBucketRemoval({ alternatives }: BucketView): Credit | null {
  const original = alternatives.find((alternative) => alternative.original);
  const empty = alternatives.find(isEmptied);
  return original === undefined || empty === undefined ? null : creditRemoval([{ kept: original, emptied: empty }]);
}

function describeContinuation(
  store: StoreReader,
  bucket: BucketView,
  replays: readonly Replay[],
  asked: Message,
): Continuation {
  const { snapshot, run } = bucket;
  // The original may have been picked greedily. A sampled alternative shows the sampling of the
  // continuations.
  const sampled =
    bucket.alternatives.findLast(({ finish, original }) => finish !== 'typed' && !original) ??
    bucket.alternatives.at(-1);
  const said = sampled === undefined ? null : store.fullMessage(sampled.message);
  const own = snapshot === asked.snapshot && (bucket.continuation === null || asked.bucket === bucket.id);
  const found = store.snapshots(snapshot).find((one) => one.run === run)?.iteration ?? null;
  const step = found === null ? null : toWeightsStep(found);
  const other = own
    ? null
    : bucket.continuation === null
      ? OTHER_DISTRIBUTION
      : describeOtherContinuation(bucket.continuation, folderName);
  const weights =
    snapshot === asked.snapshot
      ? 'the weights that said the message'
      : 'other weights than those that said the message';
  return {
    snapshot,
    step,
    own,
    other,
    sampling: said?.sampling ?? null,
    environment: said === null ? null : store.environment(said.environment),
    draws: classifyDraws(replays, (message) => store.fullMessage(message).streamKey),
    assumption:
      (other === null
        ? ''
        : `This is ${other}: its returns and credits are of that distribution, not of the message's own. `) +
      `What follows an alternative is said by ${weights}` +
      (said === null ? '' : `, sampled at ${describeSampling(said.sampling)}`) +
      '; other weights, decoding or teammates may give other returns, which are not measured.',
  };
}

/** Describes a sampling: `temperature 1, top-p 1, ...`. */
export function describeSampling({ temperature, topP, topK, maxNewTokens }: Sampling): string {
  return `temperature ${temperature}, top-p ${topP}, top-k ${topK}, at most ${maxNewTokens} new tokens`;
}

export function countVerdicts(verdicts: readonly Pick<ReplayVerdict, 'result'>[]): Verified {
  const of = (result: ReplayVerdict['result']): number => verdicts.filter((one) => one.result === result).length;
  return {
    identical: of('identical'),
    different: of('different'),
    notComparable: of('notComparable'),
    unverified: of(null),
  };
}

function computeBucketCost(
  store: Pick<StoreReader, 'fullMessage'>,
  { alternatives }: BucketView,
  messages: readonly number[],
): Cost {
  const evaluatorCalls = alternatives.reduce((sum, alternative: Alternative) => sum + alternative.evaluatorCalls, 0);
  if (messages.length > COUNTED) {
    return { evaluatorCalls, tokens: null, decisions: null };
  }
  const tokens = { prompt: 0, reused: 0, completion: 0 };
  const spoken = new Map<string, number>();
  for (const id of messages) {
    const { promptTokens, reusedTokens, tokens: own, role } = store.fullMessage(id);
    // An answer from an equal request needed no computation.
    if (reusedTokens <= promptTokens) {
      tokens.prompt += promptTokens;
      tokens.reused += reusedTokens;
      tokens.completion += own.length;
    }
    spoken.set(role, (spoken.get(role) ?? 0) + 1);
  }
  return { evaluatorCalls, tokens, decisions: Object.fromEntries(spoken) };
}
