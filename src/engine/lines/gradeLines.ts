/** `c3 grade`: JSONL in, JSONL out. Each kind of grading is a LineGrader; all read lines in one way. */

import { z } from 'zod';
import { GRADERS, gradeMath, type Grader } from '../../evaluate/math/grade.ts';
import { C3Error } from '../../shared/errors.ts';
import { answerLines, readLine } from './lineModel.ts';

/** One verdict in the form that is printed. */
export interface Grade {
  readonly id: string | number;
  /** Null exactly when masked. */
  readonly score: number | null;
  readonly rule: string;
  /** The failure that prevented a score; absent for scored lines. */
  readonly masked?: string;
}

export interface LineGrader<Request> {
  /** Parses a line as a request. @param place name of the line in errors @throws C3Error('input') */
  understand(line: string, place: string): Request;
  /** Returns one grade for each request, in order. */
  grade(requests: readonly Request[]): Promise<readonly Grade[]>;
}

/**
 * Yields one output line `{id, score, rule, masked?}` for each input line.
 * @throws C3Error('input') naming the line; C3Error('engine') after all lines are answered, if some
 *   are masked
 */
export async function* gradeLines<Request>(
  input: NodeJS.ReadableStream,
  grader: LineGrader<Request>,
): AsyncGenerator<string, void, undefined> {
  let lines = 0;
  const maskedBy = new Map<string, number>();
  yield* answerLines(
    input,
    (line, place) => grader.understand(line, place),
    async (requests) =>
      (await grader.grade(requests)).map(({ id, score, rule, masked }) => {
        lines++;
        if (score === null) {
          maskedBy.set(rule, (maskedBy.get(rule) ?? 0) + 1);
        }
        return JSON.stringify({ id, score, rule, ...(masked === undefined ? {} : { masked }) });
      }),
  );
  const count = [...maskedBy.values()].reduce((sum, one) => sum + one, 0);
  const rules = [...maskedBy].map(([rule, times]) => `${rule} ${times}`).join(', ');
  if (count > 0) {
    throw new C3Error(
      'engine',
      `${count} of ${lines} lines are masked (${rules}): they have no score, and "masked" says why.`,
    );
  }
}

const textOrNumber = z.union([z.string(), z.number().transform(String)]);
const mathSchema = z.object({ id: z.union([z.string(), z.number()]), gold: textOrNumber, prediction: textOrNumber });
const MATH_FORM = '{"id": ..., "gold": TEXT, "prediction": TEXT}';

/** Grades answers to mathematics. @param grader strict or lenient; see RULES in evaluate/math/grade.ts */
export function createMathLineGrader(grader: Grader): LineGrader<z.output<typeof mathSchema>> {
  return {
    understand: (line, place) => readLine(mathSchema, line, place, MATH_FORM),
    grade: (requests) =>
      Promise.resolve(requests.map(({ id, gold, prediction }) => gradeMathAnswer(id, gold, prediction, grader))),
  };
}

/** Returns the grader that --grader names. @throws C3Error('input') if it does not grade mathematics */
export function findGrader(name: string): Grader {
  const grader = GRADERS.find((known) => known === name);
  if (grader === undefined) {
    throw new C3Error(
      'input',
      `c3 grade --kind math knows --grader ${GRADERS.join(' and ')}, not ${JSON.stringify(name.slice(0, 40))}.`,
    );
  }
  return grader;
}

function gradeMathAnswer(id: string | number, gold: string, prediction: string, grader: Grader): Grade {
  if (gold.trim() === '') {
    return { id, score: null, rule: 'no-gold', masked: 'The gold is blank, so there is nothing to compare with.' };
  }
  const { score, rule } = gradeMath(gold, prediction, grader);
  return { id, score, rule };
}
