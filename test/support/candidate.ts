/** The program that a message of code represents. */
import type { ProblemTests } from '../../src/domain/problem.ts';

/**
 * The code as the tests meet it. Where a message continues from a prefix (HumanEval), the prefix is before it: what
 * is indented completes the prefix's function, a whole function of the same name takes its place, with the prefix's
 * imports and helpers at hand.
 */
export function candidateCode({ prefix }: Pick<ProblemTests, 'prefix'>, code: string): string {
  return prefix === '' || prefix.endsWith('\n') ? prefix + code : `${prefix}\n${code}`;
}
