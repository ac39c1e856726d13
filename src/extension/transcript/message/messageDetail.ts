import { basename } from 'node:path';
/** What a page shows of a transcript, read from the store: its header, a window of rows, one message in full. */
import { MAX_EVENT_TEXT, IMPORTED } from '../../../domain/episode.ts';
import { roundTitleOf } from '../../../domain/evaluation.ts';
import {
  episodeFacts,
  measuredFacts,
  NOTHING_MEASURED,
  recordedOnly,
  type MeasuredFact,
  type Message,
  type FullMessage,
} from '../../../domain/message.ts';
import { drawsOf, offeredSnapshots, type OfferedSnapshot, type OwnContinuation } from '../../../domain/replay.ts';
import { judgeWordsIn, storedRecipe } from '../../../domain/run.ts';
import { estimatesOf, withVote } from '../../../report/estimates.ts';
import { outcomeOf } from '../../../shared/credit/returns.ts';
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
import { closesWithVote, nodeOf, roundOf, type ProtocolGraph } from '../../../shared/transcript/protocolGraph.ts';
import type { ShownEvent, ShownEvents } from '../../../shared/transcript/shownEvents.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import type { ProtocolReader } from './protocolReader.ts';
import { shownVote } from './shownVote.ts';
import { VerificationMarks, type MarkReader } from './verificationMarks.ts';

/** Request buckets shown for one message, newest first. */
const REQUESTS_SHOWN = 12;
/** Alternatives shown of one bucket; every other one has its row in the tree. */
const ALTERNATIVES_SHOWN = 100;

/** Characters of an environment event in a row; the message's page has all of it. */
const EVENT_PREVIEW = 160;

/** Question, answer and place of a transcript. @param protocols null while it is not loaded */
export function headerOf(
  reader: StoreReader,
  target: TranscriptTarget,
  protocols: ProtocolReader | null,
): TranscriptHeader {
  const { question, answer, source } = reader.problem(target.problem);
  const { title, method } = reader.run(target.run);
  return {
    title: roundTitleOf(method, target.phase, target.iteration),
    subtitle: title,
    question,
    answer,
    source,
    protocol: protocols?.(reader, target.run) ?? null,
    measured: recordedOnly(episodeFacts(reader.episodesMeasured(target))),
  };
}

/** The roles of the run's protocol. */
export function rolesOf({ protocol }: TranscriptHeader): readonly string[] {
  return [...new Set(protocol?.nodes.map(({ role }) => role))];
}

/** Rows with the marks that they have, and the environment events beside them. @param graph null while not loaded */
export function markedRows(
  reader: MarkReader & EventReader & Pick<StoreReader, 'returnScale'>,
  { run }: TranscriptTarget,
  graph: ProtocolGraph | null,
  rows: readonly TranscriptRow[],
): readonly MarkedRow[] {
  const marks = new VerificationMarks(reader);
  const scale = reader.returnScale(run);
  return rows.map((row) => {
    const { message, lane, branch, return: value } = row;
    const outcome = value === null ? null : outcomeOf(value, scale);
    if (message === null || lane !== null) {
      return { ...row, outcome, verification: null, other: null, events: null };
    }
    const events = shownEvents(reader, graph, message, EVENT_PREVIEW);
    return {
      ...row,
      outcome,
      verification: marks.of(message, branch),
      other: branch ? marks.otherOf(message) : null,
      events: events.before.length + events.after.length === 0 ? null : events,
    };
  });
}

/** A message in full, with its buckets, the vote on it, and what its replays can be continued with. */
export async function messageDetail(
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
    draws: drawsOf(reader.replaysOfBucket(bucket.id), (leaf) => reader.fullMessage(leaf).streamKey),
  }));
  const requests = buckets
    .filter((bucket) => bucket.origin === 'request')
    .slice(-REQUESTS_SHOWN)
    .reverse();
  const shown = [...requests, ...buckets.filter((bucket) => bucket.origin === 'training')];
  const graph = protocols?.(reader, target.run) ?? null;
  const vote = graph === null || closesWithVote(graph) ? await shownVote(reader, id) : null;
  return {
    message,
    scale: reader.returnScale(message.run),
    policy: policyOfRole(reader, message.run, message.role),
    noted: reader.episodeNote(id),
    measured: measuredOf(reader, message),
    judge: judgeWordsIn(reader.runConfig(message.run)),
    code: isCode(reader, target, graph, message),
    events: shownEvents(reader, graph, id, MAX_EVENT_TEXT),
    vote,
    round: graph === null ? null : roundOf(graph, message.role, message.turn),
    context: said.context,
    streamKey: said.streamKey,
    tokenHash: said.tokenHash,
    buckets: shown,
    estimates: withVote(estimatesOf(message, known), id, vote),
    ...continuationsOf(reader, said),
    ...recordedResult(reader, message),
  };
}

/** What was measured of a message; what was not is said of one from elsewhere alone. */
function measuredOf(reader: StoreReader, { id, run }: Message): readonly MeasuredFact[] {
  const facts = measuredFacts(reader.measured(id) ?? NOTHING_MEASURED);
  return reader.run(run).method === IMPORTED ? facts : recordedOnly(facts);
}

/** What follows a message that was recorded elsewhere, where that is no message. */
function recordedResult(reader: StoreReader, { id, run, phase }: Message): Pick<MessageDetail, 'result'> {
  if (phase === 'replay' || reader.run(run).method !== IMPORTED) {
    return {};
  }
  const next = reader.children(id).find((child) => child.phase !== 'replay');
  const events =
    next === undefined ? reader.environmentEvents(id, 'after') : reader.environmentEvents(next.id, 'before');
  const event = events[0]?.event;
  return event === undefined ? {} : { result: { source: event.source, text: event.text } };
}

/** Whether a message is what the tests of its problem run. */
function isCode(
  reader: StoreReader,
  { problem }: TranscriptTarget,
  graph: ProtocolGraph | null,
  { role, turn }: Pick<Message, 'role' | 'turn'>,
): boolean {
  return reader.problem(problem).tests !== undefined && graph !== null && nodeOf(graph, role, turn)?.scored === true;
}

// What a message's replays can be continued with: what it was made with itself, and the snapshots of its run.

interface Continuations {
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
}

/** The run's part costs a read of its snapshots. */
function continuationsOf(
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
  return { own: reader.ownContinuation(id), snapshots: offeredSnapshots(all) };
}

// What answered for a role of a stored run in the place of its model.

/**
 * The kind of policy of a role, from the recipe that the run's row keeps, with the weights that answered where it has
 * its own; null for the run's model, and for a kind of another version.
 */
export function policyOfRole(reader: Pick<StoreReader, 'runConfig'>, run: string, role: string): PolicyKind | null {
  const recipe = storedRecipe(reader.runConfig(run));
  const name = valueIn(recipe, ['config', 'policies', role, 'kind']);
  const kind: PolicyKind | undefined = POLICY_KINDS.find((one) => one.name === name);
  if (kind === undefined) {
    return null;
  }
  const [folder, snapshot] = ['folder', 'snapshot'].map((key) => valueIn(recipe, ['roles', role, key]));
  return typeof folder === 'string' && typeof snapshot === 'string'
    ? { ...kind, words: `${kind.words} Weights ${snapshot.slice(0, 12)} of ${basename(folder)}.` }
    : kind;
}

function valueIn(recipe: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    recipe,
  );
}

// What environments added beside a message, as a page shows it.

export type EventReader = Pick<StoreReader, 'environmentEvents' | 'message'>;

/**
 * The events before a message, and after one that ends its episode.
 * @param most characters of a text
 */
export function shownEvents(reader: EventReader, graph: ProtocolGraph | null, id: number, most: number): ShownEvents {
  const [before, after] = [reader.environmentEvents(id, 'before'), reader.environmentEvents(id, 'after')];
  const round = (message: number | null): number | null => {
    if (message === null || graph === null) {
      return null;
    }
    const { role, turn } = reader.message(message);
    return roundOf(graph, role, turn);
  };
  const shown = (events: typeof before, of: () => number | null): readonly ShownEvent[] => {
    // Most messages have none; what they follow is then not read.
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
