/** The suites of `c3 bench` by name. */
import { C3Error, nearestName } from '../../shared/errors.ts';
import { benchFirstRun } from './firstRun.ts';
import { benchGeneration } from './generation.ts';
import { benchReplay } from './replay.ts';
import type { BenchReport, TeamBenchOptions } from './report.ts';
import { benchStore } from './store.ts';
import { benchTrain } from './train.ts';

interface Suite {
  /** True where a team runs, which a configuration can describe. */
  readonly team: boolean;
  readonly measure: (options: TeamBenchOptions) => Promise<BenchReport>;
}

const SUITES: Readonly<Record<string, Suite>> = {
  'first-run': { team: true, measure: benchFirstRun },
  generation: { team: false, measure: benchGeneration },
  train: { team: true, measure: benchTrain },
  replay: { team: true, measure: benchReplay },
  store: { team: false, measure: benchStore },
};

export const SUITE_NAMES: readonly string[] = Object.keys(SUITES);

/** Runs a suite. @throws C3Error('input') for an unknown one, or a configuration where no team runs; CancelledError */
export async function runSuite(name: string | undefined, options: TeamBenchOptions): Promise<BenchReport> {
  const suite = name !== undefined && Object.hasOwn(SUITES, name) ? SUITES[name] : undefined;
  if (name === undefined || suite === undefined) {
    const nearest = name === undefined ? undefined : nearestName(name, SUITE_NAMES);
    const known = `there are ${SUITE_NAMES.join(', ')}.`;
    throw new C3Error('input', `c3 bench ${name === undefined ? 'needs a suite' : `has no suite ${JSON.stringify(name.slice(0, 40))}`}; ${nearest === undefined ? known : `did you mean ${nearest}?`}`);
  }
  if (!suite.team && options.config !== null) throw new C3Error('input', `c3 bench ${name} measures no team; leave out --config.`);
  return suite.measure(options);
}
