/** Episodes from traces: the calls of models and tools in the order in which they began. */
import { createHash } from 'node:crypto';
import { chatOnly, questionOf, withToolNames, type ParsedMessage } from '../chat/messages.ts';
import type { RecordedEpisode, RecordedEvent, RecordedMessage, Survey } from './episode.ts';
import type { ModelCall } from '../chat/modelCall.ts';
import type { Step } from './steps.ts';

/** Steps are nested at most so deeply; beyond, nobody is asked who they belong to. */
const MOST_ANCESTORS = 200;
/** System prompts that set agents apart; of more, each says something else every time. */
const MOST_PROMPTS = 1000;

/** Numbers of the system prompts of all calls, in the order in which they came. */
export class SystemPrompts {
  /** When each was first used, by its hash. */
  private readonly first = new Map<string, bigint>();
  private numbers: ReadonlyMap<string, number> | undefined;

  /** Takes in a call that says something. */
  add(input: readonly ParsedMessage[], start: bigint): void {
    const hash = promptHash(input);
    const known = this.first.get(hash);
    if (known === undefined ? this.first.size < MOST_PROMPTS : start < known) {
      this.first.set(hash, start);
    }
  }

  get size(): number {
    return this.first.size;
  }

  numberOf(input: readonly ParsedMessage[]): number {
    this.numbers ??= new Map(
      [...this.first]
        .toSorted(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0))
        .map(([hash], index) => [hash, index + 1] as const),
    );
    return this.numbers.get(promptHash(input)) ?? 0;
  }
}

/** A step without what was said in it, and how to read it again. */
export interface LightStep extends Pick<Step, 'id' | 'parent' | 'start' | 'kind' | 'agent' | 'score'> {
  /** Of a call of a model: whether the log holds what it said. */
  readonly says: boolean;
  readonly read: () => Step;
}

/** @param read gives the step again; it is asked when its turn comes */
export const lightStep = (step: Step, read: () => Step): LightStep => ({
  id: step.id,
  parent: step.parent,
  start: step.start,
  kind: step.kind,
  agent: step.agent,
  score: step.score,
  says: step.kind === 'model' && step.call().output.length > 0,
  read,
});

/**
 * The episode of a trace.
 * @param steps in the order of the log
 * @param survey hears what is left out and who speaks
 * @returns null where no model says anything
 */
export function traceEpisode(
  id: string,
  steps: readonly LightStep[],
  prompts: SystemPrompts,
  survey: Survey,
  outcome: Partial<Pick<RecordedEpisode, 'answer' | 'return'>> = {},
): RecordedEpisode | null {
  const byId = new Map(steps.map((step) => [step.id, step]));
  // A call of a model may be recorded by two libraries, one within the other: the inner one is what was asked.
  const outer = new Set<LightStep>();
  for (const step of steps) {
    if (step.kind === 'model') {
      for (const around of ancestorsOf(step, byId)) {
        outer.add(around);
      }
    }
  }
  const calls = steps
    .filter((step) => (step.kind === 'model' && !outer.has(step)) || step.kind === 'tool')
    .toSorted((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
  survey.leaveOut('spans that are no calls of models or tools', steps.length - calls.length);
  survey.leaveOut(
    'calls of models without what they said: most libraries record it only when asked to',
    calls.filter(({ kind, says }) => kind === 'model' && !says).length,
  );
  const spoken = calls.filter(({ kind, says }) => kind === 'tool' || says);
  const begin = spoken.findIndex(({ kind }) => kind === 'model');
  const first = spoken[begin];
  if (first === undefined) {
    return null;
  }
  const hasToolSteps = calls.some(({ kind }) => kind === 'tool');
  return {
    id,
    question: questionOf(first.read().call().input),
    answer: '',
    return: steps.find(({ score }) => score !== null)?.score ?? null,
    ...outcome,
    // What came before the first message belongs to its context.
    entries: entriesOf(spoken.slice(begin), byId, { prompts, survey, hasToolSteps }),
  };
}

function* entriesOf(
  steps: readonly LightStep[],
  byId: ReadonlyMap<string, LightStep>,
  reading: { readonly prompts: SystemPrompts; readonly survey: Survey; readonly hasToolSteps: boolean },
): Generator<RecordedMessage | RecordedEvent> {
  for (const [index, light] of steps.entries()) {
    const step = light.read();
    if (light.kind === 'tool') {
      yield { kind: 'event', ...step.result() };
      continue;
    }
    const call = step.call();
    const said = call.output[0];
    if (said === undefined) {
      continue;
    }
    const context = withToolNames(call.input);
    if (!reading.hasToolSteps && index > 0) {
      yield* newResults(context);
    }
    yield {
      kind: 'message',
      speaker: speakerOf(light, byId, call, reading),
      context: context.map(chatOnly),
      text: said.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      finish: said.finish,
    };
  }
}

/** The results of tools at the end of a context: what came since the model spoke last. */
export function newResults(context: readonly ParsedMessage[]): RecordedEvent[] {
  const last = context.findLastIndex(({ role }) => role === 'assistant');
  return context
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ name, text }) => ({ kind: 'event', source: name ?? 'tool', text }));
}

/** The steps around a step, nearest first; each once, also where they are in a circle. */
function ancestorsOf(step: LightStep, byId: ReadonlyMap<string, LightStep>): ReadonlySet<LightStep> {
  const found = new Set<LightStep>();
  let at = byId.get(step.parent);
  while (at !== undefined && at !== step && !found.has(at) && found.size < MOST_ANCESTORS) {
    found.add(at);
    at = byId.get(at.parent);
  }
  return found;
}

/** By the step, or the nearest around it, that names an agent; else calls with one system prompt are one agent's. */
function speakerOf(
  step: LightStep,
  byId: ReadonlyMap<string, LightStep>,
  { input }: ModelCall,
  { prompts, survey }: { readonly prompts: SystemPrompts; readonly survey: Survey },
): string {
  const named = [step, ...ancestorsOf(step, byId)].find(({ agent }) => agent !== null)?.agent;
  if (named !== undefined && named !== null) {
    return survey.speaker(named, 'name');
  }
  return prompts.size < 2
    ? survey.speaker('assistant', 'only speaker')
    : survey.speaker(`agent ${String(prompts.numberOf(input))}`, 'system prompt');
}

/** Names the system prompt of a conversation. */
export const promptHash = (messages: readonly ParsedMessage[]): string =>
  createHash('sha256')
    .update(
      messages
        .filter(({ role }) => role === 'system')
        .map(({ text }) => text)
        .join('\n'),
    )
    .digest('base64');
