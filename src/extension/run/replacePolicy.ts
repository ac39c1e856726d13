/** The command "Replace policy": asks for role, new policy and strategy, and starts the run. */

import { window, workspace, type QuickPickItem } from 'vscode';
import { readSection, parseStoredConfig } from '../../domain/run.ts';
import type { RunPlan } from '../../shared/models.ts';
import type { ReplaceParams, ReplaceStrategy, StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import { hasSmallTeam, SMALL_MODEL, TASK_NAMES } from '../../shared/runNames.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { askForFolder } from '../common/askForFolder.ts';
import type { Services } from '../services.ts';
import { askForLength } from './askForLength.ts';

interface SourceItem extends QuickPickItem {
  readonly from: 'base' | 'run' | 'adapter' | 'small' | 'model';
}

interface StrategyItem extends QuickPickItem {
  readonly strategy: ReplaceStrategy;
}

const OF_ANY_TASK: readonly SourceItem[] = [
  { from: 'run', label: 'A policy of a run', description: 'as another run, or this one, trained it' },
  { from: 'base', label: 'The model without an adapter', description: 'a fresh policy' },
  { from: 'adapter', label: 'An adapter…', description: "a folder in PEFT's layout, over the same model" },
  { from: 'model', label: 'Another model…', description: 'a model folder; it answers and does not learn' },
];
const SMALLER: SourceItem = {
  from: 'small',
  label: 'The smaller model of the task',
  description: `${SMALL_MODEL}; it answers and does not learn`,
};

const STAGE_0: StrategyItem = {
  strategy: 'align',
  label: 'Stage 0, then training',
  description: 'it first learns to say what the old policy says',
};
const DIRECT: StrategyItem = { strategy: 'direct', label: 'Direct swap, then training', description: 'as it is' };
const RETRAIN: StrategyItem = {
  strategy: 'retrain',
  label: 'Retraining',
  description: 'the whole team begins with the model, with the next seed',
};
/** The strategies for each source. */
const STRATEGIES: Readonly<Record<SourceItem['from'], readonly StrategyItem[]>> = {
  run: [STAGE_0, DIRECT],
  adapter: [STAGE_0, DIRECT],
  base: [STAGE_0, DIRECT, RETRAIN],
  small: [DIRECT, RETRAIN],
  model: [DIRECT, RETRAIN],
};

/** Returns the sources of a new policy for a run. The smaller model is one if its task has one. */
function listSources(runConfig: string): readonly SourceItem[] {
  const { name } = readSection(parseStoredConfig(runConfig), 'task');
  const task = TASK_NAMES.find((known) => known === name);
  return task !== undefined && hasSmallTeam(task) ? [...OF_ANY_TASK, SMALLER] : OF_ANY_TASK;
}

/**
 * Asks for a replacement and starts its run.
 * @param named the run whose policy is replaced; if undefined, the user is asked
 * @param pickRun asks for a run
 * @param rolesOf returns the roles of a run's team, in order
 * @throws C3Error with one sentence if the policy cannot be replaced so
 */
export async function askAndReplacePolicy(
  { engine, store, runs }: Services,
  reader: StoreReader,
  named: string | undefined,
  pickRun: ReplaceQuestions['pickRun'],
  rolesOf: (run: string) => Promise<readonly string[]>,
): Promise<void> {
  const client = engine.client();
  const run = named ?? (await pickRun('Replace policy'));
  if (run === undefined) {
    return;
  }
  store.requireWhole();
  const params = await askForReplacement({
    run,
    roles: await rolesOf(run),
    sources: listSources(reader.runConfig(run)),
    pickRun,
    folder: workspace.workspaceFolders?.[0]?.uri.fsPath ?? '',
    replacement: (wanted) => client.replacement(wanted),
    planOf: (wanted) => client.plan(wanted),
  });
  if (params !== undefined) {
    await runs.start(params);
  }
}

interface ReplaceQuestions {
  readonly run: string;
  /** The roles of the run's team, in order. */
  readonly roles: readonly string[];
  readonly sources: readonly SourceItem[];
  /** Asks for the run whose policy is taken. */
  readonly pickRun: (title: string) => Promise<string | undefined>;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly replacement: (params: ReplaceParams) => Promise<StartRunParams>;
  readonly planOf: (params: StartRunParams) => Promise<RunPlan>;
}

/**
 * Returns the run that the user's answers describe, or undefined if the user canceled.
 * @throws C3Error with one sentence if the policy cannot be replaced so
 */
async function askForReplacement({
  run,
  roles,
  sources,
  pickRun,
  folder,
  replacement,
  planOf,
}: ReplaceQuestions): Promise<StartRunParams | undefined> {
  const title = (step: number): string => `Replace policy (${step} of 4)`;
  // The user may look something up meanwhile, and a panel may take the focus late.
  const ignoreFocusOut = true;
  const role = await window.showQuickPick(roles, {
    title: title(1),
    placeHolder: 'The policy of which role is replaced?',
    ignoreFocusOut,
  });
  if (role === undefined) {
    return undefined;
  }
  const by = await window.showQuickPick(sources, {
    title: title(2),
    placeHolder: `What takes the place of ${role}?`,
    ignoreFocusOut,
  });
  const source = by === undefined ? undefined : await askForSource(by.from, title(2), pickRun);
  if (by === undefined || source === undefined) {
    return undefined;
  }
  const how = await window.showQuickPick(STRATEGIES[by.from], { title: title(3), placeHolder: 'How?', ignoreFocusOut });
  if (how === undefined) {
    return undefined;
  }
  const { strategy } = how;
  const params = { run, role, source, strategy, folder };
  // Throws before the last question if the run cannot start.
  await planOf(await replacement({ ...params, overrides: [] }));
  const chosen = await askForLength(
    title(4),
    [
      { label: 'As the run was', description: 'with its training steps', overrides: [] },
      { label: 'Without training', description: 'shows what the swap costs', overrides: ['steps=0'] },
    ],
    async (overrides) => (await planOf(await replacement({ ...params, overrides }))).seconds,
  );
  return chosen === undefined ? undefined : replacement({ ...params, overrides: chosen });
}

async function askForSource(
  kind: SourceItem['from'],
  title: string,
  pickRun: ReplaceQuestions['pickRun'],
): Promise<string | undefined> {
  switch (kind) {
    case 'base':
      return 'base';
    case 'small':
      return SMALL_MODEL;
    case 'run':
      return pickRun(title);
    case 'adapter':
    case 'model':
      return askForFolder(title, kind === 'adapter' ? 'Choose adapter' : 'Choose model');
  }
}
