/** Episodes from traces: the calls of models and tools in the order in which they began. */
import { chatOnly, questionOf, withToolNames, type ParsedMessage } from './chat.ts';
import type { SpeakerSource } from '../shared/records/logImport.ts';
import {
  LeftOut,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedLog,
  type RecordedMessage,
} from './episode.ts';
import { agentOf, isModelCall, isToolCall, modelCall, toolResult, type ModelCall } from './modelCalls.ts';
import type { Span } from './spans.ts';

/** Spans are nested at most so deeply; beyond, nobody is asked who they belong to. */
const MOST_ANCESTORS = 1000;

/** Reads spans, each trace an episode. */
export function traceLog(spans: readonly Span[]): RecordedLog {
  const leftOut = new LeftOut();
  const speakers = new Map<string, SpeakerSource>();
  const calls = new Map(spans.filter(isModelCall).map((span) => [span, modelCall(span)]));
  const prompts = systemPrompts(calls);
  const episodes = [...Map.groupBy(spans, ({ trace }) => trace)].flatMap(([trace, own]) => {
    const episode = episodeOf(trace, own, { calls, prompts, speakers, leftOut });
    if (episode === null) {
      leftOut.add('traces in which no model says anything');
    }
    return episode ?? [];
  });
  return { format: 'OpenTelemetry spans', episodes, speakers, leftOut: leftOut.reasons };
}

interface Reading {
  readonly calls: ReadonlyMap<Span, ModelCall>;
  /** Numbers of the system prompts of all calls. */
  readonly prompts: ReadonlyMap<string, number>;
  readonly speakers: Map<string, SpeakerSource>;
  readonly leftOut: LeftOut;
}

function episodeOf(trace: string, spans: readonly Span[], reading: Reading): RecordedEpisode | null {
  const { speakers, leftOut } = reading;
  const byId = new Map(spans.map((span) => [span.id, span]));
  // A call of a model may be recorded by two libraries, one within the other: the inner one is what was asked.
  const outer = new Set(
    spans.filter((span) => reading.calls.has(span)).flatMap((span) => ancestorsOf(span, byId).map(({ id }) => id)),
  );
  const calls = spans
    .filter((span) => (reading.calls.has(span) && !outer.has(span.id)) || isToolCall(span))
    .toSorted(earlier);
  leftOut.add('spans that are no calls of models or tools', spans.length - calls.length);
  const hasToolSpans = calls.some(isToolCall);
  const entries: (RecordedMessage | RecordedEvent)[] = [];
  for (const span of calls) {
    if (isToolCall(span)) {
      entries.push({ kind: 'event', ...toolResult(span) });
      continue;
    }
    const call = reading.calls.get(span);
    const said = call?.output[0];
    if (call === undefined || said === undefined) {
      leftOut.add('calls of models without what they said: most libraries record it only when asked to');
      continue;
    }
    const context = withToolNames(call.input);
    entries.push(...(hasToolSpans ? [] : newResults(context)));
    const { speaker, source } = speakerOf(span, byId, call, reading.prompts);
    speakers.set(speaker, source);
    entries.push({
      kind: 'message',
      speaker,
      context: context.map(chatOnly),
      text: said.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      finish: said.finish,
    });
  }
  const first = entries.find((entry) => entry.kind === 'message');
  return first === undefined
    ? null
    : { id: trace, question: questionOf(first.context), answer: '', return: null, entries: fromFirst(entries, first) };
}

/** What came before the first message belongs to its context. */
const fromFirst = <Entry>(entries: readonly Entry[], first: Entry): Entry[] => entries.slice(entries.indexOf(first));

/** The results of tools at the end of a context: what came since the model spoke last. */
function newResults(context: readonly ParsedMessage[]): RecordedEvent[] {
  const last = context.findLastIndex(({ role }) => role === 'assistant');
  return context
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ name, text }) => ({ kind: 'event', source: name ?? 'tool', text }));
}

/** The spans around a span, nearest first; each once, also where they are in a circle. */
function ancestorsOf(span: Span, byId: ReadonlyMap<string, Span>): Span[] {
  const found = new Set<Span>();
  let at = byId.get(span.parent);
  while (at !== undefined && at !== span && !found.has(at) && found.size < MOST_ANCESTORS) {
    found.add(at);
    at = byId.get(at.parent);
  }
  return [...found];
}

/** By the span, or the nearest around it, that names an agent; else calls with one system prompt are one agent's. */
function speakerOf(
  span: Span,
  byId: ReadonlyMap<string, Span>,
  { input }: ModelCall,
  prompts: ReadonlyMap<string, number>,
): { readonly speaker: string; readonly source: SpeakerSource } {
  const named = [span, ...ancestorsOf(span, byId)].map(agentOf).find((name) => name !== null);
  if (named !== undefined) {
    return { speaker: named, source: 'name' };
  }
  return prompts.size < 2
    ? { speaker: 'assistant', source: 'only speaker' }
    : { speaker: `agent ${String(prompts.get(systemOf(input)) ?? 0)}`, source: 'system prompt' };
}

/** Numbers, from 1, of the system prompts of all calls in the order in which they came. */
function systemPrompts(calls: ReadonlyMap<Span, ModelCall>): ReadonlyMap<string, number> {
  const prompts = new Map<string, number>();
  for (const [, { input, output }] of [...calls].toSorted(([a], [b]) => earlier(a, b))) {
    const prompt = systemOf(input);
    if (output.length > 0 && !prompts.has(prompt)) {
      prompts.set(prompt, prompts.size + 1);
    }
  }
  return prompts;
}

const earlier = (a: Span, b: Span): number => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0);

const systemOf = (messages: readonly ParsedMessage[]): string =>
  messages
    .filter(({ role }) => role === 'system')
    .map(({ text }) => text)
    .join('\n');
