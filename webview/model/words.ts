/** Texts of the model panel: facts, memory and self-tests. */

import type { MemoryPlace, MemoryTotal, ModelFacts, RunBudget } from '../../src/shared/models.ts';
import type { ModelTestState } from '../../src/shared/protocols/modelProtocol.ts';
import { formatBytes, formatCount } from '../../src/shared/text/sizes.ts';
import { count, duration, percent, plural } from '../common/format.ts';

/** Common names of the data types of safetensors. */
const DTYPES: ReadonlyMap<string, string> = new Map([
  ['F32', 'float32'],
  ['F16', 'float16'],
  ['BF16', 'bfloat16'],
]);

/** Formats a number of parameters: `494,032,768 (494 million)`. */
export function formatParameters(parameters: number): string {
  return parameters < 1e6 ? count(parameters) : `${count(parameters)} (${formatCount(parameters)})`;
}

/** Describes the data types of the weights, with shares if there are several. */
export function describePrecision({ precisions, parameters }: Pick<ModelFacts, 'precisions' | 'parameters'>): string {
  const names = precisions.map(({ dtype }) => DTYPES.get(dtype) ?? dtype);
  if (names.length === 1) {
    return names[0] ?? '';
  }
  return precisions
    .map((entry, index) => `${names[index] ?? ''} (${percent(entry.parameters / Math.max(1, parameters))})`)
    .join(', ');
}

/** Returns the names and values of the facts in the order in which they are shown. */
export function listFactRows(facts: ModelFacts): readonly (readonly [name: string, value: string])[] {
  return [
    ['Family', facts.family],
    ['Parameters', formatParameters(facts.parameters)],
    ['Precision', describePrecision(facts)],
    ['Weights on disk', `${formatBytes(facts.bytes)} in ${plural(facts.files, 'file')}`],
    ['Layers', `${count(facts.layers)}, width ${count(facts.hiddenSize)}`],
    ['Attention', `${plural(facts.heads, 'query head')}, ${plural(facts.keyValueHeads, 'key and value head')}`],
    ['Context length', `${count(facts.maxPositions)} tokens`],
    ['Long contexts', facts.ropeScaling ?? 'positions as trained, no scaling'],
    [
      'Vocabulary',
      `${count(facts.vocabularySize)} tokens, ${facts.tiedEmbeddings ? 'one matrix for input and output' : 'separate matrices for input and output'}`,
    ],
    ['Chat template', facts.chatTemplate ?? 'none: roles are written as plain text'],
    [
      'Reasoning',
      facts.reasons ? 'supported by the template; off in runs unless enabled' : 'not supported by the template',
    ],
    ['Ends a message', facts.endTokens.length === 0 ? 'no token specified' : facts.endTokens.join('  ')],
  ];
}

const PLACES: Readonly<Record<MemoryPlace, string>> = { host: 'Main memory', device: 'Device memory' };

export function nameMemoryPlace(place: MemoryPlace): string {
  return PLACES[place];
}

/** Describes the needed and the available memory. */
export function describeMemoryTotal({ bytes: needed, available }: MemoryTotal): string {
  return `at most ${formatBytes(needed)} needed, ${available === null ? 'and the system does not report how much is available' : `${formatBytes(available)} available`}`;
}

export function describeFit(fits: boolean | null): string {
  if (fits === null) {
    return 'unknown';
  }
  return fits ? 'fits' : 'does not fit';
}

/** Describes the cost of a run. */
export function describeRunBudget({ steps, evaluations, total }: RunBudget): string {
  const messages = Object.entries(total.decisions)
    .map(([role, number]) => `${role} ${count(number)}`)
    .join(', ');
  return (
    `${plural(steps, 'training step')} and ${plural(evaluations, 'evaluation')}: at most ` +
    `${plural(total.evaluatorCalls, 'evaluator call')} and ${count(total.tokens)} sampled tokens; ` +
    `messages: ${messages}.`
  );
}

/** Describes the progress or the result of a self-test. */
export function describeSelfTest(test: ModelTestState): string {
  const failed = test.steps.filter((step) => !step.passed).length;
  const ended = plural(test.steps.length, 'step');
  switch (test.status) {
    case 'running':
      return test.share === null ? (test.current ?? '') : `${test.current ?? ''}, ${Math.floor(100 * test.share)} %`;
    case 'cancelled':
      return `Cancelled after ${ended}.`;
    case 'failed':
      return test.error ?? 'The self-test failed.';
    case 'done': {
      const seconds = duration(test.steps.reduce((sum, step) => sum + step.seconds, 0));
      if (failed > 0) {
        return `${count(failed)} of ${ended} failed.`;
      }
      return test.steps.length === 0 ? 'Nothing was tested.' : `All ${ended} passed in ${seconds}.`;
    }
  }
}
