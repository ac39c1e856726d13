/** Tabs that the editor kept over a reload and whose panels it brings back only when they are seen. */
import { commands, TabInputWebview, window, type Tab } from 'vscode';

/** How the groups of a window are focused, by their column. */
const GROUPS = ['First', 'Second', 'Third', 'Fourth', 'Fifth', 'Sixth', 'Seventh', 'Eighth'] as const;

/** The tabs of a kind of panel; the editor puts a prefix of its own before the kind. */
export function tabsOfPanel(viewType: string): readonly Tab[] {
  return window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof TabInputWebview && input.viewType.endsWith(viewType));
}

/**
 * Shows the tab of a kind of panel that was kept over a reload, instead of a second one beside it.
 * @returns false where it cannot be shown: it is closed then
 */
export async function bringBack(tab: Tab): Promise<boolean> {
  if (await showTab(tab)) {
    return true;
  }
  await window.tabGroups.close(tab);
  return false;
}

/** Shows a tab, so that the editor brings its panel back. @returns false where the editor has no way to it */
async function showTab(tab: Tab): Promise<boolean> {
  const group = GROUPS[tab.group.viewColumn - 1];
  const index = tab.group.tabs.indexOf(tab);
  if (group === undefined || index < 0) {
    return false;
  }
  await commands.executeCommand(`workbench.action.focus${group}EditorGroup`);
  await commands.executeCommand('workbench.action.openEditorAtIndex', index);
  return true;
}
