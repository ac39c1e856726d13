/** The question how long a run shall be: each length says what it would take as soon as that is known. */
import { window, type QuickPickItem } from 'vscode';
import { estimateWords, type TimeEstimate } from '../../shared/text/times.ts';

/**
 * Milliseconds that the question stays open before anything is estimated: whoever knows the answer waits for nothing.
 */
const PAUSE = 300;

export interface LengthItem extends QuickPickItem {
  readonly description: string;
  /** What a length changes in the configuration. */
  readonly overrides: readonly string[];
}

/**
 * @param estimate how long a run with these changes would take; a rejection leaves the length without words for it
 * @returns the changes of the length chosen; undefined when the question was left
 */
export function askForLength(
  title: string,
  lengths: readonly LengthItem[],
  estimate: (overrides: readonly string[]) => Promise<TimeEstimate | null>,
): Promise<readonly string[] | undefined> {
  const pick = window.createQuickPick<LengthItem>();
  pick.title = title;
  pick.placeholder = 'Length of the run';
  // A panel that takes the keyboard late leaves the question open, as in every dialog of several steps.
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
        item.label === label ? { ...item, detail: sentenceOf(estimateWords(found)) } : item,
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

const sentenceOf = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
