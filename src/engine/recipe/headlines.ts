/**
 * How the engine's stores derive headline credits: the formula of the credit room, and the range of a run's returns
 * from its recipe.
 */
import { headlinesOf, returnRange } from '../../credit/headline.ts';
import { evaluatorKind } from '../../evaluate/kinds.ts';
import type { ReturnRange } from '../../shared/credit/creditPool.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HeadlineRule } from '../../store/write/writer.ts';
import { parseRecipe, protocolOf } from './recipe.ts';
import { mostReturn } from '../../team/rounds.ts';

/** The range of a run's returns, from its stored configuration; null where that is of another version. */
export function returnRangeOf(runConfig: string): ReturnRange | null {
  try {
    const recipe = parseRecipe(runConfig, 'of these headlines');
    const most = mostReturn(protocolOf(recipe), evaluatorKind(recipe.config.evaluator).fractional !== true);
    return returnRange(most, recipe.config.credit.return_clip);
  } catch (error) {
    // A run of another version still shows its values; only their intervals need the range.
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

export const HEADLINE_RULE: HeadlineRule = { headlinesOf, rangeOf: returnRangeOf };
