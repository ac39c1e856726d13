/** `c3 credit`: JSONL in, JSONL out. */

import { z } from 'zod';
import { creditGroup, estimateGroup, type CreditEstimator } from '../../credit/estimators.ts';
import { C3Error } from '../../shared/errors.ts';
import { readInputLines, readLine } from './lineModel.ts';

/** In the range that the estimator accepts; it names the reason otherwise. */
const outside = z.object({ mean: z.number(), weight: z.number() }).optional();
const lineSchema = z.object({
  id: z.union([z.string(), z.number()]),
  alternatives: z
    .array(z.object({ returns: z.array(z.number().nullable()), value: z.number().optional(), outside }))
    .min(1)
    .max(10_000),
  value: z.number().optional(),
  alpha: z.number().optional(),
});
const FORM = '{"id": ..., "alternatives": [{"returns": [numbers or null]}]}';

/**
 * Yields one output line `{id, baselines, credits, intervals, evaluatorCalls}` for each input line,
 * with null for alternatives without an unmasked return. mappo takes the context's `value` beside
 * `alternatives`. value_assisted and value_only take a value beside each alternative's `returns`, the
 * former with its weight `alpha`; loo_two_level takes `outside: {mean, weight}` there. Each return
 * counts as one evaluator call.
 * @throws C3Error('input') naming the line
 */
export async function* creditLines(
  input: NodeJS.ReadableStream,
  estimator: CreditEstimator,
): AsyncGenerator<string, void, undefined> {
  let number = 0;
  for await (const line of readInputLines(input)) {
    number++;
    if (line.trim() === '') {
      continue;
    }
    const place = `standard input, line ${number}`;
    const { id, ...parsed } = readLine(lineSchema, line, place, FORM);
    const group = {
      ...parsed,
      alternatives: parsed.alternatives.map((alternative) => ({
        ...alternative,
        evaluatorCalls: alternative.returns.length,
      })),
    };
    yield JSON.stringify({ id, ...computeAnswer(group, estimator, place) });
  }
}

function computeAnswer(group: Parameters<typeof estimateGroup>[0], estimator: CreditEstimator, place: string): object {
  try {
    const estimates = estimateGroup(group, estimator);
    const credits = creditGroup(group, estimator);
    return {
      baselines: estimates.map((found) => found?.baseline ?? null),
      credits: estimates.map((found) => found?.credit ?? null),
      intervals: credits.map((credit) =>
        credit === null ? null : { value: credit.value, low: credit.low, high: credit.high, n: credit.n },
      ),
      evaluatorCalls: group.alternatives.reduce((total, { evaluatorCalls }) => total + evaluatorCalls, 0),
    };
  } catch (error) {
    if (error instanceof C3Error) {
      throw new C3Error(error.kind, `${place}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
