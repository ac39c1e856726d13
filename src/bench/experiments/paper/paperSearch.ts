/** What the search of the learning rate came to: a rate and its cost by method; and where runs were made. */
import { mean } from '../../../credit/describe.ts';
import { measureOf, type Budget } from '../../../diagnostics/methods/methodComparison.ts';
import { methodWords, type MethodName } from '../../../training/methods/methods.ts';
import { medianOf } from '../../report.ts';
import type { PaperReport } from './paperPage.ts';
import type { KeptRun } from './paperRecord.ts';
import type { Scale, Task, TaskName } from './paperScale.ts';

/** What a run of the search cost; all methods take as many steps there. */
interface Cost {
  readonly tokens: number;
  readonly seconds: number;
}
/** What the search of a method came to; no cost where it does not train. */
export interface Searched {
  readonly rate: number;
  readonly cost: Cost | null;
}

/**
 * The steps of a run at a budget: as many as given at equal evaluator calls; else so many that they cost what those of
 * the matched method do.
 */
export function stepsAt(budget: Budget, steps: number, cost: Cost | null, matched: Cost | null): number {
  return budget === 'calls' || cost === null || matched === null
    ? steps
    : Math.max(1, Math.round((steps * matched[budget]) / cost[budget]));
}

/**
 * The rates that a method goes on with after the first seed of the search: those with which it solved most then; of
 * equal ones the lower.
 */
export function keptRates(
  { searchSeeds: [first], ratesKept }: Pick<Scale, 'searchSeeds' | 'ratesKept'>,
  { name: task, rates }: Pick<Task, 'name' | 'rates'>,
  method: MethodName,
  search: readonly KeptRun[],
): ReadonlySet<number> {
  const solved = (rate: number): number =>
    solvedShare(ofMethod(search, task, method).filter((one) => one.seed === first && one.rate === rate)) ?? -1;
  const ranked = rates.map((rate) => ({ rate, share: solved(rate) }));
  return new Set(
    ranked
      .toSorted((a, b) => b.share - a.share || a.rate - b.rate)
      .slice(0, ratesKept)
      .map(({ rate }) => rate),
  );
}

/**
 * Of the rates that a method tried with most seeds the one with which it solved most, and its cost: tokens are those
 * at this rate; seconds, which no rate changes, the median of its whole search, which other work hardly moves.
 */
export function bestOf(
  { name, rates }: Pick<Task, 'name' | 'rates'>,
  method: MethodName,
  search: readonly KeptRun[],
): Searched {
  const own = ofMethod(search, name, method);
  const tried = rates.map((rate) => own.filter((one) => one.rate === rate));
  const seeds = Math.max(...tried.map((runs) => runs.length));
  const [first, ...others] = tried.filter((runs) => runs.length === seeds);
  const best = others.reduce((a, b) => ((solvedShare(b) ?? -1) > (solvedShare(a) ?? -1) ? b : a), first ?? []);
  const [one] = best;
  return one === undefined
    ? { rate: rates[0] ?? 0, cost: null }
    : {
        rate: one.rate,
        cost: {
          tokens: mean(best.map(({ run: { tokens } }) => tokens.prompt + tokens.completion)),
          seconds: medianOf(own.map(({ run: { seconds } }) => seconds ?? 0)) ?? 0,
        },
      };
}

const ofMethod = (search: readonly KeptRun[], task: TaskName, method: MethodName): KeptRun[] =>
  search.filter((one) => one.task === task && one.method === method);

/** Mean pass@1 of runs; null where none was measured. */
function solvedShare(runs: readonly KeptRun[]): number | null {
  const values = runs.flatMap(({ run }) => measureOf(run, 'pass1') ?? []);
  return values.length === 0 ? null : mean(values);
}

/**
 * What the page says of the search: a mean per rate and method over the seeds with which it tried the rate, for rates
 * that all methods have tried.
 * @param chosen by task and method; null while the search is not finished
 */
export function searchLines(
  { tasks, methods }: Scale,
  search: readonly KeptRun[],
  chosen: ((task: Task, method: MethodName) => number) | null,
): PaperReport['search'] {
  const training = methods.filter((method) => methodWords(method).trains);
  return tasks
    .filter(({ rates }) => rates.length > 1)
    .flatMap((task) =>
      training.flatMap((method) =>
        task.rates.flatMap((rate) => {
          const of = (one: MethodName): KeptRun[] =>
            ofMethod(search, task.name, one).filter((run) => run.rate === rate);
          const own = of(method);
          return training.some((other) => of(other).length === 0)
            ? []
            : [
                {
                  task: task.name,
                  method,
                  rate,
                  value: solvedShare(own),
                  seeds: own.length,
                  chosen: chosen?.(task, method) === rate,
                },
              ];
        }),
      ),
    );
}

/**
 * The hardware that all runs were made on; null where there is none, or several. Times of different hardware compare
 * nothing.
 */
export function oneHardware(runs: readonly KeptRun[]): string | null {
  const [name, ...others] = new Set(runs.map(({ hardware }) => hardware));
  return name === undefined || others.length > 0 ? null : name;
}

/** `AMD EPYC, 2 cores: search (140 runs), arithmetic seeds 0, 1, python seed 0` for each hardware. */
export function hardwareWords(runs: readonly KeptRun[]): string {
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
