/** What the search of the learning rate came to: a rate and its cost by method; and where runs were made. */
import { mean } from '../../../credit/describe.ts';
import { measureOf, type Budget } from '../../../diagnostics/methods/methodComparison.ts';
import { methodWords, type MethodName } from '../../../training/methods/methods.ts';
import type { PaperReport } from './paperPage.ts';
import type { KeptRun } from './paperRecord.ts';
import type { Scale, TaskName } from './paperScale.ts';

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

/** The rate with which a method solved most of what was sampled in the whole search, and its cost there. */
export function bestOf({ rates }: Scale, task: TaskName, method: MethodName, search: readonly KeptRun[]): Searched {
  const own = search.filter((one) => one.task === task && one.method === method);
  const [first, ...others] = rates.map((rate) => own.filter((one) => one.rate === rate));
  const best = others.reduce((a, b) => ((solvedShare(b) ?? -1) > (solvedShare(a) ?? -1) ? b : a), first ?? []);
  const [one] = best;
  return one === undefined
    ? { rate: rates[0] ?? 0, cost: null }
    : {
        rate: one.rate,
        cost: {
          tokens: mean(best.map(({ run: { tokens } }) => tokens.prompt + tokens.completion)),
          seconds: mean(best.map(({ run: { seconds } }) => seconds ?? 0)),
        },
      };
}

/** Mean pass@1 of runs; null where none was measured. */
function solvedShare(runs: readonly KeptRun[]): number | null {
  const values = runs.flatMap(({ run }) => measureOf(run, 'pass1') ?? []);
  return values.length === 0 ? null : mean(values);
}

/**
 * What the page says of the search: a mean per rate and method over the seeds with which all methods have tried it.
 * @param chosen by task and method; null while the search is not finished
 */
export function searchLines(
  { tasks, methods, rates, searchSeeds }: Scale,
  search: readonly KeptRun[],
  chosen: ((task: TaskName, method: MethodName) => number) | null,
): PaperReport['search'] {
  const training = methods.filter((method) => methodWords(method).trains);
  return rates.length < 2
    ? []
    : tasks.flatMap(({ name: task }) =>
        training.flatMap((method) =>
          rates.flatMap((rate) => {
            const tried = search.filter((one) => one.task === task && one.rate === rate);
            const seeds = searchSeeds.filter((seed) =>
              training.every((other) => tried.some((one) => one.seed === seed && one.method === other)),
            );
            const own = tried.filter((one) => one.method === method && seeds.includes(one.seed));
            return own.length === 0
              ? []
              : [{ task, method, rate, value: solvedShare(own), chosen: chosen?.(task, method) === rate }];
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
      return `${name}: ${[...(count === 0 ? [] : [`search (${String(count)} ${count === 1 ? 'run' : 'runs'})`]), ...seeds].join(', ')}`;
    })
    .join('; ');
}
