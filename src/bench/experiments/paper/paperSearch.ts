/** The results of the search of the learning rate, and the hardware of runs. */

import { mean } from '../../../credit/describe.ts';
import { readMeasure, type Budget } from '../../../diagnostics/methods/methodComparison.ts';
import { getMethodWords, type MethodName } from '../../../training/methods/methods.ts';
import { takeMedian } from '../../report.ts';
import type { PaperReport } from './paperPage.ts';
import type { KeptRun } from './paperRecord.ts';
import type { Scale, Task, TaskName } from './paperScale.ts';

/** The cost of a run of the search. All methods take the same number of steps there. */
interface Cost {
  readonly tokens: number;
  readonly seconds: number;
}
/** The result of the search for a method. */
export interface Searched {
  readonly rate: number;
  /** Null if the method does not train. */
  readonly cost: Cost | null;
}

/**
 * Returns the steps of a run at a budget: the given steps at equal evaluator calls, otherwise the
 * number of steps that costs the same as the steps of the matched method.
 */
export function computeStepsAtBudget(budget: Budget, steps: number, cost: Cost | null, matched: Cost | null): number {
  return budget === 'calls' || cost === null || matched === null
    ? steps
    : Math.max(1, Math.round((steps * matched[budget]) / cost[budget]));
}

/**
 * Returns the rates that a method tries with further seeds of the search: those with which it
 * solved most with the first seed. The lower of two equal rates is preferred.
 */
export function pickKeptRates(
  { searchSeeds: [first], ratesKept }: Pick<Scale, 'searchSeeds' | 'ratesKept'>,
  { name: task, rates }: Pick<Task, 'name' | 'rates'>,
  method: MethodName,
  search: readonly KeptRun[],
): ReadonlySet<number> {
  const solved = (rate: number): number =>
    averageSolvedShare(
      filterMethodRuns(search, task, method).filter((one) => one.seed === first && one.rate === rate),
    ) ?? -1;
  const ranked = rates.map((rate) => ({ rate, share: solved(rate) }));
  return new Set(
    ranked
      .toSorted((a, b) => b.share - a.share || a.rate - b.rate)
      .slice(0, ratesKept)
      .map(({ rate }) => rate),
  );
}

/**
 * Returns the rate with which a method solved most, among the rates that it tried with most seeds,
 * and its cost. The tokens are the mean at this rate. The seconds do not depend on the rate and are
 * the median of the method's whole search, which other load on the machine hardly affects.
 */
export function pickBestRate(
  { name, rates }: Pick<Task, 'name' | 'rates'>,
  method: MethodName,
  search: readonly KeptRun[],
): Searched {
  const own = filterMethodRuns(search, name, method);
  const tried = rates.map((rate) => own.filter((one) => one.rate === rate));
  const seeds = Math.max(...tried.map((runs) => runs.length));
  const [first, ...others] = tried.filter((runs) => runs.length === seeds);
  const best = others.reduce(
    (a, b) => ((averageSolvedShare(b) ?? -1) > (averageSolvedShare(a) ?? -1) ? b : a),
    first ?? [],
  );
  const [one] = best;
  return one === undefined
    ? { rate: rates[0] ?? 0, cost: null }
    : {
        rate: one.rate,
        cost: {
          tokens: mean(best.map(({ run: { tokens } }) => tokens.prompt + tokens.completion)),
          seconds: takeMedian(own.map(({ run: { seconds } }) => seconds ?? 0)) ?? 0,
        },
      };
}

const filterMethodRuns = (search: readonly KeptRun[], task: TaskName, method: MethodName): KeptRun[] =>
  search.filter((one) => one.task === task && one.method === method);

/** Returns the mean pass@1 of runs, or null if none was measured. */
function averageSolvedShare(runs: readonly KeptRun[]): number | null {
  const values = runs.flatMap(({ run }) => readMeasure(run, 'pass1') ?? []);
  return values.length === 0 ? null : mean(values);
}

/**
 * Returns the search for the page: for each method and each rate that all methods have tried, the
 * mean over the method's seeds with this rate.
 * @param chosen by task and method; null while the search is not finished
 */
export function makeSearchLines(
  { tasks, methods }: Scale,
  search: readonly KeptRun[],
  chosen: ((task: Task, method: MethodName) => number) | null,
): PaperReport['search'] {
  const training = methods.filter((method) => getMethodWords(method).trains);
  return tasks
    .filter(({ rates }) => rates.length > 1)
    .flatMap((task) =>
      training.flatMap((method) =>
        task.rates.flatMap((rate) => {
          const of = (one: MethodName): KeptRun[] =>
            filterMethodRuns(search, task.name, one).filter((run) => run.rate === rate);
          const own = of(method);
          return training.some((other) => of(other).length === 0)
            ? []
            : [
                {
                  task: task.name,
                  method,
                  rate,
                  value: averageSolvedShare(own),
                  seeds: own.length,
                  chosen: chosen?.(task, method) === rate,
                },
              ];
        }),
      ),
    );
}

/**
 * Returns the hardware of all runs, or null without runs or with several kinds of hardware, whose
 * times cannot be compared.
 */
export function findOnlyHardware(runs: readonly KeptRun[]): string | null {
  const [name, ...others] = new Set(runs.map(({ hardware }) => hardware));
  return name === undefined || others.length > 0 ? null : name;
}

/**
 * Describes the runs of each hardware, as in `AMD EPYC, 2 cores: search (140 runs), arithmetic
 * seeds 0, 1, python seed 0`.
 */
export function describeHardwareRuns(runs: readonly KeptRun[]): string {
  return [...Map.groupBy(runs, ({ hardware, environment }) => `${hardware}, ${environment}`)]
    .map(([name, made]) => {
      const count = made.filter(({ part }) => part === 'search').length;
      const seeds = [
        ...Map.groupBy(
          made.filter(({ part }) => part === 'table'),
          ({ task }) => task,
        ),
      ].map(([task, own]) => {
        const all = [...new Set(own.map(({ seed }) => seed))].sort((a, b) => a - b);
        return `${task} seed${all.length === 1 ? '' : 's'} ${all.join(', ')}`;
      });
      return `${name}: ${[...(count === 0 ? [] : [`search (${count} ${count === 1 ? 'run' : 'runs'})`]), ...seeds].join(', ')}`;
    })
    .join('; ');
}
