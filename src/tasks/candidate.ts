/** The program that a message of code stands for. */
import type { InstanceTests } from '../shared/records/records.ts';

/**
 * The code as the tests meet it. Where a message goes on from a prefix (HumanEval), the prefix stands before it: what
 * is indented completes the prefix's function, a whole function of the same name takes its place, with the prefix's
 * imports and helpers at hand.
 */
export function candidateCode({ prefix }: Pick<InstanceTests, 'prefix'>, code: string): string {
  return prefix === '' || prefix.endsWith('\n') ? prefix + code : `${prefix}\n${code}`;
}
