/** `c3 credit`: JSONL in, JSONL out. */
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { aggregate } from '../credit/aggregate.ts';
import { creditBucket, type estimate, type EstimatorName } from '../credit/creditBucket.ts';
import { C3Error, messageOf } from '../shared/errors.ts';

const lineSchema = z.object({
  id: z.union([z.string(), z.number()]),
  alternatives: z.array(z.object({ returns: z.array(z.number().nullable()) })).min(1).max(10_000),
});

/**
 * One output line `{id, baselines, credits, intervals}` for each input line; null where an alternative has no unmasked return.
 * @throws C3Error('input') naming the line
 */
export async function* creditLines(
  input: NodeJS.ReadableStream,
  estimateAll: (aggregates: ReturnType<typeof aggregate>[]) => ReturnType<typeof estimate>,
  estimator: EstimatorName,
): AsyncGenerator<string, void, undefined> {
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    number++;
    if (line.trim() === '') continue;
    const parsed = parseLine(line, number);
    const estimates = estimateAll(parsed.alternatives.map(({ returns }) => aggregate(returns)));
    const credits = creditBucket(parsed.alternatives.map(({ returns }) => ({ returns, evaluatorCalls: returns.length })), estimator);
    yield JSON.stringify({
      id: parsed.id,
      baselines: estimates.map((found) => found?.baseline ?? null),
      credits: estimates.map((found) => found?.credit ?? null),
      intervals: credits.map((credit) => (credit === null ? null : { value: credit.value, low: credit.low, high: credit.high, n: credit.n })),
    });
  }
}

function parseLine(line: string, number: number): z.infer<typeof lineSchema> {
  const wrong = (what: string): C3Error => new C3Error('input', `standard input, line ${String(number)}: ${what}; give {"id": ..., "alternatives": [{"returns": [numbers or null]}]}.`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw wrong(messageOf(error));
  }
  const parsed = lineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw wrong(issue === undefined ? 'not understood' : `${issue.path.join('.')}${issue.path.length === 0 ? '' : ': '}${issue.message}`);
}
