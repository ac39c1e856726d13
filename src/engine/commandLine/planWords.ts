/** Formats model facts, plans and self-tests for the terminal. */

import type { PredictedTree, RhoReport } from '../../domain/credit.ts';
import { describeCost } from '../../shared/endpointCost.ts';
import type { MemoryPlace, ModelFacts, RunPlan, SelfTestStep, WorkCost } from '../../shared/models.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatBytes, formatCount } from '../../shared/text/sizes.ts';
import { formatEstimate } from '../../shared/text/times.ts';

const LONGEST = 200;
const PLACES: Readonly<Record<MemoryPlace, string>> = { host: 'host', device: 'accelerator' };
const formatWhole = (value: number): string => value.toLocaleString('en-US');

/** Formats facts as names and values, one in each line. */
export function formatFacts(facts: ModelFacts): string {
  const { precisions, files, chatTemplate, reasons } = facts;
  const rows: readonly (readonly [string, string])[] = [
    ['family', facts.family],
    [
      'parameters',
      `${formatCount(facts.parameters)} (${precisions.map(({ dtype, parameters }) => (precisions.length === 1 ? dtype : `${formatCount(parameters)} ${dtype}`)).join(', ')})`,
    ],
    ['weights', `${formatBytes(facts.bytes)} in ${files} ${files === 1 ? 'file' : 'files'}`],
    [
      'layers',
      `${facts.layers}, hidden size ${formatWhole(facts.hiddenSize)}, ${facts.heads} heads over ${facts.keyValueHeads} of keys and values`,
    ],
    [
      'vocabulary',
      `${formatWhole(facts.vocabularySize)} tokens, embeddings ${facts.tiedEmbeddings ? 'tied' : 'not tied'}`,
    ],
    [
      'positions',
      `${formatWhole(facts.maxPositions)}${facts.ropeScaling === null ? '' : `, scaled: ${facts.ropeScaling}`}`,
    ],
    [
      'chat template',
      chatTemplate === null ? 'none' : `${chatTemplate}${reasons ? ', can reason; off in runs unless enabled' : ''}`,
    ],
    ['messages end with', facts.endTokens.map((token) => toOneLine(token, 40)).join(', ')],
  ];
  return [facts.folder, ...rows.map(([name, value]) => `  ${name.padEnd(19)}${toOneLine(value, LONGEST)}`)].join('\n');
}

/** Formats one step of a self-test: its name, its result, and its time. */
export const formatSelfTestStep = ({ name, passed, seconds, detail }: SelfTestStep): string =>
  `  ${passed ? 'passed' : 'FAILED'}  ${name.padEnd(15)}${toOneLine(detail, LONGEST)} (${seconds.toFixed(1)} s)`;

/** `36 steps, 7 evaluations`. */
const formatAmounts = ({ steps, evaluations }: RunPlan['budget']): string =>
  [[steps, 'step'] as const, [evaluations, 'evaluation'] as const]
    .map(([many, one]) => `${formatWhole(many)} ${one}${many === 1 ? '' : 's'}`)
    .join(', ');

/** Formats memory items and totals, advice, then the run's cost and time. */
export function formatPlan({ memory, budget, seconds }: RunPlan): string {
  const items = memory.items.map(({ name, place, bytes }) => formatMemoryRow(name, PLACES[place], formatBytes(bytes)));
  const totals = memory.totals.map(({ place, bytes, available, fits }) => {
    const verdict =
      fits === null
        ? 'how much is available is unknown'
        : `${fits ? 'fits' : 'DOES NOT FIT'} in ${formatBytes(available ?? 0)}`;
    return `${formatMemoryRow('together', PLACES[place], formatBytes(bytes))}  ${verdict}`;
  });
  const roles = Object.keys(budget.total.decisions);
  const columns = ['', 'evaluator calls', ...roles.map((role) => toOneLine(role, 20)), 'new tokens'];
  const cells = (name: string, { evaluatorCalls, decisions, tokens }: WorkCost): string[] => [
    name,
    formatWhole(evaluatorCalls),
    ...roles.map((role) => formatWhole(decisions[role] ?? 0)),
    formatWhole(tokens),
  ];
  const table = [
    columns,
    cells('a step', budget.perStep),
    cells('an evaluation', budget.perEvaluation),
    ...(budget.stage0 === undefined ? [] : [cells('stage 0 and the swap', budget.stage0)]),
    cells(`total, ${formatAmounts(budget)}`, budget.total),
  ];
  const widths = columns.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const aligned = table.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [
    'Memory, at most',
    ...items,
    ...totals,
    ...memory.advice,
    '',
    'Cost, at most',
    ...aligned.map((line) => `  ${line}`),
    ...(budget.tree === undefined ? [] : [`  ${budget.tree}`]),
    ...(budget.votes === undefined
      ? []
      : [`  Up to ${formatWhole(budget.votes)} calls of a step score single answers of votes, each answer once.`]),
    ...(budget.endpoints ?? []).map((cost) => `  ${describeCost(cost)}`),
    '',
    `Time: ${formatEstimate(seconds)}`,
  ].join('\n');
}

/** Formats the measurements of a pilot, one line for each message. */
export function formatRho({
  questions,
  alternatives,
  replays,
  evaluatorCalls,
  fanout,
  episodes,
  messages,
  tree,
}: RhoReport): string {
  const digits = (value: number | null): string => (value === null ? '-' : value.toPrecision(3));
  const lines = [
    ['', 'variance of the return', 'rho', '95 % interval', 'gradient variance, C3 : MAGRPO'],
    ...messages.map(({ role, variance, rho, varianceRatio }) => [
      toOneLine(role, 20),
      digits(variance),
      digits(rho?.value ?? null),
      rho === null || rho.low === null || rho.high === null ? '-' : `[${digits(rho.low)}, ${digits(rho.high)}]`,
      digits(varianceRatio),
    ]),
  ];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  const aligned = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [
    `What each message decides, on ${formatWhole(questions)} questions with ${formatWhole(alternatives)} x ${formatWhole(replays)} replays (${formatWhole(evaluatorCalls)} evaluator calls)`,
    ...aligned.map((line) => `  ${line}`),
    `Predicted for C3 with fanout [${fanout.join(', ')}] against ${formatWhole(episodes)} whole episodes; above 1, C3 is the noisier one.`,
    ...(tree === null ? [] : [describeTree(tree, fanout)]),
  ].join('\n');
}

function describeTree({ fanout, ratio, fanoutRatio }: PredictedTree, compared: readonly number[]): string {
  const times = [
    ...(ratio === null ? [] : [`${ratio.toPrecision(3)} times that of whole episodes`]),
    ...(fanoutRatio === null ? [] : [`${fanoutRatio.toPrecision(3)} times that of fanout [${compared.join(', ')}]`]),
  ];
  const variance = times.length === 0 ? '' : `; its gradient variance, summed over roles, is ${times.join(' and ')}`;
  return `shape: auto would sample [${fanout.join(', ')}]${variance}.`;
}

const formatMemoryRow = (name: string, place: string, bytes: string): string =>
  `  ${name.padEnd(40)}${place.padEnd(12)}${bytes.padStart(9)}`;
