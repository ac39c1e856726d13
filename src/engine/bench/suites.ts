/** The suites of `c3 bench` by name. */
import { C3Error, nearestName } from '../../shared/errors.ts';
import { benchActivation } from './activation.ts';
import { benchBlame } from './blame/blameBench.ts';
import { benchTeamDrift } from './drift/teamDrift.ts';
import { benchFirstRun } from './firstRun.ts';
import { benchGeneration } from './speed/generation.ts';
import { benchRhoMap } from './map/rhoMap.ts';
import { benchModel } from './speed/model.ts';
import { benchPaperTable, type PaperTableOptions } from './paper/paperTable.ts';
import { benchReplay } from './replay.ts';
import type { BenchReport, ModelBenchOptions, TeamBenchOptions } from './report.ts';
import { benchSandbox } from './sandbox/sandboxLoad.ts';
import { benchStore } from './store.ts';
import { benchTrain } from './speed/train.ts';
import { benchWholeIteration } from './iteration/wholeIteration.ts';

/** What any suite may be given. */
export type SuiteOptions = TeamBenchOptions & ModelBenchOptions & PaperTableOptions;

interface Suite {
  /** What --config describes: the team that runs, or the model. Null where nothing can be chosen. */
  readonly measures: 'team' | 'model' | null;
  /** Whether it keeps what it made in a folder, which --out names. */
  readonly keeps?: true;
  /** Whether it goes on from the finished runs of a file, which --continue names. */
  readonly continues?: true;
  readonly measure: (options: SuiteOptions) => Promise<BenchReport>;
}

const SUITES: Readonly<Record<string, Suite>> = {
  'first-run': { measures: 'team', measure: benchFirstRun },
  generation: { measures: null, measure: benchGeneration },
  train: { measures: 'team', measure: benchTrain },
  iteration: { measures: null, measure: (options) => benchWholeIteration(options) },
  replay: { measures: 'team', measure: benchReplay },
  store: { measures: null, measure: benchStore },
  model: { measures: 'model', measure: benchModel },
  sandbox: { measures: null, measure: (options) => benchSandbox(options) },
  blame: { measures: null, measure: (options) => benchBlame(options) },
  activation: { measures: null, measure: (options) => benchActivation(options) },
  'paper-table': { measures: null, keeps: true, continues: true, measure: benchPaperTable },
  'rho-map': { measures: null, keeps: true, measure: benchRhoMap },
  'team-drift': { measures: null, keeps: true, measure: benchTeamDrift },
};

export const SUITE_NAMES: readonly string[] = Object.keys(SUITES);

/** Runs a suite. @throws C3Error('input') for an unknown one, or a choice that it does not have; CancelledError */
export async function runSuite(name: string | undefined, options: SuiteOptions): Promise<BenchReport> {
  const suite = name !== undefined && Object.hasOwn(SUITES, name) ? SUITES[name] : undefined;
  if (name === undefined || suite === undefined) {
    const nearest = name === undefined ? undefined : nearestName(name, SUITE_NAMES);
    const known = `there are ${SUITE_NAMES.join(', ')}.`;
    throw new C3Error(
      'input',
      `c3 bench ${name === undefined ? 'needs a suite' : `has no suite ${JSON.stringify(name.slice(0, 40))}`}; ${nearest === undefined ? known : `did you mean ${nearest}?`}`,
    );
  }
  if (suite.measures === null && options.config !== null) {
    throw new C3Error('input', `c3 bench ${name} measures no team; leave out --config.`);
  }
  if (suite.measures !== 'model' && (options.device ?? null) !== null) {
    throw new C3Error('input', `c3 bench ${name} takes no --device; leave it out.`);
  }
  if (suite.keeps !== true && (options.out ?? null) !== null) {
    throw new C3Error('input', `c3 bench ${name} keeps no files; leave out --out.`);
  }
  if (suite.continues !== true && (options.from ?? null) !== null) {
    throw new C3Error('input', `c3 bench ${name} goes on from no file; leave out --continue.`);
  }
  return suite.measure(options);
}
