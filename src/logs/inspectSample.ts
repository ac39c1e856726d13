/**
 * Reads samples of Inspect's logs (`EvalSample` of its log schema): the calls of models and tools
 * among its events, with the spans around them, or the messages of a sample without such events.
 */

import { readModelAnswer, FURTHER_ANSWERS } from '../chat/answers.ts';
import { formatError, resultWithError } from '../chat/content.ts';
import { asText, fieldsAt, textAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import { parseMessages } from '../chat/messages.ts';
import { readSpentTokens } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import { conversationEpisode } from './conversations.ts';
import type { RecordedEpisode, Survey } from './episode.ts';
import { readReturn } from './scores.ts';
import { argumentsText, readTime, type Step } from './steps.ts';
import { lightStep, traceEpisode, SystemPrompts } from './traces.ts';

/** Grades that scorers of Inspect give as letters: correct, incorrect, partially correct, no answer. */
const GRADES: ReadonlyMap<unknown, number> = new Map([
  ['C', 1],
  ['I', 0],
  ['P', 0.5],
  ['N', 0],
]);
/** The reference that replaces a long text. It holds the hash of the text in the sample's table. */
const ATTACHMENT = /^attachment:\/\/([0-9a-f]{1,64})$/u;
const MOST_DEPTH = 12;

export const isSample = (value: unknown): value is Fields =>
  isRecord(value) && 'epoch' in value && 'input' in value && ('events' in value || 'messages' in value);

/** Returns the episode of a sample, or null if no model says anything. */
export function sampleEpisode(sample: Fields, survey: Survey): RecordedEpisode | null {
  const id = `sample ${asText(sample['id'])}, epoch ${asText(sample['epoch'])}`;
  const steps = stepsOf(sample, id);
  const outcome = { answer: asText(sample['target']), return: scoreOf(sample['scores']) };
  if (!steps.some(({ kind, call }) => kind === 'model' && call().output.length > 0)) {
    const model = isRecord(sample['output']) ? textAt(sample['output'], 'model') : null;
    const messages = withAttachments(sample['messages'], sample['attachments'], 0);
    const episode = conversationEpisode({ messages, model }, id, survey);
    return episode === null ? null : { ...episode, ...outcome };
  }
  const prompts = new SystemPrompts();
  for (const step of steps) {
    prompts.addStep(step);
  }
  const light = steps.map((step) => lightStep(step, () => step));
  return traceEpisode(id, light, prompts, survey, outcome);
}

/** Returns the first score that is a number or a grade, also inside a list or an object. */
function scoreOf(scores: unknown, depth = 0): number | null {
  const all: readonly unknown[] = Array.isArray(scores) ? scores : isRecord(scores) ? Object.values(scores) : [];
  for (const score of all) {
    const value = isRecord(score) && 'value' in score ? score['value'] : score;
    const grade = GRADES.get(value) ?? readReturn(value) ?? (depth < 2 ? scoreOf(value, depth + 1) : null);
    if (grade !== null) {
      return grade;
    }
  }
  return null;
}

/** Returns the steps of a sample. Its events are in the order in which they began. */
function stepsOf(sample: Fields, trace: string): Step[] {
  const events: readonly unknown[] = Array.isArray(sample['events']) ? sample['events'] : [];
  return events.flatMap((event, index) => {
    const known = isRecord(event) ? (KINDS.get(event['event']) ?? null) : null;
    if (!isRecord(event) || known === null) {
      return [];
    }
    const isSpan = known === 'other';
    const failed = formatError(event['error']) ?? formatError(fieldsAt(event, 'output')['error']);
    const step: Step = {
      trace,
      id: (isSpan ? textAt(event, 'id') : null) ?? `event ${index}`,
      parent: textAt(event, ...(isSpan ? ['parent_id'] : ['span_id'])) ?? '',
      start: BigInt(index),
      end: 0n,
      time: { start: readTime(event['timestamp']), end: readTime(event['completed']) },
      kind: known,
      failed,
      answers: known === 'tool' ? textAt(event, 'id') : null,
      lacks: [],
      agent: isSpan
        ? event['type'] === 'agent'
          ? textAt(event, 'name')
          : null
        : known === 'model'
          ? textAt(event, 'role')
          : null,
      score: null,
      call: () => callOf(event, sample),
      result: () => ({
        source: textAt(event, 'function') ?? 'tool',
        asked: argumentsText(withAttachments(event['arguments'], sample['attachments'], 0)),
        text: resultWithError(withAttachments(event['result'], sample['attachments'], 0), failed),
      }),
    };
    return [step];
  });
}

const KINDS: ReadonlyMap<unknown, Step['kind']> = new Map([
  ['model', 'model'],
  ['tool', 'tool'],
  ['span_begin', 'other'],
]);

function callOf(event: Fields, sample: Fields): ReturnType<Step['call']> {
  const output = isRecord(event['output']) ? event['output'] : {};
  const usage = isRecord(output['usage']) ? output['usage'] : {};
  const resolved = (value: unknown): unknown => withAttachments(value, sample['attachments'], 0);
  const { said, further } = readModelAnswer(resolved(output));
  return {
    input: parseMessages(resolved(inputOf(event, sample))),
    output: said,
    model: textAt(output, 'model') ?? textAt(event, 'model'),
    ...readSpentTokens(usage),
    measures: readMeasures(event),
    notes: further === 0 ? [] : [FURTHER_ANSWERS],
  };
}

/** Returns the input messages of a call, or those of the sample's pool that it refers to by ranges. */
function inputOf({ input, input_refs: refs }: Fields, sample: Fields): unknown {
  const given: unknown = isRecord(sample['events_data']) ? sample['events_data']['messages'] : sample['message_pool'];
  const pool: readonly unknown[] = Array.isArray(given) ? given : [];
  if (!Array.isArray(refs) || (Array.isArray(input) && input.length > 0)) {
    return input;
  }
  return refs.flatMap((range: unknown) => {
    const [from, to] = Array.isArray(range) ? (range as unknown[]) : [];
    return Number.isSafeInteger(from) && Number.isSafeInteger(to) ? pool.slice(Number(from), Number(to)) : [];
  });
}

/** Replaces references to attachments by their texts, at any depth up to `MOST_DEPTH`. */
function withAttachments(value: unknown, attachments: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    const hash = ATTACHMENT.exec(value)?.[1];
    const text =
      hash !== undefined && isRecord(attachments) && Object.hasOwn(attachments, hash) ? attachments[hash] : null;
    return typeof text === 'string' ? text : value;
  }
  if (depth > MOST_DEPTH || typeof value !== 'object' || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((one: unknown) => withAttachments(one, attachments, depth + 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withAttachments(one, attachments, depth + 1)]),
  );
}
