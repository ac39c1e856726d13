/** The question which buckets to show: what is ticked of a kind is shown, and the view follows at once. */
import { QuickPickItemKind, window, type QuickPickItem } from 'vscode';
import { passes, type BucketFilter, type BucketKind } from '../../domain/replay.ts';
import { withoutIcons } from '../common/plainText.ts';
import { bucketChoices, type BucketChoice } from './bucketWords.ts';
import { askLive } from './liveFilter.ts';

interface ChoiceItem extends QuickPickItem {
  readonly choice?: BucketChoice;
}

/**
 * @param kinds the buckets of the run
 * @param apply hears every change while the question is open
 * @returns the filter chosen; undefined when the question was left
 */
export function askForBuckets(
  kinds: readonly BucketKind[],
  present: BucketFilter,
  apply: (filter: BucketFilter) => void,
): Promise<BucketFilter | undefined> {
  const pick = window.createQuickPick<ChoiceItem>();
  const counted = (of: readonly BucketKind[]): number => of.reduce((sum, { count }) => sum + count, 0);
  const items = bucketChoices(kinds).flatMap(({ title, choices }): ChoiceItem[] => [
    { label: title, kind: QuickPickItemKind.Separator },
    ...choices.map((choice): ChoiceItem => ({
      label: withoutIcons(choice.label),
      description: `${choice.count} ${choice.count === 1 ? 'bucket' : 'buckets'}`,
      picked: choice.isIn(present),
      choice,
    })),
  ]);
  const current = (): BucketFilter =>
    pick.selectedItems.reduce<BucketFilter>((filter, { choice }) => choice?.addTo(filter) ?? filter, {
      roles: [],
      origins: [],
      credit: [],
    });
  pick.placeholder = 'Select roles, origins and whether credit was measured; press Enter to apply';
  pick.items = items;
  pick.selectedItems = items.filter(({ picked }) => picked === true);
  return askLive(pick, current, (filter) => {
    pick.title = `Filter buckets: ${counted(kinds.filter((kind) => passes(filter, kind)))} of ${counted(kinds)}`;
    apply(filter);
  });
}
