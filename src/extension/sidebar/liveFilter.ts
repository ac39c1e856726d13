/** Asks for a filter with a quick pick of several choices, which the view follows at once. */

import type { QuickPick, QuickPickItem } from 'vscode';

/**
 * Shows the question.
 * @param changed called with the initial filter and with each change while the question is open
 * @returns the chosen filter, or undefined if the user canceled
 */
export function askForLiveFilter<Filter>(
  pick: QuickPick<QuickPickItem>,
  current: () => Filter,
  changed: (filter: Filter) => void,
): Promise<Filter | undefined> {
  const follow = (): void => changed(current());
  pick.canSelectMany = true;
  follow();
  return new Promise((resolve) => {
    pick.onDidChangeValue(follow);
    pick.onDidChangeSelection(follow);
    pick.onDidAccept(() => {
      resolve(current());
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}
