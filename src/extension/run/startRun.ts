/** Asks for the configuration and the length of a run. Enter at each question accepts the defaults. */

import { commands, QuickPickItemKind, Range, ThemeIcon, Uri, window, workspace, type QuickPickItem } from 'vscode';
import type { RunPlan } from '../../shared/models.ts';
import type { StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { withoutIcons } from '../common/plainText.ts';
import { askForLength } from './askForLength.ts';
import { BUNDLED_TEAMS, EXAMPLES, type FirstFault } from './subjects.ts';

/** Files that describe a run. VS Code's search finds nothing if braces are nested. */
const CONFIGURATIONS =
  '**/{*.c3.yaml,*magrpo_*config.yaml,*grpo_he_config.yaml,*grpo_che_config.yaml,*grpo_mbpp_config.yaml}';
const MOST_CONFIGURATIONS = 200;
/** Matches configurations of C3, which are the only ones that are checked before one is chosen. */
const OWN = /\.c3\.yaml$/u;
/** Maximum length of a problem's text, in characters. */
const PROBLEM = 100;

/** Overrides of the length "Quick": enough to see every stage, too few to learn. */
const QUICK: readonly string[] = ['steps=3', 'evaluation.instances=64'];

interface SubjectItem extends QuickPickItem {
  /** The configuration, or null for a bundled team. */
  readonly file: Uri | null;
  /** Overrides that choose a bundled team. */
  readonly overrides?: readonly string[];
}

interface Subject {
  readonly config: string | null;
  readonly overrides: readonly string[];
}

/** The argument of a command that stands for the bundled team. */
export const BUNDLED = 'bundled';

/** The services that the questions need. */
export interface RunQuestions {
  /** The folder of the extension. */
  readonly extension: Uri;
  /** Plans a run. */
  readonly planOf: (params: StartRunParams) => Promise<RunPlan>;
  /** Returns the first fault that keeps a configuration from starting, or null if none is known. */
  readonly faultIn: (text: string) => Promise<FirstFault | null>;
}

/**
 * Asks for a run and returns its parameters, or undefined if the user canceled.
 * @param given the configuration; if undefined, the user is asked
 */
export async function askForRun(
  given: Uri | typeof BUNDLED | undefined,
  questions: RunQuestions,
): Promise<StartRunParams | undefined> {
  const subject =
    given === undefined
      ? await askForSubject(questions)
      : { config: given === BUNDLED ? null : given.fsPath, overrides: [] };
  if (subject === undefined) {
    return undefined;
  }
  const paramsOf = (overrides: readonly string[]): StartRunParams => ({
    config: subject.config,
    overrides: [...subject.overrides, ...overrides],
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
    async (overrides) => (await questions.planOf(paramsOf(overrides))).seconds,
  );
  return chosen === undefined ? undefined : paramsOf(chosen);
}

/**
 * Asks for a configuration of the workspace. Returns undefined if the user canceled. If there is none,
 * says so and returns undefined.
 */
export async function askForConfiguration(title: string): Promise<Uri | undefined> {
  const files = await findConfigurations();
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

/** Returns the files of the workspace that describe a run, sorted by path. */
async function findConfigurations(): Promise<readonly Uri[]> {
  const files = await workspace.findFiles(CONFIGURATIONS, '**/node_modules/**', MOST_CONFIGURATIONS);
  return files.sort((a, b) => workspace.asRelativePath(a).localeCompare(workspace.asRelativePath(b)));
}

/**
 * Asks for a bundled team or a configuration. If the configuration cannot be run, opens it at its
 * first fault and returns undefined.
 */
async function askForSubject({ extension, faultIn }: RunQuestions): Promise<Subject | undefined> {
  const files = await findConfigurations();
  const examples = Uri.joinPath(extension, 'media', 'examples');
  const separator = (label: string): SubjectItem => ({ label, kind: QuickPickItemKind.Separator, file: null });
  const items: SubjectItem[] = [
    ...Object.values(BUNDLED_TEAMS).map((team): SubjectItem => ({ ...team, file: null })),
    ...(files.length === 0 ? [] : [separator('this folder')]),
    ...files.map((file): SubjectItem => ({
      label: withoutIcons(workspace.asRelativePath(file)),
      description: 'configuration',
      file,
    })),
    separator('examples'),
    ...Object.entries(EXAMPLES).map(([name, description]): SubjectItem => ({
      label: name,
      description,
      file: Uri.joinPath(examples, name),
    })),
  ];
  const chosen = await window.showQuickPick(markFaultyItems(items, files, faultIn), {
    title: 'Start C3 run (1 of 2)',
    placeHolder: 'What to run?',
    matchOnDescription: true,
  });
  if (chosen === undefined) {
    return undefined;
  }
  const { file, overrides = [] } = chosen;
  if (file === null) {
    return { config: null, overrides };
  }
  const fault = await findFirstFault(file, faultIn);
  if (fault !== null) {
    const document = await workspace.openTextDocument(file);
    const at = document.positionAt(fault.start);
    const selection = new Range(at, at);
    await window.showTextDocument(document, { selection });
    return undefined;
  }
  return { config: file.fsPath, overrides };
}

/** Marks the configurations of the folder that cannot be run. */
async function markFaultyItems(
  items: readonly SubjectItem[],
  files: readonly Uri[],
  faultIn: RunQuestions['faultIn'],
): Promise<SubjectItem[]> {
  const broken = new Map<Uri, string>();
  for (const file of files) {
    const fault = await findFirstFault(file, faultIn);
    if (fault !== null) {
      broken.set(file, `line ${fault.line}: ${toOneLine(fault.message, PROBLEM)}`);
    }
  }
  return items.map((item) => {
    const fault = item.file === null ? undefined : broken.get(item.file);
    return fault === undefined ? item : { ...item, iconPath: new ThemeIcon('error'), description: withoutIcons(fault) };
  });
}

/** Returns the first fault of a configuration as it is in the editor, or null if none is known. */
async function findFirstFault(
  file: Uri,
  faultIn: RunQuestions['faultIn'],
): Promise<(FirstFault & { readonly line: number }) | null> {
  if (!OWN.test(file.path)) {
    return null;
  }
  const open = workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
  const text = open?.getText() ?? new TextDecoder().decode(await workspace.fs.readFile(file));
  const fault = await faultIn(text);
  return fault === null ? null : { ...fault, line: text.slice(0, fault.start).split('\n').length };
}
