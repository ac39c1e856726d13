/** Declarations of the commands that answer JSON Lines from standard input. */

import { CREDIT_ESTIMATORS } from '../../../credit/estimators.ts';
import type { Declaration } from './declaration.ts';
import { ADAPTER, MODEL } from './options.ts';

export const CREDIT = {
  name: 'credit',
  summary: 'Computes credits from returns.',
  details:
    'A line is {id, alternatives: [{returns}]}, and its answer {id, baselines, credits, intervals, evaluatorCalls}.',
  arguments: {},
  options: {
    estimator: {
      kind: 'choice',
      value: 'NAME',
      choices: CREDIT_ESTIMATORS,
      required: true,
      help: 'The estimator of the credit.',
    },
  },
  examples: [['c3 credit --estimator loo', 'Reads lines, and compares each alternative with the others.']],
  onlyReads: () => true,
} as const satisfies Declaration;

export const GRADE = {
  name: 'grade',
  summary: 'Scores answers to mathematics, or Python code.',
  details:
    'A line is {id, gold, prediction} for math, or {id, code, tests} or {id, code, test, entryPoint} for Python; setup ' +
    'is code that runs first. The answer is {id, score, rule}, with masked if the line could not be scored; the ' +
    'exit code is then 1.',
  arguments: {},
  options: {
    kind: { kind: 'choice', choices: ['math', 'python'], required: true, help: 'The kind of answers.' },
    grader: {
      kind: 'choice',
      choices: ['strict', 'lenient', 'fraction'],
      fallback: 'strict',
      help:
        'For math, lenient compares as leniently as the published grader. For Python, fraction scores the share of the ' +
        'tests that pass; strict requires all.',
    },
    backend: {
      kind: 'choice',
      choices: ['bundled', 'python3'],
      fallback: 'bundled',
      help: 'Runs Python in the bundled interpreter, or in the python3 of this machine.',
    },
    blocks: {
      kind: 'choice',
      choices: ['first', 'last', 'all'],
      fallback: 'first',
      help: 'The code blocks of a Python text that are run.',
    },
  },
  examples: [
    ['c3 grade --kind python --grader fraction', 'Reads code with its tests, and scores the share that passes.'],
  ],
} as const satisfies Declaration;

export const GENERATE = {
  name: 'generate',
  summary: 'Lets a model answer prompts.',
  details: 'A line is {id, text}, {id, ids} or {id, messages}, and its answer {id, ids, text}.',
  arguments: {},
  options: {
    ...MODEL,
    ...ADAPTER,
    greedy: { kind: 'flag', help: 'Always takes the most likely token, without sampling.' },
    maxNew: {
      kind: 'whole',
      value: 'N',
      least: 1,
      help: 'Ends an answer after N tokens. Default: 256, or less if the model has fewer positions left.',
    },
    seed: { kind: 'whole', value: 'N', least: 0, fallback: 0, help: 'The seed of the random numbers.' },
    thinking: { kind: 'flag', help: 'Lets a chat model reason before it answers.' },
  },
  examples: [['c3 generate --model my-model --greedy', 'Reads prompts, and answers each.']],
} as const satisfies Declaration;

export const SCORE = {
  name: 'score',
  summary: 'Computes the log-probabilities of completions.',
  details: 'A line is {id, prompt, completion} of token ids, and its answer {id, logprobs, sum}.',
  arguments: {},
  options: { ...MODEL, ...ADAPTER },
  examples: [['c3 score --model my-model', 'Reads completions, and prints how likely the model finds each.']],
} as const satisfies Declaration;
