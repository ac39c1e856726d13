/** A question whose answer is a filter: several things are ticked, and what is filtered follows at once. */
import type { QuickPick, QuickPickItem } from 'vscode';

/**
 * Shows the question.
 * @param changed hears every change while the question is open, and the filter that it starts with
 * @returns the filter chosen; undefined when the question was left
 */
export function askLive<Filter>(
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
