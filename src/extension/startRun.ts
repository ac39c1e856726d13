/** Asks what to run and for how long; Enter through the defaults starts. */
import { window, workspace, type QuickPickItem, type Uri } from 'vscode';
import type { StartRunParams } from '../shared/engineProtocol.ts';

/** Files that describe a run. */
const CONFIGURATIONS = '**/*.c3.yaml';
const MOST_CONFIGURATIONS = 200;

/** What "Quick" changes: enough to see every stage, too little to learn. */
const QUICK: readonly string[] = ['steps=3', 'evaluation.instances=64'];

interface SubjectItem extends QuickPickItem {
  readonly config: string | null;
  readonly task?: string;
}

interface LengthItem extends QuickPickItem {
  readonly overrides: readonly string[];
}

/** The answer of the user; undefined when the questions were left. A configuration given is not asked for. */
export async function askForRun(config: Uri | undefined): Promise<StartRunParams | undefined> {
  const subject = config === undefined ? await askForSubject() : { config: config.fsPath, task: undefined };
  if (subject === undefined) return undefined;
  const length = await window.showQuickPick<LengthItem>(
    [
      { label: 'Default length', description: 'as the configuration says', overrides: [] },
      { label: 'Quick', description: 'a few steps, to see how it works', overrides: QUICK },
    ],
    { title: 'Start C3 run (2 of 2)', placeHolder: 'How long?' },
  );
  const task = subject.task === undefined ? [] : [`task.name=${subject.task}`];
  return length === undefined ? undefined : { config: subject.config, overrides: [...task, ...length.overrides] };
}

async function askForSubject(): Promise<SubjectItem | undefined> {
  const files = await workspace.findFiles(CONFIGURATIONS, '**/node_modules/**', MOST_CONFIGURATIONS);
  const items: SubjectItem[] = [
    { label: 'Bundled team', description: 'arithmetic, a reasoner and an actor', config: null },
    { label: 'Bundled Python team', description: 'small functions with unit tests, a planner and a coder', config: null, task: 'python' },
    ...files.map((file) => ({ label: workspace.asRelativePath(file), description: 'configuration', config: file.fsPath })).sort((a, b) => a.label.localeCompare(b.label)),
  ];
  return window.showQuickPick(items, { title: 'Start C3 run (1 of 2)', placeHolder: 'What to run?', matchOnDescription: true });
}
