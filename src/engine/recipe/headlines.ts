/**
 * How the engine's stores derive headline credits: the formula of the credit room, and what a run's returns mean, from
 * its recipe.
 */
import { headlinesOf, returnRange } from '../../credit/headline.ts';
import { evaluatorKind } from '../../evaluate/kinds.ts';
import type { ReturnScale } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HeadlineRule } from '../../store/write/writer.ts';
import { mostReturn, solvedReturn } from '../../team/rounds.ts';
import { parseRecipe, protocolOf, type Recipe } from './recipe.ts';

/**
 * What the returns of a recipe mean: their range, and the return of a solved episode. Where returns are cut, one that
 * is cut counts as solved. Null where nothing is scored.
 */
export function recipeScale(recipe: Recipe): ReturnScale | null {
  const protocol = protocolOf(recipe);
  const most = mostReturn(protocol, evaluatorKind(recipe.config.evaluator).fractional !== true);
  const range = returnRange(most, recipe.config.credit.return_clip);
  return range.high > range.low ? { ...range, solved: Math.min(solvedReturn(protocol), range.high) } : null;
}

/** The same of a stored configuration; null, too, where it is of another version. */
function returnScaleOf(runConfig: string): ReturnScale | null {
  try {
    return recipeScale(parseRecipe(runConfig, 'of these headlines'));
  } catch (error) {
    // A run of another version still shows its values; only their intervals need the range.
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

export const HEADLINE_RULE: HeadlineRule = { headlinesOf, scaleOf: returnScaleOf };
