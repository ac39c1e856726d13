/** Checks that enough episodes were measured to go on. */

import { EvaluatorLost } from '../../evaluate/evaluator.ts';
import { findLeaves, findMissing, findScores, type TreeMessage } from '../../replay/tree.ts';

/** The rule of a score lost because the sandbox was ended from outside (evaluate/python/rules.ts). */
const KILLED = 'killed';

/**
 * Throws if too many episodes could not be measured for reasons that may pass: most of them because
 * the sandbox was ended from outside, or all of them because a server gave no message. Episodes that
 * are masked for their content do not count, because another attempt would mask them again.
 * @throws EvaluatorLost
 */
export function requireMeasured(roots: readonly TreeMessage[]): void {
  const leaves = roots.flatMap(findLeaves);
  const killed = leaves.filter((leaf) => findScores(leaf).some(({ rule }) => rule === KILLED));
  if (killed.length * 2 > leaves.length) {
    throw new EvaluatorLost(`The sandbox was ended from outside for ${killed.length} of ${leaves.length} episodes.`);
  }
  const missing = leaves.map(findMissing).filter((answer) => answer !== null && answer.withheld !== true);
  if (missing.length > 0 && missing.length === leaves.length) {
    throw new EvaluatorLost(
      `No message was given for any of ${leaves.length} episodes, the first because ${missing[0]?.lost ?? ''}.`,
      'the server answers again',
    );
  }
}
