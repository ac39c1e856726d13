/**
 * Reads a log in any known form: JSON documents one after another, in lines or not, or entries in
 * the lists of one. The log is read twice and never as a whole: first to find its entries and group
 * them, then episode by episode, so a file may be far longer than memory. Unreadable data costs
 * only its own entry, and is counted.
 */

import { fieldsAt, textAt, type Fields } from '../chat/fields.ts';
import { parseMessage } from '../chat/messages.ts';
import { C3Error } from '../shared/errors.ts';
import { isRecord } from '../shared/guard.ts';
import {
  BEYOND_MESSAGES,
  conversationEpisode,
  holdsMessages,
  isConversation,
  MOST_MESSAGES,
  holdsConversation,
} from './conversations.ts';
import { datadogSpan } from './datadog.ts';
import { ElementScanner, type LogElement } from './elements.ts';
import type { EntryGroup, EntryIndex, EntryKind } from './entryIndex.ts';
import type { RecordedEpisode, RecordedLog, Survey } from './episode.ts';
import { isSample, sampleEpisode } from './inspectSample.ts';
import { isThread, threadEpisode } from './langGraph.ts';
import { unpackPair, flattenRuns, toRunStep } from './langSmith.ts';
import { langfuseTrace, toObservationStep } from './langfuse.ts';
import { toSpanStep } from './modelCalls.ts';
import { toAgentSpanStep, toBraintrustStep, toOpikStep, toWeaveStep } from './otherTraces.ts';
import { sessionEpisode, readSessionId } from './sessions.ts';
import type { EntryPlace, LogReader, Repair } from './source.ts';
import { readLogRecord, readSpan, readJaegerTrace, type LogRecord, type Span } from './spans.ts';
import type { Step } from './steps.ts';
import { conversationsIn } from './tables.ts';
import { lightStep, SystemPrompts, traceEpisode, type LightStep } from './traces.ts';

/** The most bytes of an episode whose entries are kept in memory while it is read. */
const KEPT_BYTES = 2 ** 22;

/** The most steps of one episode that are read. Each is compared with all others. */
const MOST_STEPS = 200_000;
/** The most entries of one batch id: a request and its answers. */
const MOST_OF_BATCH = 16;
const BATCH = 'requests and answers of a batch beyond the first of one id';
const BEYOND_STEPS = `spans beyond the first ${MOST_STEPS.toLocaleString('en')} of a trace`;
const MOST: Readonly<Record<EntryKind, number>> = {
  step: MOST_STEPS,
  message: MOST_MESSAGES,
  conversation: MOST_OF_BATCH,
  table: 1,
  sample: 1,
  trace: 1,
};

const SPANS = 'OpenTelemetry spans';
const CONVERSATIONS = 'messages of conversations';
const NO_JSON = 'entries that are not JSON';
const UNKNOWN = 'entries of no known form';
const REPAIRED: Readonly<Record<Repair, string>> = {
  nan: 'entries with numbers that JSON does not have (NaN, Infinity), which are read as null',
  bytes: 'entries with bytes that are not UTF-8, which are read as \u{fffd}',
  surrogates: 'entries with unpaired surrogates, which are read as \u{fffd}',
};

/** The kind and the content of an entry. */
type Known =
  | { readonly format: string; readonly kind: 'step'; readonly step: Step; readonly span?: Span }
  | { readonly format: string; readonly kind: 'step'; readonly record: LogRecord }
  | { readonly format: string; readonly kind: 'trace'; readonly trace: WholeTrace }
  | { readonly format: string; readonly kind: 'message' | 'conversation' | 'table' | 'sample' };

interface WholeTrace {
  readonly id: string;
  readonly steps: readonly Step[];
  readonly score: number | null;
}

const FORMATS: readonly ((value: unknown) => Known | null)[] = [
  (value) => asSpan('spans of Datadog', datadogSpan(value)),
  (value) => asSpan(SPANS, readSpan(value)),
  (value) => {
    const record = readLogRecord(value);
    return record === null ? null : { format: SPANS, kind: 'step', record };
  },
  (value) => {
    const spans = readJaegerTrace(value);
    const trace = { id: spans?.[0]?.trace ?? '', steps: (spans ?? []).map(toSpanStep), score: null };
    return spans === null ? null : { format: SPANS, kind: 'trace', trace };
  },
  (value) => {
    const runs = flattenRuns(value);
    const steps = (runs ?? []).flatMap((run) => toRunStep(run) ?? []);
    const score = steps.find((step) => step.score !== null)?.score ?? null;
    return runs === null
      ? null
      : { format: 'runs of LangSmith', kind: 'trace', trace: { id: steps[0]?.trace ?? '', steps, score } };
  },
  (value) => asStep('runs of LangSmith', toRunStep(value)),
  (value) => asStep("spans of OpenAI's Agents SDK", toAgentSpanStep(value)),
  (value) => asStep('calls of Weave', toWeaveStep(value)),
  (value) => asStep('spans of Opik', toOpikStep(value)),
  (value) => asStep('spans of Braintrust', toBraintrustStep(value)),
  (value) => asStep('observations of Langfuse', toObservationStep(value)),
  (value) => (isSample(value) ? { format: 'samples of Inspect', kind: 'sample' } : null),
  (value) => {
    const trace = langfuseTrace(value);
    return trace === null ? null : { format: 'traces of Langfuse', kind: 'trace', trace };
  },
  (value) => (isThread(value) ? { format: 'checkpoints of LangGraph', kind: 'conversation' } : null),
  (value) =>
    readSessionId(value) === null || parseMessage(value) === null
      ? null
      : { format: 'sessions of agents', kind: 'message' },
  (value) =>
    parseMessage(unpackPair(value)) !== null && !isHolder(value) ? { format: CONVERSATIONS, kind: 'message' } : null,
  (value) =>
    readBatchId(value) !== null || holdsConversation(value) ? { format: CONVERSATIONS, kind: 'conversation' } : null,
  (value) => (conversationsIn(value) === null ? null : { format: CONVERSATIONS, kind: 'table' }),
  (value) => (isConversation(value) ? { format: CONVERSATIONS, kind: 'conversation' } : null),
];

/** Returns the id that a batch's request and answer share, or null for other values. */
const readBatchId = (value: unknown): string | null =>
  isRecord(value) && (isRequest(value) || isAnswer(value)) ? textAt(value, 'custom_id') : null;
const isRequest = (value: Fields): boolean =>
  (isRecord(value['body']) && 'url' in value) || Array.isArray(fieldsAt(value, 'params')['messages']);
const isAnswer = (value: Fields): boolean =>
  isRecord(value['response']) || textAt(fieldsAt(value, 'result'), 'type') !== null;

const asSpan = (format: string, span: Span | null): Known | null =>
  span === null ? null : { format, kind: 'step', step: toSpanStep(span), span };

const asStep = (format: string, step: Step | null): Known | null =>
  step === null ? null : { format, kind: 'step', step };

/** Returns true if an object holds messages, regardless of its other content. */
const isHolder = (value: unknown): boolean =>
  isRecord(value) &&
  (['messages', 'choices', 'request', 'response'].some((key) => typeof value[key] === 'object') ||
    (holdsMessages(value) && !namesSpeaker(value)));

/** Returns true if a message names its speaker. A `source` may be that of the data instead. */
const namesSpeaker = ({ source, ...message }: Fields): boolean =>
  parseMessage(message) !== null || parseMessage({ ...message, type: source }) !== null;

const identifyEntry = (value: unknown): Known | null => {
  for (const format of FORMATS) {
    const known = format(value);
    if (known !== null) {
      return known;
    }
  }
  return null;
};

/** Returns the id of the conversation of a message that is an entry of its own. */
const readConversationId = (value: unknown): string | null =>
  isRecord(value)
    ? textAt(
        value,
        'conversation_id',
        'conversation',
        'episode',
        'thread_id',
        'thread',
        'session_id',
        'session',
        'sessionId',
        'chat_id',
      )
    : null;

/**
 * Finds the entries of a log. Each step reads one piece of the file, so that other work can run
 * between steps.
 * @param index receives the places of the entries, and gives them when the episodes are read
 * @param survey counts the entries that are left out
 * @param onBytes receives every byte once, in order
 * @returns null if the file is not a log of a known form
 * @throws C3Error('input') if it is not JSON
 */
export function* readLog(
  reader: LogReader,
  index: EntryIndex,
  survey: Survey,
  onBytes?: (bytes: Buffer) => void,
): Generator<undefined, RecordedLog | null> {
  const scanner = new ElementScanner(reader.source);
  const prompts = new SystemPrompts();
  const formats = new Set<string>();
  const recorded = new Set<string>();
  const unknown = new UnknownEntries(survey);
  /** The start of the last object whose list holds a known entry. */
  let holder: number | null = null;
  let fault: C3Error | undefined;
  for (const elements of scanner.pieces(onBytes)) {
    for (const element of elements) {
      if (element.excessive) {
        survey.leaveOut('entries longer than 64 MB or more deeply nested than 256 levels', 1, lineOf(element));
        continue;
      }
      const read = reader.value(element);
      if (read instanceof C3Error) {
        fault ??= read;
        survey.leaveOut(NO_JSON, 1, lineOf(element));
        continue;
      }
      survey.masked += read.masked;
      for (const repair of read.repaired) {
        survey.leaveOut(REPAIRED[repair], 1, lineOf(element));
      }
      const known = identifyEntry(read.value);
      // The items in the lists of a holder of entries were found already.
      if (known === null || (known.kind === 'table' && element.start === holder)) {
        unknown.add(element, read.value);
        continue;
      }
      holder = element.holder ?? holder;
      unknown.hold(element);
      formats.add(known.format);
      index.add(element, known.kind, findEntryGroup(known, read.value, element));
      if ('step' in known) {
        prompts.addStep(known.step);
      }
      if ('record' in known) {
        recorded.add(known.record.trace);
      }
    }
    yield undefined;
  }
  unknown.count();
  fault ??= scanner.broken[0]?.error;
  if (formats.size === 0 && fault !== undefined) {
    throw fault;
  }
  for (const { line } of scanner.broken) {
    survey.leaveOut(NO_JSON, 1, `line ${line}`);
  }
  survey.leaveOut(NO_JSON, scanner.brokenCount - scanner.broken.length);
  if (
    formats.size === 0 &&
    !['resourceSpans', 'resource_spans', 'resourceLogs'].some((key) => scanner.lists.has(key))
  ) {
    return null;
  }
  return {
    format: [...formats].join(' and ') || SPANS,
    episodes: (of) => readEpisodes({ reader, index, prompts, recorded, survey: of }),
  };
}

const lineOf = ({ line }: EntryPlace): string | null => (line === 0 ? null : `line ${line}`);

/** The most keys that are named for an entry of no known form. */
const MOST_KEYS = 6;

/**
 * Entries of no known form. Those in a list of an object, such as `runs`, wait until the object
 * ends. If the object is a conversation itself, the items of its other lists are not entries.
 */
class UnknownEntries {
  private readonly survey: Survey;
  private waiting: { readonly holder: number; readonly places: (string | null)[] } | null = null;

  constructor(survey: Survey) {
    this.survey = survey;
  }

  add({ holder, ...place }: LogElement, value: unknown): void {
    if (this.waiting !== null && this.waiting.holder !== holder) {
      this.count();
    }
    const line = lineOf(place);
    const keys = isRecord(value) ? Object.keys(value).slice(0, MOST_KEYS) : [];
    const named = line === null ? null : `${line}${keys.length === 0 ? '' : ` with ${keys.join(', ')}`}`;
    if (holder === null) {
      this.survey.leaveOut(UNKNOWN, 1, named);
      return;
    }
    this.waiting ??= { holder, places: [] };
    this.waiting.places.push(this.waiting.places.length < MOST_KEYS ? named : null);
  }

  /** Takes in an entry of a known form. The waiting entries are dropped if it holds them. */
  hold({ start }: LogElement): void {
    if (this.waiting?.holder === start) {
      this.waiting = null;
    }
  }

  /** Counts the waiting entries. */
  count(): void {
    for (const place of this.waiting?.places ?? []) {
      this.survey.leaveOut(UNKNOWN, 1, place);
    }
    this.waiting = null;
  }
}

/** Returns the key that an entry shares with its episode, or null if it is an episode by itself. */
function findEntryGroup(known: Known, value: unknown, { item, document }: LogElement): string | null {
  if (known.kind === 'step') {
    return `${known.format} ${readTraceId(known)}`;
  }
  if (known.kind === 'conversation') {
    const batch = readBatchId(value);
    return batch === null ? null : `batch ${batch}`;
  }
  if (known.kind !== 'message') {
    return null;
  }
  const named = readConversationId(value);
  // Messages in lines of their own that name no conversation are one conversation.
  return named === null ? (item ? `list ${document}` : 'lines') : `named ${named}`;
}

interface Reading {
  readonly reader: LogReader;
  readonly index: EntryIndex;
  readonly prompts: SystemPrompts;
  /** The traces whose events are separate records in the log. */
  readonly recorded: ReadonlySet<string>;
  readonly survey: Survey;
}

function* readEpisodes(reading: Reading): Generator<RecordedEpisode> {
  const { index, survey } = reading;
  let number = 0;
  for (const group of index.groups(MOST)) {
    number++;
    for (const episode of readGroup(group, `conversation ${number}`, reading)) {
      if (episode === null) {
        const { kind } = group;
        const what = kind === 'step' || kind === 'trace' ? 'traces' : kind === 'sample' ? 'samples' : 'conversations';
        survey.leaveOut(`${what} in which no model says anything`);
      } else {
        yield episode;
      }
    }
  }
}

/** Yields the episodes of a group, several for a table, and null for one without an answer. */
function* readGroup(group: EntryGroup, id: string, reading: Reading): Generator<RecordedEpisode | null> {
  const [place] = group.places;
  if (group.kind !== 'table' || place === undefined) {
    yield readEpisode(group, id, reading);
    return;
  }
  for (const [at, row] of (conversationsIn(readEntryAgain(reading.reader, place)) ?? []).entries()) {
    yield conversationEpisode(row, `${id}, row ${at + 1}`, reading.survey);
  }
}

function readEpisode(
  { kind, count, places }: EntryGroup,
  id: string,
  { reader, prompts, recorded, survey }: Reading,
): RecordedEpisode | null {
  const [only] = places;
  if (kind === 'step') {
    survey.leaveOut(BEYOND_STEPS, count - places.length);
    return stepsEpisode(places, { reader, prompts, recorded, survey });
  }
  if (kind === 'message') {
    survey.leaveOut(BEYOND_MESSAGES, count - places.length);
    const messages = places.map((place) => readEntryAgain(reader, place));
    const name = readConversationId(messages[0]) ?? id;
    return readSessionId(messages[0]) === null
      ? conversationEpisode({ messages }, name, survey)
      : sessionEpisode(messages, name, survey);
  }
  if (only === undefined) {
    return null;
  }
  const { value, used } =
    places.length > 1
      ? mergeBatch(places.map((place) => readEntryAgain(reader, place)))
      : { value: readEntryAgain(reader, only), used: 1 };
  survey.leaveOut(BATCH, count - used);
  if (kind === 'trace') {
    const known = identifyEntry(value);
    return known?.kind === 'trace' ? wholeTraceEpisode(known.trace, survey) : null;
  }
  if (isThread(value)) {
    return threadEpisode(value, id, survey);
  }
  return kind === 'sample' && isSample(value) ? sampleEpisode(value, survey) : conversationEpisode(value, id, survey);
}

/** Merges a batch's request with its first successful answer, and counts the merged entries. */
function mergeBatch(values: readonly unknown[]): { readonly value: unknown; readonly used: number } {
  const known = values.filter(isRecord);
  const request = known.find(isRequest);
  const answers = known.filter(isAnswer);
  const answer = answers.find(hasSucceeded) ?? answers[0];
  return { value: { ...answer, ...request }, used: new Set([answer, request].filter((one) => one !== undefined)).size };
}
const hasSucceeded = (answer: Fields): boolean =>
  Number(fieldsAt(answer, 'response')['status_code']) === OK || fieldsAt(answer, 'result')['type'] === 'succeeded';
const OK = 200;

/**
 * Reads an entry again.
 * @throws C3Error('input') if its file was changed since the first reading
 */
function readEntryAgain(reader: LogReader, place: EntryPlace): unknown {
  const read = reader.value(place);
  if (read instanceof C3Error) {
    throw makeChangedFileError(reader);
  }
  return read.value;
}

const makeChangedFileError = ({ source }: LogReader): C3Error =>
  new C3Error('input', `${source.name} was changed while it was read; import it again.`);

function wholeTraceEpisode({ id, steps, score }: WholeTrace, survey: Survey): RecordedEpisode | null {
  const prompts = new SystemPrompts();
  for (const step of steps) {
    prompts.addStep(step);
  }
  return traceEpisode(
    id,
    steps.map((step) => lightStep(step, () => step)),
    prompts,
    survey,
    { return: score },
  );
}

function stepsEpisode(
  places: readonly EntryPlace[],
  { reader, prompts, survey, recorded }: Omit<Reading, 'index'>,
): RecordedEpisode | null {
  const entryAt = (place: EntryPlace): Extract<Known, { kind: 'step' }> => {
    const entry = identifyEntry(readEntryAgain(reader, place));
    if (entry?.kind !== 'step') {
      throw makeChangedFileError(reader);
    }
    return entry;
  };
  // Most logs have no such records, and then no entry is read twice.
  const [first] = recorded.size === 0 ? [] : places.slice(0, 1).map(entryAt);
  let trace = first === undefined ? '' : readTraceId(first);
  const records = recorded.has(trace)
    ? places.map(entryAt).flatMap((entry) => ('record' in entry ? [entry.record] : []))
    : [];
  const bySpan = Map.groupBy(records, ({ span }) => span);
  /** Reads a step, or null for a record, which belongs to its span. */
  const read = (place: EntryPlace): Step | null => {
    const entry = entryAt(place);
    if (!('step' in entry)) {
      return null;
    }
    ({ trace } = entry.step);
    const own = entry.span === undefined ? undefined : bySpan.get(entry.span.id);
    return own === undefined || entry.span === undefined ? entry.step : toSpanStep(withRecords(entry.span, own));
  };
  const isKept = places.reduce((sum, { start, end }) => sum + end - start, 0) <= KEPT_BYTES;
  const steps = places.flatMap((place): readonly LightStep[] => {
    const step = read(place);
    return step === null ? [] : [lightStep(step, isKept ? always(step) : readAgain(read, place, reader))];
  });
  const known = new Set(steps.map(({ id }) => id));
  for (const [span, own] of bySpan) {
    if (!known.has(span)) {
      const step = toSpanStep(makeSpanOfRecords(own));
      steps.push(lightStep(step, always(step)));
    }
  }
  if (records.length > 0) {
    for (const step of steps.filter(({ kind, said }) => kind === 'model' && said !== null)) {
      prompts.addStep(step.read());
    }
  }
  return traceEpisode(trace, steps, prompts, survey);
}

const readTraceId = (entry: Extract<Known, { kind: 'step' }>): string =>
  'step' in entry ? entry.step.trace : entry.record.trace;

/** Returns a span with its events from the log's records. */
const withRecords = (span: Span, records: readonly LogRecord[]): Span => ({
  ...span,
  events: [...span.events, ...records.map(({ event }) => event)],
});

/** Returns a call made of its events, for a log without the span of the call. */
const makeSpanOfRecords = (records: readonly LogRecord[]): Span => ({
  trace: records[0]?.trace ?? '',
  id: records[0]?.span ?? '',
  parent: '',
  name: '',
  start: records[0]?.time ?? 0n,
  end: 0n,
  failed: null,
  dropped: 0,
  attributes: { 'gen_ai.operation.name': 'chat' },
  events: records.map(({ event }) => event),
});

// These functions stay at top level. Closures of one scope share all its variables, so each would
// keep every step.
const always = (step: Step) => (): Step => step;
const readAgain = (read: (place: EntryPlace) => Step | null, place: EntryPlace, reader: LogReader) => (): Step => {
  const step = read(place);
  if (step === null) {
    throw makeChangedFileError(reader);
  }
  return step;
};
