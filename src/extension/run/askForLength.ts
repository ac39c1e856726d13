/** Asks for the length of a run. Each length shows its estimated time as soon as it is known. */

import { window, type QuickPickItem } from 'vscode';
import { formatEstimate, type TimeEstimate } from '../../shared/text/times.ts';

/** Milliseconds before the first estimate, so that a quick answer causes none. */
const PAUSE = 300;

export interface LengthItem extends QuickPickItem {
  readonly description: string;
  /** Overrides of the configuration for this length. */
  readonly overrides: readonly string[];
}

/**
 * @param estimate estimates the time of a run with overrides; after a rejection the length shows no
 *   time
 * @returns the overrides of the chosen length, or undefined if the user canceled
 */
export function askForLength(
  title: string,
  lengths: readonly LengthItem[],
  estimate: (overrides: readonly string[]) => Promise<TimeEstimate | null>,
): Promise<readonly string[] | undefined> {
  const pick = window.createQuickPick<LengthItem>();
  pick.title = title;
  pick.placeholder = 'Length of the run';
  // Keeps the question open if a panel takes the focus late, as in every dialog of several steps.
  pick.ignoreFocusOut = true;
  pick.items = lengths;
  let open = true;
  const refine = async (): Promise<void> => {
    for (const { label, overrides } of lengths) {
      const found = await estimate(overrides).catch(() => null);
      if (!open) {
        return;
      }
      if (found === null) {
        continue;
      }
      const [active] = pick.activeItems;
      pick.items = pick.items.map((item) =>
        item.label === label ? { ...item, detail: toSentence(formatEstimate(found)) } : item,
      );
      pick.activeItems = pick.items.filter((item) => item.label === active?.label);
    }
  };
  const timer = setTimeout(() => void refine(), PAUSE);
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.overrides);
      pick.hide();
    });
    pick.onDidHide(() => {
      open = false;
      clearTimeout(timer);
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

const toSentence = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
