/**
 * A log in whichever form it is: JSON documents one after another, in lines or not, or entries in lists of one. It is
 * read twice and never as a whole: first where its entries are and which of them belong together, then each episode by
 * itself, so that a file may be far longer than memory.
 */
import { C3Error } from '../shared/errors.ts';
import { isRecord } from '../shared/guard.ts';
import { textAt } from '../chat/fields.ts';
import { parsedMessage } from '../chat/messages.ts';
import { BEYOND, conversationEpisode, isConversation, MOST_MESSAGES } from './conversations.ts';
import { ElementScanner, type LogElement } from './elements.ts';
import type { EntryGroup, EntryIndex, EntryKind } from './entryIndex.ts';
import type { RecordedEpisode, RecordedLog, Survey } from './episode.ts';
import { isSample, sampleEpisode } from './inspectSample.ts';
import { langfuseTrace, stepOfObservation } from './langfuse.ts';
import { stepOfRun } from './langSmith.ts';
import { stepOfSpan } from './modelCalls.ts';
import type { EntryPlace, LogReader } from './source.ts';
import { spanOf } from './spans.ts';
import type { Step } from './steps.ts';
import { lightStep, SystemPrompts, traceEpisode, type LightStep } from './traces.ts';

/** An episode's entries are kept while it is read where they have no more bytes together. */
const KEPT_BYTES = 2 ** 22;

/** Steps of one episode that are read: what is around each is looked for among all of them. */
const MOST_STEPS = 200_000;
const BEYOND_STEPS = `spans beyond the first ${MOST_STEPS.toLocaleString('en')} of a trace`;
const MOST: Readonly<Record<EntryKind, number>> = {
  step: MOST_STEPS,
  message: MOST_MESSAGES,
  conversation: 1,
  sample: 1,
  trace: 1,
};

interface Known {
  readonly format: string;
  readonly kind: EntryKind;
  readonly step?: Step;
}

const FORMATS: readonly ((value: unknown) => Known | null)[] = [
  (value) => {
    const span = spanOf(value);
    return span === null ? null : { format: 'OpenTelemetry spans', kind: 'step', step: stepOfSpan(span) };
  },
  (value) => {
    const step = stepOfRun(value);
    return step === null ? null : { format: 'runs of LangSmith', kind: 'step', step };
  },
  (value) => {
    const step = stepOfObservation(value);
    return step === null ? null : { format: 'observations of Langfuse', kind: 'step', step };
  },
  (value) => (isSample(value) ? { format: 'samples of Inspect', kind: 'sample' } : null),
  (value) => (langfuseTrace(value) === null ? null : { format: 'traces of Langfuse', kind: 'trace' }),
  (value) =>
    isRecord(value) && value['langgraph_thread'] === true
      ? { format: 'checkpoints of LangGraph', kind: 'conversation' }
      : null,
  (value) => (isConversation(value) ? { format: 'messages of conversations', kind: 'conversation' } : null),
  (value) => (parsedMessage(value) === null ? null : { format: 'messages of conversations', kind: 'message' }),
];

const knownAs = (value: unknown): Known | null => {
  for (const format of FORMATS) {
    const known = format(value);
    if (known !== null) {
      return known;
    }
  }
  return null;
};

/** What names the conversation of a message that is an entry of its own. */
const conversationOf = (value: unknown): string | null =>
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
        'chat_id',
      )
    : null;

/**
 * Finds the entries of a log; each step of it is a piece of the file, so that others may work between.
 * @param index takes in where they are; the episodes are read from it
 * @param survey hears what is left out
 * @param onBytes hears every byte once, in order
 * @returns null where it is no log of a known form
 * @throws C3Error('input') for what is no JSON
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
  for (const elements of scanner.pieces(onBytes)) {
    for (const element of elements) {
      if (element.excessive) {
        survey.leaveOut('entries longer than 64 MB or more deeply nested than 256 levels');
        continue;
      }
      const { value, masked } = reader.value(element);
      survey.masked += masked;
      const known = knownAs(value);
      if (known === null) {
        survey.leaveOut('entries of no known form');
        continue;
      }
      formats.add(known.format);
      index.add(element, known.kind, groupOf(known, value, element));
      addPrompt(prompts, known.step);
    }
    yield undefined;
  }
  if (formats.size === 0 && !scanner.lists.has('resourceSpans')) {
    return null;
  }
  return {
    format: [...formats].join(' and ') || 'OpenTelemetry spans',
    episodes: (of) => episodesOf({ reader, index, prompts, survey: of }),
  };
}

function addPrompt(prompts: SystemPrompts, step: Step | undefined): void {
  if (step?.kind === 'model') {
    const { input, output } = step.call();
    if (output.length > 0) {
      prompts.add(input, step.start);
    }
  }
}

/** What an entry shares with those of its episode; null for one that is an episode by itself. */
function groupOf({ format, kind, step }: Known, value: unknown, { item, document }: LogElement): string | null {
  if (step !== undefined) {
    return `${format} ${step.trace}`;
  }
  if (kind !== 'message') {
    return null;
  }
  const named = conversationOf(value);
  // Messages in lines of their own that name nothing are one conversation.
  return named === null ? (item ? `list ${String(document)}` : 'lines') : `named ${named}`;
}

interface Reading {
  readonly reader: LogReader;
  readonly index: EntryIndex;
  readonly prompts: SystemPrompts;
  readonly survey: Survey;
}

function* episodesOf(reading: Reading): Generator<RecordedEpisode> {
  const { index, survey } = reading;
  let number = 0;
  for (const group of index.groups(MOST)) {
    number++;
    const episode = episodeOf(group, `conversation ${String(number)}`, reading);
    if (episode === null) {
      const { kind } = group;
      const what = kind === 'step' || kind === 'trace' ? 'traces' : kind === 'sample' ? 'samples' : 'conversations';
      survey.leaveOut(`${what} in which no model says anything`);
    } else {
      yield episode;
    }
  }
}

function episodeOf(
  { kind, count, places }: EntryGroup,
  id: string,
  { reader, prompts, survey }: Reading,
): RecordedEpisode | null {
  const [only] = places;
  if (kind === 'step') {
    survey.leaveOut(BEYOND_STEPS, count - places.length);
    return stepsEpisode(places, { reader, prompts, survey });
  }
  if (kind === 'message') {
    survey.leaveOut(BEYOND, count - places.length);
    const messages = places.map((place) => reader.value(place).value);
    return conversationEpisode({ messages }, conversationOf(messages[0]) ?? id, survey);
  }
  if (only === undefined) {
    return null;
  }
  const { value } = reader.value(only);
  if (kind === 'trace') {
    const trace = langfuseTrace(value);
    const own = new SystemPrompts();
    for (const step of trace?.steps ?? []) {
      addPrompt(own, step);
    }
    const steps = (trace?.steps ?? []).map((step) => lightStep(step, () => step));
    return trace === null ? null : traceEpisode(trace.id, steps, own, survey, { return: trace.score });
  }
  return kind === 'sample' && isSample(value) ? sampleEpisode(value, survey) : conversationEpisode(value, id, survey);
}

function stepsEpisode(
  places: readonly EntryPlace[],
  { reader, prompts, survey }: Omit<Reading, 'index'>,
): RecordedEpisode | null {
  const read = (place: EntryPlace): Step => {
    const step = knownAs(reader.value(place).value)?.step;
    if (step === undefined) {
      throw new C3Error('input', `${reader.source.name} was changed while it was read; import it again.`);
    }
    return step;
  };
  const isKept = places.reduce((sum, { start, end }) => sum + end - start, 0) <= KEPT_BYTES;
  let trace = '';
  const steps = places.map((place): LightStep => {
    const step = read(place);
    ({ trace } = step);
    return lightStep(step, isKept ? always(step) : readAgain(read, place));
  });
  return traceEpisode(trace, steps, prompts, survey);
}

// Functions of one scope hold all that any of them uses: made in one, these would keep every step.
const always = (step: Step) => (): Step => step;
const readAgain = (read: (place: EntryPlace) => Step, place: EntryPlace) => (): Step => read(place);
