/** Shows the pages of media/guide in the editor's Markdown preview. */

import { commands, Uri, window } from 'vscode';

/** Labels of the pages, by file name without extension. */
export const GUIDE_PAGES = {
  panels: 'Panels and keys',
  credit: 'Replay and credit',
  answers: 'Answers',
  diagnostics: 'Diagnostics and failure taxonomy',
  configuration: 'Configurations',
  methods: 'Methods',
  tasks: 'Tasks and data',
  evaluators: 'Evaluators',
  turns: 'Turns and files of MAGRPO',
  'configuration-reference': 'Configuration reference',
  models: 'Models and devices',
  runs: 'Runs and interruptions',
  'command-line': 'Command line',
  recording: 'Your own agents',
  importing: 'Import agent logs',
  exporting: 'Export what was learned',
  reports: 'Reports, links and assistants',
  measured: 'Measured',
} as const;

type GuidePage = keyof typeof GUIDE_PAGES;

const isGuidePage = (value: unknown): value is GuidePage =>
  typeof value === 'string' && Object.hasOwn(GUIDE_PAGES, value);
const NAMES: readonly GuidePage[] = Object.keys(GUIDE_PAGES).filter(isGuidePage);

/**
 * Opens a page of the guide.
 * @param argument the name of a page, as links in the walkthrough pass it; otherwise the user chooses
 */
export async function openGuide(extensionUri: Uri, argument: unknown): Promise<void> {
  const page = isGuidePage(argument) ? argument : await chooseGuidePage();
  if (page !== undefined) {
    await commands.executeCommand('markdown.showPreview', Uri.joinPath(extensionUri, 'media', 'guide', `${page}.md`));
  }
}

async function chooseGuidePage(): Promise<GuidePage | undefined> {
  const chosen = await window.showQuickPick(
    NAMES.map((page) => ({ label: GUIDE_PAGES[page], page })),
    { title: 'C3 guide', placeHolder: 'Page' },
  );
  return chosen?.page;
}
