/** The suites of `c3 bench`: speed, and the experiments behind the tables of the guide. */

import { SUITE_NAMES, type BenchBundle, type SuiteName } from '../engine/benchSuites.ts';
import { C3Error, findNearestName } from '../shared/errors.ts';
import type { PaperTableOptions } from './experiments/paper/paperTable.ts';
import type { BenchReport, ModelBenchOptions, TeamBenchOptions } from './report.ts';
import { formatReport } from './table.ts';

/** The options of all suites. */
export type SuiteOptions = TeamBenchOptions & ModelBenchOptions & PaperTableOptions;

interface Suite {
  /**
   * The subject that --config describes: the team or the model. Null if the suite takes no
   * --config.
   */
  readonly measures: 'team' | 'model' | null;
  /** True if the suite keeps its results in a folder, which --out names. */
  readonly keeps?: true;
  /** True if the suite can continue from the finished runs of a file, which --continue names. */
  readonly continues?: true;
  readonly measure: (options: SuiteOptions) => Promise<BenchReport>;
}

const SUITES: Readonly<Record<SuiteName, Suite>> = {
  'first-run': { measures: 'team', measure: async (of) => (await import('./speed/firstRun.ts')).benchFirstRun(of) },
  generation: { measures: null, measure: async (of) => (await import('./speed/generation.ts')).benchGeneration(of) },
  train: { measures: 'team', measure: async (of) => (await import('./speed/train.ts')).benchTrain(of) },
  iteration: {
    measures: null,
    measure: async (of) => (await import('./iteration/wholeIteration.ts')).benchWholeIteration(of),
  },
  replay: { measures: 'team', measure: async (of) => (await import('./speed/replay.ts')).benchReplay(of) },
  store: { measures: null, measure: async (of) => (await import('./speed/store.ts')).benchStore(of) },
  model: { measures: 'model', measure: async (of) => (await import('./speed/model.ts')).benchModel(of) },
  sandbox: { measures: null, measure: async (of) => (await import('./sandbox/sandboxLoad.ts')).benchSandbox(of) },
  blame: { measures: null, measure: async (of) => (await import('./experiments/blame/blameBench.ts')).benchBlame(of) },
  'named-messages': {
    measures: 'team',
    measure: async (of) => (await import('./experiments/blame/namedMessages.ts')).benchNamedMessages(of),
  },
  activation: { measures: null, measure: async (of) => (await import('./speed/activation.ts')).benchActivation(of) },
  'paper-table': {
    measures: null,
    keeps: true,
    continues: true,
    measure: async (of) => (await import('./experiments/paper/paperTable.ts')).benchPaperTable(of),
  },
  'rho-map': {
    measures: null,
    keeps: true,
    measure: async (of) => (await import('./experiments/map/rhoMap.ts')).benchRhoMap(of),
  },
  'team-drift': {
    measures: null,
    keeps: true,
    measure: async (of) => (await import('./experiments/drift/teamDrift.ts')).benchTeamDrift(of),
  },
};

/**
 * Runs a suite.
 * @throws C3Error('input') if the suite is unknown or does not take one of the options;
 * CancelledError
 */
export async function runSuite(name: string | undefined, options: SuiteOptions): Promise<BenchReport> {
  const suite = name === undefined ? undefined : new Map<string, Suite>(Object.entries(SUITES)).get(name);
  if (name === undefined || suite === undefined) {
    const nearest = name === undefined ? undefined : findNearestName(name, SUITE_NAMES);
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

export const runBench: BenchBundle['runBench'] = async (name, { json, ...options }) => {
  const report = await runSuite(name, options);
  return json ? JSON.stringify(report) : formatReport(report);
};
