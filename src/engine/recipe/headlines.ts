/** The rule by which stores derive headline credits, with the return scale of a run's recipe. */

import { creditPoolMembers, returnRange } from '../../credit/headline.ts';
import { getEvaluatorKind } from '../../evaluate/kinds.ts';
import type { ReturnScale } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HeadlineRule } from '../../store/write/writer.ts';
import { highestReturn, solvedReturn } from '../../team/rounds.ts';
import { parseRecipe, parseRecipeProtocol, type Recipe } from './recipe.ts';

/**
 * Returns the scale of a recipe's returns: their range, and the return of a solved episode. If returns
 * are clipped, the clipped maximum counts as solved. Null if nothing is scored.
 */
export function computeRecipeScale(recipe: Recipe): ReturnScale | null {
  const protocol = parseRecipeProtocol(recipe);
  const most = highestReturn(protocol, getEvaluatorKind(recipe.config.evaluator).fractional !== true);
  const range = returnRange(most, recipe.config.credit.return_clip);
  return range.high > range.low ? { ...range, solved: Math.min(solvedReturn(protocol), range.high) } : null;
}

/** Returns the scale for a stored configuration; also null for a configuration of another version. */
function computeReturnScale(runConfig: string): ReturnScale | null {
  try {
    return computeRecipeScale(parseRecipe(runConfig, 'of these headlines'));
  } catch (error) {
    // Runs of other versions still show their values; only their intervals need the range.
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

export const HEADLINE_RULE: HeadlineRule = { headlinesOf: creditPoolMembers, scaleOf: computeReturnScale };
