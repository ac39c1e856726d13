/** Asks what to run and for how long; Enter through the defaults starts. */
import { commands, window, workspace, type QuickPickItem, type Uri } from 'vscode';
import type { StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import type { RunPlan } from '../../shared/models.ts';
import { askForLength } from './askForLength.ts';

/** Files that describe a run. VS Code's search finds nothing at all where braces are within braces. */
const CONFIGURATIONS =
  '**/{*.c3.yaml,*magrpo_*config.yaml,*grpo_he_config.yaml,*grpo_che_config.yaml,*grpo_mbpp_config.yaml}';
const MOST_CONFIGURATIONS = 200;

/** What "Quick" changes, and its description says: enough to see every stage, too little to learn. */
const QUICK: readonly string[] = ['steps=3', 'evaluation.instances=64'];

interface SubjectItem extends QuickPickItem {
  readonly config: string | null;
  /** What chooses a bundled task. */
  readonly overrides?: readonly string[];
}

/** Represents the team that comes with the product, where a command is given what to run. */
export const BUNDLED = 'bundled';

/**
 * The answer of the user; undefined when the questions were left. What is given is not asked for.
 * @param planOf plans what would be started
 */
export async function askForRun(
  given: Uri | typeof BUNDLED | undefined,
  planOf: (params: StartRunParams) => Promise<RunPlan>,
): Promise<StartRunParams | undefined> {
  const subject =
    given === undefined ? await askForSubject() : { config: given === BUNDLED ? null : given.fsPath, overrides: [] };
  if (subject === undefined) {
    return undefined;
  }
  const paramsOf = (overrides: readonly string[]): StartRunParams => ({
    config: subject.config,
    overrides: [...(subject.overrides ?? []), ...overrides],
  });
  const chosen = await askForLength(
    given === undefined ? 'Start C3 run (2 of 2)' : 'Start C3 run',
    [
      {
        label: 'Default length',
        description: subject.config === null ? 'all training steps' : 'as configured',
        overrides: [],
      },
      { label: 'Quick', description: '3 steps, to see how it works', overrides: QUICK },
    ],
    async (overrides) => (await planOf(paramsOf(overrides))).seconds,
  );
  return chosen === undefined ? undefined : paramsOf(chosen);
}

/**
 * One of the configurations of the workspace; undefined when the question was left, or where there is none, which is
 * said.
 */
export async function askForConfiguration(title: string): Promise<Uri | undefined> {
  const files = await configurations();
  if (files.length === 0) {
    const create = 'New configuration';
    if (
      (await window.showInformationMessage('There is no configuration (*.c3.yaml) in this workspace yet.', create)) ===
      create
    ) {
      await commands.executeCommand('c3.newConfiguration');
    }
    return undefined;
  }
  const items = files.map((file) => ({ label: workspace.asRelativePath(file), file }));
  return items.length === 1
    ? items[0]?.file
    : (await window.showQuickPick(items, { title, placeHolder: 'Which configuration?' }))?.file;
}

/** The files of the workspace that describe a run, by their paths. */
async function configurations(): Promise<readonly Uri[]> {
  const files = await workspace.findFiles(CONFIGURATIONS, '**/node_modules/**', MOST_CONFIGURATIONS);
  return files.sort((a, b) => workspace.asRelativePath(a).localeCompare(workspace.asRelativePath(b)));
}

async function askForSubject(): Promise<SubjectItem | undefined> {
  const files = await configurations();
  const items: SubjectItem[] = [
    { label: 'Bundled team', description: 'arithmetic, a reasoner and an actor', config: null },
    {
      label: 'Bundled Python team',
      description: 'small functions with unit tests, a planner and a coder',
      config: null,
      overrides: ['task.name=python'],
    },
    {
      label: 'Bundled dealer team',
      description: 'hands of a card game, a dealer and a player',
      config: null,
      overrides: ['task.name=dealer'],
    },
    {
      label: 'Bundled functions team',
      description: 'functions in two parts, a helper and a main agent',
      config: null,
      overrides: ['task.name=functions'],
    },
    {
      label: 'Bundled logic team',
      description: 'questions with four options, three voters credited by ccpo',
      config: null,
      overrides: ['task.name=logic', 'task.roles=3', 'method=ccpo'],
    },
    ...files.map((file) => ({
      label: workspace.asRelativePath(file),
      description: 'configuration',
      config: file.fsPath,
    })),
  ];
  return window.showQuickPick(items, {
    title: 'Start C3 run (1 of 2)',
    placeHolder: 'What to run?',
    matchOnDescription: true,
  });
}
