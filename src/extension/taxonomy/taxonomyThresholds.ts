/**
 * The thresholds that a workspace used last: every run of it is looked at with the same ones until they are changed.
 */
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
   * The paper's where none were kept; what was kept may come from another version, and is taken only if every threshold
   * can be used.
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
