/** Remembers the last thresholds of a workspace, which apply to all of its runs. */

import { areThresholds, TAXONOMY_THRESHOLDS, THRESHOLD_NAMES, type TaxonomyThresholds } from '../../domain/taxonomy.ts';
import { isRecord } from '../../shared/guard.ts';
import type { ListKeeper } from '../common/listKeeper.ts';

const KEY = 'c3.taxonomyThresholds';

export class RememberedThresholds {
  private readonly keeper: ListKeeper;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
  }

  /**
   * Returns the stored thresholds if all of them are valid, otherwise those of the paper. Another
   * version of C3 may have stored them.
   */
  get(): TaxonomyThresholds {
    const kept = this.keeper.get(KEY);
    if (!isRecord(kept)) {
      return TAXONOMY_THRESHOLDS;
    }
    const [misleading, ambiguity, shift, significance] = THRESHOLD_NAMES.map((name) => kept[name]).map((value) =>
      typeof value === 'number' ? value : NaN,
    );
    const thresholds = {
      misleading: misleading ?? NaN,
      ambiguity: ambiguity ?? NaN,
      shift: shift ?? NaN,
      significance: significance ?? NaN,
    };
    return areThresholds(thresholds) ? thresholds : TAXONOMY_THRESHOLDS;
  }

  async remember(thresholds: TaxonomyThresholds): Promise<void> {
    await this.keeper.update(KEY, thresholds);
  }
}
