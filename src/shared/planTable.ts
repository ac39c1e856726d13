/** A run's plan as aligned lines: what the command line prints and the editor shows. */
import type { MemoryPlace, RunPlan, WorkCost } from './models.ts';
import { oneLine } from './oneLine.ts';
import { bytesWords } from './sizes.ts';

const PLACES: Readonly<Record<MemoryPlace, string>> = { host: 'host', device: 'accelerator' };
const whole = (value: number): string => value.toLocaleString('en-US');

/** Items and totals, advice, then what the run may cost. */
export function planTable({ memory, budget }: RunPlan): string {
  const items = memory.items.map(({ name, place, bytes }) => row(name, PLACES[place], bytesWords(bytes)));
  const totals = memory.totals.map(({ place, bytes, available, fits }) => {
    const verdict = fits === null ? 'how much there is, is not known' : `${fits ? 'fits' : 'DOES NOT FIT'} in ${bytesWords(available ?? 0)}`;
    return `${row('together', PLACES[place], bytesWords(bytes))}  ${verdict}`;
  });
  const roles = Object.keys(budget.total.decisions);
  const columns = ['', 'evaluator calls', ...roles.map((role) => oneLine(role, 20)), 'new tokens'];
  const cells = (name: string, { evaluatorCalls, decisions, tokens }: WorkCost): string[] => [name, whole(evaluatorCalls), ...roles.map((role) => whole(decisions[role] ?? 0)), whole(tokens)];
  const table = [columns, cells('a step', budget.perStep), cells('an evaluation', budget.perEvaluation), cells(`in all, ${String(budget.steps)} steps`, budget.total)];
  const widths = columns.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const aligned = table.map((line) => line.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '));
  return ['Memory, at most', ...items, ...totals, ...memory.advice, '', 'Cost, at most', ...aligned.map((line) => `  ${line}`)].join('\n');
}

const row = (name: string, place: string, bytes: string): string => `  ${name.padEnd(40)}${place.padEnd(12)}${bytes.padStart(9)}`;
