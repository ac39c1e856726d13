/** Builds episodes from traces: the calls of models and tools, in the order of their outputs. */

import { hash } from 'node:crypto';
import { formatCall } from '../chat/content.ts';
import { joinAnswerPieces, toChatMessage, findQuestion, withToolNames, type ParsedMessage } from '../chat/messages.ts';
import type { ModelCall } from '../chat/modelCall.ts';
import { contains } from '../shared/text/contains.ts';
import {
  SharedContexts,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedMessage,
  type Survey,
} from './episode.ts';
import { PromptLabels, type PromptLabel } from './promptLabels.ts';
import { findPromptName, systemPrompt } from './promptName.ts';
import { measureCall, type Step } from './steps.ts';

/** The most enclosing steps that are searched for the agent of a step. */
const MOST_ANCESTORS = 200;
/** The most system prompts that tell agents apart. Beyond it, prompts usually differ in every call. */
const MOST_PROMPTS = 1000;

const UNRECORDED = 'calls of models without their output: most libraries record it only when asked to';
export const FAILED = 'calls that failed';
const GAVE_NOTHING = 'calls of tools without their result: most libraries record it only when asked to';
const RECORDED_TWICE = 'results of tools that two libraries recorded';

const NOTHING: Pick<ModelCall, 'input' | 'output'> = { input: [], output: [] };

interface KnownPrompt {
  /** The time of its first use. */
  readonly start: bigint;
  /** The name that it gives, or null. */
  readonly name: string | null;
}

/** Collects the system prompts of all calls, and gives each a label for its agent. */
export class SystemPrompts {
  private readonly known = new Map<string, KnownPrompt>();
  /** Agents that the log itself names, in lower case. */
  private readonly agents = new Set<string>();
  /** Labels that were returned. They never change, whatever is read later. */
  private readonly said = new Map<string, PromptLabel>();
  private labels: ReadonlyMap<string, PromptLabel> | undefined;

  /** Takes in a step: the agent that it names, and the prompt of a call with an output. */
  addStep({
    kind,
    agent,
    start,
    call,
    instructed = call,
  }: Pick<Step, 'kind' | 'agent' | 'start' | 'call' | 'instructed'>): void {
    if (agent !== null && this.agents.size < MOST_PROMPTS) {
      this.agents.add(agent.toLowerCase());
      this.labels = undefined;
    }
    const { input, output } = kind === 'model' ? instructed() : NOTHING;
    if (output.length === 0) {
      return;
    }
    const hash = hashPrompt(input);
    const known = this.known.get(hash);
    if (known === undefined ? this.known.size < MOST_PROMPTS : start < known.start) {
      this.known.set(hash, { start, name: known === undefined ? findPromptName(systemPrompt(input)) : known.name });
      this.labels = undefined;
    }
  }

  /** Returns the label of the agent with the system prompt of an input. */
  labelOf(input: readonly ParsedMessage[]): PromptLabel {
    const hash = hashPrompt(input);
    this.labels ??= this.labelled();
    const label = this.said.get(hash) ?? this.labels.get(hash);
    if (label === undefined) {
      return { name: 'agent 0', by: 'system prompt' };
    }
    this.said.set(hash, label);
    return label;
  }

  /** Returns labels of the prompts that have none yet. */
  private labelled(): ReadonlyMap<string, PromptLabel> {
    const ordered = [...this.known]
      .filter(([hash]) => !this.said.has(hash))
      .toSorted(([, a], [, b]) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
    const labels = new PromptLabels([...this.agents, ...[...this.said.values()].map(({ name }) => name)]);
    const named = labels.namedTogether(ordered.map(([, { name }]) => name));
    const unnamed = (): PromptLabel =>
      this.known.size === 1
        ? { name: 'assistant', by: 'only speaker' }
        : { name: labels.number(), by: 'system prompt' };
    return new Map(ordered.map(([hash], index) => [hash, named[index] ?? unnamed()]));
  }
}

/** A step without its texts, with a function that reads it again. */
export interface LightStep extends Omit<Step, 'trace' | 'call' | 'instructed' | 'result'> {
  /** The hash of its output or result, or null if the log does not hold it. */
  readonly said: string | null;
  /** For a model, the ids and names of the tools that it calls. For a tool, its name. */
  readonly tools: readonly string[];
  /** For a model, the ids of the calls whose results it received since its previous message. */
  readonly told: readonly string[];
  readonly notes: readonly string[];
  readonly read: () => Step;
}

/**
 * Returns a step without its texts.
 * @param read returns the whole step again; it is called when an episode needs the step
 */
export function lightStep(step: Step, read: () => Step): LightStep {
  const { id, parent, start, end, kind, agent, score, failed, answers, lacks } = step;
  const light = { id, parent, start, end, kind, agent, score, failed, answers, lacks, read };
  if (kind === 'tool') {
    const { source, text } = step.result();
    return { ...light, said: text === null ? null : hashText(text), tools: [source], told: NONE, notes: NONE };
  }
  if (kind === 'other') {
    return { ...light, said: null, tools: NONE, told: NONE, notes: NONE };
  }
  const { input, output, notes = NONE } = step.call();
  const { said } = joinAnswerPieces(output);
  const told = resultsSince(input).flatMap((result) => result.answers ?? []);
  return {
    ...light,
    said: said === null ? null : hashText(said.text),
    tools: said === null || said.calls.size === 0 ? NONE : [...said.calls].flat(),
    told: told.length === 0 ? NONE : told,
    notes: notes.length === 0 ? NONE : notes,
  };
}
/** Shared by all steps without texts, because a log has very many. */
const NONE: readonly string[] = [];

/** Returns a hash of a text. It is short and does not keep the memory of a longer string. */
const hashText = (text: string): string => hash('sha256', text.trim(), 'buffer').toString('latin1', 0, HASH);
const HASH = 12;

/**
 * Returns the episode of a trace, or null if no model says anything.
 * @param given its steps, in the order of the log
 * @param survey counts losses and collects speakers
 */
export function traceEpisode(
  id: string,
  given: readonly LightStep[],
  prompts: SystemPrompts,
  survey: Survey,
  outcome: Partial<Pick<RecordedEpisode, 'answer' | 'return'>> = {},
): RecordedEpisode | null {
  const steps = withAgents(given, survey);
  const byId = new Map(steps.map((step) => [step.id, step]));
  const around = findWrappers(steps, byId);
  const models = steps.filter((step) => step.kind === 'model' && !around.has(step));
  const { tools, twice } = deduplicateTools(steps, byId);
  survey.leaveOut('spans that are not calls of models or tools', steps.length - models.length - tools.length - twice);
  survey.leaveOut(RECORDED_TWICE, twice);
  for (const { lacks, notes, failed, said } of [...models, ...tools]) {
    for (const [reason, count] of lacks) {
      survey.leaveOut(reason, count);
    }
    // The failure of a call explains its missing parts.
    for (const note of failed === null || said !== null ? notes : []) {
      survey.leaveOut(note);
    }
  }
  const silent = models.filter(({ said }) => said === null);
  for (const { failed, notes } of silent) {
    if (failed !== null || notes.length === 0) {
      survey.leaveOut(failed === null ? UNRECORDED : FAILED);
    }
  }
  const ordered = orderSteps(
    models.filter(({ said }) => said !== null),
    tools.filter(({ said }) => said !== null),
    byId,
  );
  const begin = ordered.find(({ kind }) => kind === 'model');
  if (begin === undefined) {
    return null;
  }
  survey.leaveOut(GAVE_NOTHING, tools.filter(({ said }) => said === null).length);
  return {
    id,
    question: findQuestion(begin.read().call().input),
    answer: '',
    return: steps.find(({ score }) => score !== null)?.score ?? null,
    ...outcome,
    entries: entriesOf(ordered, byId, { prompts, survey, silent: silent.length }),
  };
}

/**
 * Turns each agent step into a model call if no call within it has an output, or else into a span
 * around calls. Outputs of an agent that no call within it repeats are counted.
 */
function withAgents(steps: readonly LightStep[], survey: Survey): readonly LightStep[] {
  if (!steps.some(({ kind }) => kind === 'agent')) {
    return steps;
  }
  const byId = new Map(steps.map((step) => [step.id, step]));
  const said = new Set(steps.flatMap((step) => (step.kind === 'model' && step.said !== null ? [step.said] : [])));
  const within = new Map<LightStep, LightStep[]>();
  for (const step of steps.filter(({ kind, said }) => said !== null && (kind === 'model' || kind === 'agent'))) {
    for (const outer of findAncestors(step, byId)) {
      within.set(outer, [...(within.get(outer) ?? []).slice(-MOST_WITHIN), step]);
    }
  }
  return steps.map((step) => {
    if (step.kind !== 'agent') {
      return step;
    }
    const calls = within.get(step) ?? [];
    const { input, output } = step.read().call();
    const text = joinAnswerPieces(output).said?.text ?? '';
    if (calls.length === 0 && text !== '' && !(step.said !== null && said.has(step.said))) {
      return { ...step, kind: 'model' };
    }
    const isSaid = text === '' || calls.length === 0 || calls.some((one) => contains(textSaid(one), text.trim()));
    survey.leaveOut(BESIDE, isSaid ? 0 : 1, step.agent ?? step.id);
    survey.leaveOut(UNREAD_AGENT_MESSAGES, calls.length === 0 ? input.length : 0, step.agent ?? step.id);
    return { ...step, kind: 'other' };
  });
}
/** The most calls within an agent that are compared. */
const MOST_WITHIN = 100;
const BESIDE = 'outputs of agents that no call within them repeats';
const UNREAD_AGENT_MESSAGES = 'messages in spans that are not calls of models or tools';

const textSaid = (step: LightStep): string => joinAnswerPieces(step.read().call().output).said?.text ?? '';

/**
 * Returns the model calls around others that add nothing. Two libraries may record one call, one
 * within the other. An outer call with an output of its own is kept as a call.
 */
function findWrappers(steps: readonly LightStep[], byId: ReadonlyMap<string, LightStep>): ReadonlySet<LightStep> {
  const wrappers = new Set<LightStep>();
  for (const step of steps) {
    if (step.kind !== 'model') {
      continue;
    }
    for (const outer of findAncestors(step, byId)) {
      if (outer.kind !== 'model') {
        continue;
      }
      if (outer.said === null) {
        wrappers.add(outer);
      } else if (step.said === null) {
        if (step.failed === null) {
          wrappers.add(step);
        }
      } else if (outer.said === step.said && isWithin(step, outer)) {
        wrappers.add(outer);
      }
    }
  }
  return wrappers;
}

/** Returns true if a step began before the step around it ended. */
const isWithin = (inner: LightStep, outer: LightStep): boolean => outer.end === 0n || inner.start < outer.end;

/** Returns the calls of tools, each once even if two libraries recorded it. */
function deduplicateTools(
  steps: readonly LightStep[],
  byId: ReadonlyMap<string, LightStep>,
): { readonly tools: readonly LightStep[]; readonly twice: number } {
  const all = steps.filter(({ kind }) => kind === 'tool');
  const bySaid = Map.groupBy(all, ({ said }) => said);
  const doubles = new Set<LightStep>();
  for (const tool of all) {
    const outer = [...findAncestors(tool, byId)].filter(({ kind }) => kind === 'tool');
    const sameResult = outer.some(({ said }) => said === tool.said || (tool.said === null && said !== null));
    const isBeside =
      !sameResult &&
      (bySaid.get(tool.said) ?? [])
        .slice(0, MOST_COMPARED)
        .some((one) => one !== tool && !doubles.has(one) && isSameCall(one, tool) && isFirst(one, tool, all));
    if (sameResult || isBeside) {
      doubles.add(tool);
    }
  }
  return { tools: all.filter((tool) => !doubles.has(tool)), twice: doubles.size };
}
/** The most equal results that are compared with each other. */
const MOST_COMPARED = 1000;

/** Returns true if two equal results are of one call: by its id, or by its name within its time. */
function isSameCall(one: LightStep, other: LightStep): boolean {
  if (one.answers !== null && other.answers !== null) {
    return one.answers === other.answers;
  }
  const contains = (a: LightStep, b: LightStep): boolean => a.end !== 0n && a.start <= b.start && b.end <= a.end;
  return one.tools[0] === other.tools[0] && one.said !== null && (contains(one, other) || contains(other, one));
}

const isFirst = (one: LightStep, other: LightStep, all: readonly LightStep[]): boolean =>
  one.start < other.start || (one.start === other.start && all.indexOf(one) < all.indexOf(other));

/**
 * Returns the steps in the order of their outputs. A tool's result comes after the message that
 * called it, after the calls within the tool, and before the message that received it, even if the
 * clocks of several machines say otherwise.
 */
function orderSteps(
  models: readonly LightStep[],
  tools: readonly LightStep[],
  byId: ReadonlyMap<string, LightStep>,
): readonly LightStep[] {
  const spoken = models.toSorted(byTime(({ start }) => start));
  const places = new Map(spoken.map((step, index) => [step, index]));
  const callers = new Map<string, number[]>();
  const listeners = new Map<string, number>();
  for (const [index, { tools: called, told }] of spoken.entries()) {
    for (const name of called) {
      callers.set(name, [...(callers.get(name) ?? []).slice(-MOST_CALLERS), index]);
    }
    for (const name of told) {
      listeners.set(name, Math.min(listeners.get(name) ?? index, index));
    }
  }
  const within = new Map<LightStep, number>();
  for (const step of spoken) {
    for (const outer of findAncestors(step, byId)) {
      if (outer.kind === 'tool') {
        within.set(outer, Math.max(within.get(outer) ?? -1, places.get(step) ?? -1));
      }
    }
  }
  /** Returns the number of messages before a result. */
  const placeOf = (tool: LightStep): number => {
    const time = timeOf(tool);
    const begun = lastBefore(spoken, time);
    const known = tool.answers === null ? undefined : callers.get(tool.answers)?.[0];
    const named = callers.get(tool.tools[0] ?? '') ?? [];
    const caller = known ?? (named.some((index) => index <= begun) ? -1 : (named[0] ?? -1));
    const after = Math.max(begun, caller, within.get(tool) ?? -1) + 1;
    const told = tool.answers === null ? undefined : listeners.get(tool.answers);
    return told === undefined ? after : Math.max(Math.min(after, told), caller + 1);
  };
  const results = Map.groupBy(tools.toSorted(byTime(timeOf)), placeOf);
  return [...Array(spoken.length + 1).keys()].flatMap((place) => [
    ...(place === 0 ? [] : spoken.slice(place - 1, place)),
    ...(results.get(place) ?? []),
  ]);
}
/**
 * Returns the index of the last step that began at or before a time, by binary search, or -1.
 * @param steps sorted by start
 */
function lastBefore(steps: readonly LightStep[], time: bigint): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const step = steps[middle];
    if (step !== undefined && step.start <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** The most calls of one tool that are remembered. */
const MOST_CALLERS = 16;

/** The time of a tool's result. */
const timeOf = ({ start, end }: LightStep): bigint => (end > start ? end : start);

const byTime =
  (time: (step: LightStep) => bigint) =>
  (a: LightStep, b: LightStep): number =>
    time(a) < time(b) ? -1 : time(a) > time(b) ? 1 : 0;

interface Reading {
  readonly prompts: SystemPrompts;
  readonly survey: Survey;
  /** The number of model calls without a recorded output. A later context may hold it. */
  readonly silent: number;
}

function* entriesOf(
  steps: readonly LightStep[],
  byId: ReadonlyMap<string, LightStep>,
  reading: Reading,
): Generator<RecordedMessage | RecordedEvent> {
  const results = new ResultsSoFar();
  const calls = new CallsSoFar();
  const contexts = new SharedContexts();
  const said = new Set(steps.flatMap((step) => (step.kind === 'model' && step.said !== null ? [step.said] : [])));
  const spoken: ParsedMessage[] = [];
  let { silent } = reading;
  const first = steps.find(({ kind }) => kind === 'model');
  // A tool result before the first message belongs to that message's context, if the context holds
  // it.
  const asked = first?.read().call().input ?? [];
  let begun = false;
  for (const light of steps) {
    const step = light.read();
    if (light.kind === 'tool') {
      const { source, asked: given, text } = step.result();
      const isCallSaid = calls.takes(light.answers, source);
      results.add(light, text ?? '');
      if (begun || !asked.some((message) => contains(message.text, (text ?? '').trim()))) {
        if (given !== '' && !isCallSaid) {
          yield { kind: 'event', source, text: formatCall(source, given) };
        }
        yield { kind: 'event', source, text: text ?? '' };
      }
      continue;
    }
    const call = step.call();
    const { said: own, results: within } = joinAnswerPieces(call.output);
    if (own === null) {
      continue;
    }
    const context = withToolNames(call.input);
    const speaker = findSpeaker(light, byId, call, reading);
    // The output of an unrecorded call may be in the context of a later one.
    for (const [at, message] of context.entries()) {
      if (silent > 0 && message.role === 'assistant' && !isRecorded(message, said, spoken)) {
        said.add(hashText(message.text));
        calls.add(message);
        silent--;
        const before = context.slice(0, at);
        if (begun) {
          yield* newEvents(before, results);
        }
        begun = true;
        const name = message.name === null ? speaker : reading.survey.speaker(message.name, 'name');
        yield { ...toUnrecordedMessage(message), context: contexts.of(before.map(toChatMessage)), speaker: name };
      }
    }
    if (begun) {
      yield* newEvents(context, results);
    }
    begun = true;
    calls.add(own);
    yield {
      kind: 'message',
      speaker,
      context: contexts.of(context.map(toChatMessage)),
      text: own.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      measured: measureCall(step.time ?? light, call.measures),
      finish: own.finish,
    };
    if (silent > 0 && spoken.length < MOST_SPOKEN) {
      spoken.push(own);
    }
    for (const { name, text, answers } of within) {
      results.note({ text, answers });
      yield { kind: 'event', source: name ?? own.calls.get(answers ?? '') ?? 'tool', text };
    }
  }
}

/** The most messages that later contexts are compared with to find unrecorded ones. */
const MOST_SPOKEN = 1000;

/**
 * Returns true if a message of a context was already recorded as an output. Programs often shorten
 * a message for the context, by its reasoning or its calls.
 */
function isRecorded(message: ParsedMessage, hashes: ReadonlySet<string>, spoken: readonly ParsedMessage[]): boolean {
  const text = message.text.trim();
  return (
    hashes.has(hashText(text)) ||
    spoken.some(
      (one) =>
        contains(one.text, text) || [...message.calls.keys()].some((id) => !id.startsWith('#') && one.calls.has(id)),
    )
  );
}

/** Yields the results at the end of a context that are not events yet. */
function* newEvents(context: readonly ParsedMessage[], results: ResultsSoFar): Generator<RecordedEvent> {
  for (const result of resultsSince(context).filter((one) => !results.has(one))) {
    results.note(result);
    yield { kind: 'event', source: result.name ?? 'tool', text: result.text };
  }
}

/** Returns a message that is known only from a later context. */
const toUnrecordedMessage = ({ text, finish }: ParsedMessage): Omit<RecordedMessage, 'speaker' | 'context'> => ({
  kind: 'message',
  text,
  model: null,
  promptTokens: 0,
  completionTokens: 0,
  finish,
});

/** The tool calls in messages so far. Other calls are only in the spans of the tools. */
class CallsSoFar {
  private readonly ids = new Set<string>();
  /** The number of calls without a result, by tool. */
  private readonly open = new Map<string, number>();

  add({ calls }: ParsedMessage): void {
    for (const [id, name] of calls) {
      this.ids.add(id);
      this.open.set(name, (this.open.get(name) ?? 0) + 1);
    }
  }

  /** Returns true if a message has the call of a result, by id or tool, and marks one answered. */
  takes(id: string | null, name: string): boolean {
    const open = this.open.get(name) ?? 0;
    if (open > 0) {
      this.open.set(name, open - 1);
    }
    return open > 0 || (id !== null && this.ids.has(id));
  }
}

/** The results that are events of the episode already, to recognize them in contexts. */
class ResultsSoFar {
  private readonly ids = new Set<string>();
  private readonly texts = new Set<string>();
  /** The number of results with spans of their own that no context has shown yet, by tool. */
  private readonly unseen = new Map<string, number>();

  add({ answers, tools: [name = ''] }: LightStep, text: string): void {
    this.note({ answers, text });
    this.unseen.set(name, (this.unseen.get(name) ?? 0) + 1);
  }

  note({ answers, text }: Pick<ParsedMessage, 'answers' | 'text'>): void {
    this.texts.add(hashText(text));
    if (answers !== null) {
      this.ids.add(answers);
    }
  }

  /** Returns true if a context's result is an event already, maybe in another form. */
  has({ answers, text, name }: ParsedMessage): boolean {
    const unseen = this.unseen.get(name ?? '') ?? 0;
    if (unseen > 0) {
      this.unseen.set(name ?? '', unseen - 1);
    }
    return unseen > 0 || (answers !== null && this.ids.has(answers)) || this.texts.has(hashText(text));
  }
}

/** Returns the tool results at the end of a context, after the last message of the model. */
function resultsSince(context: readonly ParsedMessage[]): readonly ParsedMessage[] {
  const last = context.findLastIndex(({ role }) => role === 'assistant');
  return context.slice(last + 1).filter(({ role }) => role === 'tool');
}

/** Returns these results as events. */
export const newResults = (context: readonly ParsedMessage[]): RecordedEvent[] =>
  resultsSince(context).map(({ name, text }) => ({ kind: 'event', source: name ?? 'tool', text }));

/** Returns the steps around a step, nearest first, each once even if they form a cycle. */
function findAncestors(step: LightStep, byId: ReadonlyMap<string, LightStep>): ReadonlySet<LightStep> {
  const found = new Set<LightStep>();
  let at = byId.get(step.parent);
  while (at !== undefined && at !== step && !found.has(at) && found.size < MOST_ANCESTORS) {
    found.add(at);
    at = byId.get(at.parent);
  }
  return found;
}

/**
 * Returns the speaker: the agent of the step or of the nearest step around it, or else the label of
 * its system prompt.
 */
function findSpeaker(
  step: LightStep,
  byId: ReadonlyMap<string, LightStep>,
  { input }: ModelCall,
  { prompts, survey }: Reading,
): string {
  const named = [step, ...findAncestors(step, byId)].find(({ agent }) => agent !== null)?.agent;
  if (named !== undefined && named !== null) {
    return survey.speaker(named, 'name');
  }
  const { name, by } = prompts.labelOf(input);
  return survey.speaker(name, by);
}

/** Returns the hash of a conversation's system prompt. */
export function hashPrompt(messages: readonly ParsedMessage[]): string {
  const prompt = systemPrompt(messages);
  // The hash has 44 characters, so a shorter prompt stands for itself.
  return prompt.length < HASH_CHARACTERS ? prompt : hash('sha256', prompt, 'base64');
}
const HASH_CHARACTERS = 44;
