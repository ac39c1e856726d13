/** Formats a run's plan as a narrow document beside its configuration, with the verdict first. */

import { describeCost } from '../../shared/endpointCost.ts';
import type { MemoryPlace, MemoryTotal, RunPlan, WorkCost } from '../../shared/models.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import { describeBasis, formatSpan } from '../../shared/text/times.ts';
import { wrapWords } from '../../shared/text/wrapped.ts';

const WIDTH = 60;
/** Line width that is visible beside the configuration, in characters. */
const NARROW = 40;
const PLACES: Readonly<Record<MemoryPlace, string>> = { host: 'Main memory', device: 'Device memory' };
/** Maximum length of a role's name, in characters. */
const ROLE = 20;

/** @param name the name of the configuration's file */
export function formatPlanReport(name: string, { memory, budget, seconds }: RunPlan): string {
  const advice = memory.advice.flatMap((sentence, index) =>
    wrapWords(sentence, WIDTH).map((line, first) => `${first === 0 ? `${index + 1}.`.padEnd(4) : '    '}${line}`),
  );
  return [
    `C3 plan of ${name}`,
    ...memory.totals.flatMap((total) => ['', ...formatMemoryLines(memory, total)]),
    ...(advice.length === 0 ? [] : ['', 'What to change, most effective first', ...advice]),
    '',
    'Cost, at most',
    ...formatCostLines(budget),
    ...(budget.endpoints ?? []).flatMap((cost) => wrapWords(describeCost(cost), WIDTH).map((line) => `  ${line}`)),
    '',
    ...formatTimeLines(seconds),
    '',
  ].join('\n');
}

function formatTimeLines(seconds: RunPlan['seconds']): string[] {
  if (seconds === null) {
    return ['Time', '  unknown until the first steps are done'];
  }
  const { value, low, high } = seconds;
  return [
    `Time: about ${formatSpan(value)}`,
    ...wrapWords(`${formatSpan(low)} to ${formatSpan(high)}, ${describeBasis(seconds)}`, NARROW).map(
      (line) => `  ${line}`,
    ),
  ];
}

function formatMemoryLines({ items }: RunPlan['memory'], { place, bytes, available, fits }: MemoryTotal): string[] {
  const verdict = fits === null ? '' : fits ? ': fits' : ': DOES NOT FIT';
  const own = items.filter((item) => item.place === place).map((item) => [formatBytes(item.bytes), item.name] as const);
  const width = Math.max(0, ...own.map(([size]) => size.length));
  return [
    `${PLACES[place]}${verdict}`,
    `  at most ${formatBytes(bytes)} needed, ${available === null ? 'how much is available is unknown' : `${formatBytes(available)} available`}`,
    ...own.map(([size, item]) => `  ${size.padStart(width)}  ${item}`),
  ];
}

/** Formats one line for each count, since there can be many roles. */
function formatCostLines({
  steps,
  evaluations,
  perStep,
  perEvaluation,
  stage0,
  total,
  votes = 0,
}: RunPlan['budget']): string[] {
  const costs = [total, perStep, perEvaluation, ...(stage0 === undefined ? [] : [stage0])];
  const line = (name: string, count: (cost: WorkCost) => number): string[] => [
    name,
    ...costs.map((cost) => count(cost).toLocaleString('en')),
  ];
  const table = [
    ['', 'total', 'a step', 'an evaluation', ...(stage0 === undefined ? [] : ['stage 0'])],
    line('evaluator calls', ({ evaluatorCalls }) => evaluatorCalls),
    ...Object.keys(total.decisions).map((role) =>
      line(`${role.slice(0, ROLE)} messages`, ({ decisions }) => decisions[role] ?? 0),
    ),
    line('new tokens', ({ tokens }) => tokens),
  ];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const counted = `${steps} ${steps === 1 ? 'step' : 'steps'} and ${evaluations} ${evaluations === 1 ? 'evaluation' : 'evaluations'}`;
  const lines = table.map(
    (row) =>
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')}`,
  );
  const voted =
    votes === 0 ? [] : [`  Up to ${votes.toLocaleString('en')} calls of a step score answers of votes by themselves`];
  return [...lines, `  Total: ${counted}`, ...voted];
}
