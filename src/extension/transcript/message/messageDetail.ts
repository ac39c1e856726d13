/** Reads the content of a transcript page: its header, windows of rows, and single messages. */

import { basename } from 'node:path';
import { MAX_EVENT_TEXT, IMPORTED } from '../../../domain/episode.ts';
import { titleRunRound } from '../../../domain/evaluation.ts';
import {
  episodeFacts,
  measuredFacts,
  NOTHING_MEASURED,
  recordedOnly,
  type MeasuredFact,
  type Message,
  type FullMessage,
} from '../../../domain/message.ts';
import {
  classifyDraws,
  chooseOfferedSnapshots,
  type OfferedSnapshot,
  type OwnContinuation,
} from '../../../domain/replay.ts';
import { describeStoredJudge, parseStoredRecipe } from '../../../domain/run.ts';
import { estimateMessage, withVote } from '../../../report/estimates.ts';
import { toOutcome } from '../../../shared/credit/returns.ts';
import { isRecord } from '../../../shared/guard.ts';
import type {
  DrawnBucket,
  MarkedRow,
  MessageDetail,
  TranscriptHeader,
  TranscriptRow,
  TranscriptTarget,
} from '../../../shared/protocols/transcriptProtocol.ts';
import { POLICY_KINDS, type PolicyKind } from '../../../shared/rolePolicies.ts';
import {
  closesWithVote,
  findNode,
  findMessageRound,
  type ProtocolGraph,
} from '../../../shared/transcript/protocolGraph.ts';
import type { ShownEvent, ShownEvents } from '../../../shared/transcript/shownEvents.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import type { ProtocolReader } from './protocolReader.ts';
import { readShownVote } from './shownVote.ts';
import { VerificationMarks, type MarkReader } from './verificationMarks.ts';

/** Maximum number of request buckets shown for one message, newest first. */
const REQUESTS_SHOWN = 12;
/** Maximum number of alternatives shown of one bucket. All others have their rows in the tree. */
const ALTERNATIVES_SHOWN = 100;

/** Characters of an environment event that a row shows. The details of the message show all of it. */
const EVENT_PREVIEW = 160;

/** Reads the header of a transcript. @param protocols null until it is loaded */
export function readTranscriptHeader(
  reader: StoreReader,
  target: TranscriptTarget,
  protocols: ProtocolReader | null,
): TranscriptHeader {
  const { question, answer, source } = reader.problem(target.problem);
  const { title, method } = reader.run(target.run);
  return {
    title: titleRunRound(method, target.phase, target.iteration),
    subtitle: title,
    question,
    answer,
    source,
    protocol: protocols?.(reader, target.run) ?? null,
    measured: recordedOnly(episodeFacts(reader.episodesMeasured(target))),
  };
}

/** Returns the roles of the run's protocol. */
export function listProtocolRoles({ protocol }: TranscriptHeader): readonly string[] {
  return [...new Set(protocol?.nodes.map(({ role }) => role))];
}

/**
 * Adds outcomes, verification marks and environment events to rows. @param graph null until it is
 * loaded
 */
export function addMarks(
  reader: MarkReader & EventReader & Pick<StoreReader, 'returnScale'>,
  { run }: TranscriptTarget,
  graph: ProtocolGraph | null,
  rows: readonly TranscriptRow[],
): readonly MarkedRow[] {
  const marks = new VerificationMarks(reader);
  const scale = reader.returnScale(run);
  return rows.map((row) => {
    const { message, lane, branch, return: value } = row;
    const outcome = value === null ? null : toOutcome(value, scale);
    if (message === null || lane !== null) {
      return { ...row, outcome, verification: null, other: null, events: null };
    }
    const events = readShownEvents(reader, graph, message, EVENT_PREVIEW);
    return {
      ...row,
      outcome,
      verification: marks.of(message, branch),
      other: branch ? marks.otherOf(message) : null,
      events: events.before.length + events.after.length === 0 ? null : events,
    };
  });
}

/** Reads a message with its buckets, its vote, and the snapshots for continuing its replays. */
export async function readMessageDetail(
  reader: StoreReader,
  target: TranscriptTarget,
  protocols: ProtocolReader | null,
  id: number,
): Promise<MessageDetail> {
  const [message, said, known] = [
    reader.message(id),
    reader.fullMessage(id),
    reader.bucketsFor(id, ALTERNATIVES_SHOWN),
  ];
  const buckets = known.map((bucket): DrawnBucket => ({
    ...bucket,
    draws: classifyDraws(reader.replaysOfBucket(bucket.id), (leaf) => reader.fullMessage(leaf).streamKey),
  }));
  const requests = buckets
    .filter((bucket) => bucket.origin === 'request')
    .slice(-REQUESTS_SHOWN)
    .reverse();
  const shown = [...requests, ...buckets.filter((bucket) => bucket.origin === 'training')];
  const graph = protocols?.(reader, target.run) ?? null;
  const vote = graph === null || closesWithVote(graph) ? await readShownVote(reader, id) : null;
  return {
    message,
    scale: reader.returnScale(message.run),
    policy: readRolePolicy(reader, message.run, message.role),
    noted: reader.episodeNote(id),
    measured: readMeasuredFacts(reader, message),
    judge: describeStoredJudge(reader.runConfig(message.run)),
    code: isTestedCode(reader, target, graph, message),
    events: readShownEvents(reader, graph, id, MAX_EVENT_TEXT),
    vote,
    round: graph === null ? null : findMessageRound(graph, message.role, message.turn),
    context: said.context,
    streamKey: said.streamKey,
    tokenHash: said.tokenHash,
    buckets: shown,
    estimates: withVote(estimateMessage(message, known), id, vote),
    ...readOfferedContinuations(reader, said),
    ...readRecordedResult(reader, message),
  };
}

/** Returns the measured facts of a message. Missing facts are listed only for imported messages. */
function readMeasuredFacts(reader: StoreReader, { id, run }: Message): readonly MeasuredFact[] {
  const facts = measuredFacts(reader.measured(id) ?? NOTHING_MEASURED);
  return reader.run(run).method === IMPORTED ? facts : recordedOnly(facts);
}

/** Returns the event that follows an imported message, such as the result of a tool. */
function readRecordedResult(reader: StoreReader, { id, run, phase }: Message): Pick<MessageDetail, 'result'> {
  if (phase === 'replay' || reader.run(run).method !== IMPORTED) {
    return {};
  }
  const next = reader.children(id).find((child) => child.phase !== 'replay');
  const events =
    next === undefined ? reader.environmentEvents(id, 'after') : reader.environmentEvents(next.id, 'before');
  const event = events[0]?.event;
  return event === undefined ? {} : { result: { source: event.source, text: event.text } };
}

/** Returns true if the message is the code that the tests of its problem run. */
function isTestedCode(
  reader: StoreReader,
  { problem }: TranscriptTarget,
  graph: ProtocolGraph | null,
  { role, turn }: Pick<Message, 'role' | 'turn'>,
): boolean {
  return reader.problem(problem).tests !== undefined && graph !== null && findNode(graph, role, turn)?.scored === true;
}

// Continuations of a message's replays: as it was sampled itself, or with a snapshot of its run

interface Continuations {
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
}

/** Reads the continuations of a message, including all snapshots of its run. */
function readOfferedContinuations(
  reader: Pick<StoreReader, 'ownContinuation' | 'snapshotsOfRun'>,
  { id, run }: Pick<FullMessage, 'id' | 'run'>,
): Continuations {
  const all = reader
    .snapshotsOfRun(run)
    .map(({ id: snapshot, iteration: step, file }): OfferedSnapshot => ({
      id: snapshot,
      step,
      kept: step === 0 || file !== null,
    }));
  return { own: reader.ownContinuation(id), snapshots: chooseOfferedSnapshots(all) };
}

// The policy of a role, if it is not the run's model

/**
 * Reads the kind of a role's policy from the run's recipe, with its weights if it has its own. Returns
 * null for the run's model, or for an unknown kind of another version.
 */
export function readRolePolicy(reader: Pick<StoreReader, 'runConfig'>, run: string, role: string): PolicyKind | null {
  const recipe = parseStoredRecipe(reader.runConfig(run));
  const name = readNestedValue(recipe, ['config', 'policies', role, 'kind']);
  const kind: PolicyKind | undefined = POLICY_KINDS.find((one) => one.name === name);
  if (kind === undefined) {
    return null;
  }
  const [folder, snapshot] = ['folder', 'snapshot'].map((key) => readNestedValue(recipe, ['roles', role, key]));
  return typeof folder === 'string' && typeof snapshot === 'string'
    ? { ...kind, words: `${kind.words} Weights ${snapshot.slice(0, 12)} of ${basename(folder)}.` }
    : kind;
}

function readNestedValue(recipe: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    recipe,
  );
}

// Events of environments beside a message

export type EventReader = Pick<StoreReader, 'environmentEvents' | 'message'>;

/**
 * Reads the events before a message, and after it if it ends its episode.
 * @param most maximum length of a text, in characters
 */
export function readShownEvents(
  reader: EventReader,
  graph: ProtocolGraph | null,
  id: number,
  most: number,
): ShownEvents {
  const [before, after] = [reader.environmentEvents(id, 'before'), reader.environmentEvents(id, 'after')];
  const round = (message: number | null): number | null => {
    if (message === null || graph === null) {
      return null;
    }
    const { role, turn } = reader.message(message);
    return findMessageRound(graph, role, turn);
  };
  const shown = (events: typeof before, of: () => number | null): readonly ShownEvent[] => {
    // Most messages have no events, so their round is not read.
    const number = events.length === 0 ? null : of();
    return events.map(({ event: { source, text, closing, derived, done, reward } }) => ({
      source,
      text: text.slice(0, most),
      round: number,
      closing,
      derived,
      done,
      reward: reward ?? null,
    }));
  };
  return { before: shown(before, () => round(reader.message(id).parent)), after: shown(after, () => round(id)) };
}
