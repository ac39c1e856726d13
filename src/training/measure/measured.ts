/** Whether enough of what was sampled has been measured to go on with. */
import { EvaluatorLost } from '../../evaluate/evaluator.ts';
import { findLeaves, missingIn, findScores, type TreeMessage } from '../../replay/tree.ts';

/** A score that is missing because something outside ended its sandbox, as evaluate/python/rules.ts says it. */
const KILLED = 'killed';

/**
 * What is masked for what it is stays masked whoever tries again; what the machine kept from being measured must not be
 * most, nor what a server did not answer all.
 * @throws EvaluatorLost
 */
export function requireMeasured(roots: readonly TreeMessage[]): void {
  const leaves = roots.flatMap(findLeaves);
  const killed = leaves.filter((leaf) => findScores(leaf).some(({ rule }) => rule === KILLED));
  if (killed.length * 2 > leaves.length) {
    throw new EvaluatorLost(`The sandbox was ended from outside for ${killed.length} of ${leaves.length} episodes.`);
  }
  const missing = leaves.map(missingIn).filter((answer) => answer !== null && answer.withheld !== true);
  if (missing.length > 0 && missing.length === leaves.length) {
    throw new EvaluatorLost(
      `No message was given for any of ${leaves.length} episodes, the first because ${missing[0]?.lost ?? ''}.`,
      'the server answers again',
    );
  }
}
