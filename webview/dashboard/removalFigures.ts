/** The figures of runs that credit by removal: credits by outcome, and the contribution of each role. */

import type { OutcomeCredits, Spread } from '../../src/domain/stepRows.ts';
import { count, decimal, NOT_MEASURED, formatPercent1 } from '../common/format.ts';
import type { Line, LinePoint } from './chart/lines.ts';
import {
  axisCells,
  axisColumns,
  describeAxisValue,
  digits3,
  numberCell,
  overTraining,
  runCells,
  runColumns,
  signed3,
  textCell,
  type FigureSpec,
} from './figures.ts';
import { pairingFigures } from './pairingFigure.ts';
import { placeOnAxis, type ShownRun, type View } from './view.ts';

/** Returns the figures for which the shown runs have numbers. */
export function removalFigures(view: View): readonly FigureSpec[] {
  const roles = [...new Set(view.snapshot.removal?.outcomes.map(({ role }) => role))];
  const contributed = view.runs.some(({ rows }) => rows.some(({ contributions = [] }) => contributions.length > 0));
  return [...roles.map(outcomeFigure), ...(contributed ? [CONTRIBUTIONS] : []), ...pairingFigures(view)];
}

/** Distance of boxes from the tick of their outcome, in ticks. */
const APART = 0.17;

interface Box {
  readonly label: string;
  readonly words: string;
  readonly spread: Spread | null;
  readonly look: 0 | 1;
}

/** Returns two boxes for each outcome: the credits used, and those by a shared return. */
const buildBoxes = (view: View, role: string): readonly Box[] =>
  (view.snapshot.removal?.outcomes ?? [])
    .filter((one) => one.role === role)
    .flatMap((one) => [
      {
        label: `${formatOutcomePair(one)}, learned from`,
        words: `${describeOutcomePair(one)}: learned from`,
        spread: one.credits,
        look: 0,
      },
      {
        label: `${formatOutcomePair(one)}, shared`,
        words: `${describeOutcomePair(one)}: shared return`,
        spread: one.shared,
        look: 1,
      },
    ]);

const formatOutcomePair = ({ joint, solo }: Pick<OutcomeCredits, 'joint' | 'solo'>): string => `(${joint}, ${solo})`;
const describeOutcomePair = ({ joint, solo }: OutcomeCredits): string =>
  `${joint === 1 ? 'right' : 'wrong'} with the thinker, ${solo === 1 ? 'right' : 'wrong'} without it`;

/** Creates the figure of a role's credits by outcome, beside those by a shared return. */
export function outcomeFigure(role: string): FigureSpec {
  const shown = (view: View): string | null => {
    const removal = view.snapshot.removal;
    return removal === null ? null : `${formatPercent1(removal.without)} → ${formatPercent1(removal.team)}`;
  };
  const labels = ['(1, 1)', '(1, 0)', '(0, 1)', '(0, 0)'];
  return {
    id: `outcome ${role}`,
    title: `Credit of ${role} by outcome`,
    note: 'Credits by the return with the thinker and the return of the solo rollout of the same number, over the whole run: (1, 0) is right with the thinker and wrong without it. The right box of each pair is the credit that a shared return, scaled within the question, would give. The header has the mean return without and with the thinker.',
    x: () => ({ title: '(with, without the thinker)', format: (value) => labels[value - 1] ?? '' }),
    yAxis: 'training credit',
    formatY: (value) => decimal(value, 2),
    always: [0],
    boxes: true,
    ownAxis: true,
    smooth: false,
    nothing: 'No rollout has a return of 0 or 1 with and without the thinker yet.',
    lines: (view): readonly Line[] => [
      {
        label: '',
        name: role,
        look: 0,
        joined: true,
        points: buildBoxes(view, role).flatMap(({ words, spread, look }, index): LinePoint[] =>
          spread === null
            ? []
            : [
                {
                  // The two boxes of an outcome are on both sides of its tick.
                  x: Math.floor(index / 2) + (look === 0 ? 1 - APART : 1 + APART),
                  y: spread.middle,
                  low: null,
                  high: null,
                  box: spread,
                  look,
                  target: { kind: 'run', run: view.snapshot.run.id },
                  words: () => [
                    words,
                    `median ${signed3(spread.middle)}`,
                    `quartiles ${signed3(spread.lower)} and ${signed3(spread.upper)}`,
                    `n ${count(spread.n)}`,
                  ],
                },
              ],
        ),
      },
    ],
    table: (view) => ({
      columns: [
        { name: 'Outcome', numeric: false },
        ...['n', 'Lowest', 'Lower quartile', 'Median', 'Upper quartile', 'Highest'].map((name) => ({
          name,
          numeric: true,
        })),
      ],
      rows: buildBoxes(view, role).map(({ label, spread }) => ({
        cells: [
          textCell(label),
          numberCell(spread?.n ?? 0, count),
          ...[spread?.low, spread?.lower, spread?.middle, spread?.upper, spread?.high].map((value) =>
            numberCell(value, signed3),
          ),
        ],
        target: { kind: 'run', run: view.snapshot.run.id },
      })),
    }),
    latest: (view) => shown(view) ?? NOT_MEASURED,
  };
}

/** Returns the run, role and label of each line. */
function listContributingRoles(
  view: View,
): readonly { readonly run: ShownRun; readonly role: string; readonly label: string }[] {
  return view.runs.flatMap((run) =>
    (run.rows.at(-1)?.contributions ?? []).map(({ role }) => ({
      run,
      role,
      label: view.runs.length > 1 ? `${run.tag} ${role}` : role,
    })),
  );
}

const findContribution = (
  { contributions = [] }: ShownRun['rows'][number],
  role: string,
): { readonly mean: number; readonly deviation: number } | undefined => contributions.find((one) => one.role === role);

/** The figure of contributions, with one line for each voter or for the thinker. */
export const CONTRIBUTIONS: FigureSpec = {
  id: 'contribution by role',
  title: 'Contribution by role',
  note:
    'The return with the role minus the return without it: the running mean that the method keeps. ' +
    'The table has its deviation.',
  x: overTraining,
  yAxis: 'return',
  formatY: digits3,
  always: [-0.1, 0.1],
  boxes: false,
  smooth: false,
  nothing: 'No step has measured this yet.',
  lines: (view, axis = 'step') =>
    listContributingRoles(view).map(({ run, role, label }, look) => ({
      label,
      name: view.runs.length > 1 ? run.record.title : '',
      look,
      joined: true,
      points: run.rows.flatMap((row): LinePoint[] => {
        const found = findContribution(row, role);
        const x = placeOnAxis(run, row.iteration, axis);
        return found === undefined || x === null
          ? []
          : [
              {
                x,
                y: found.mean,
                low: null,
                high: null,
                box: null,
                target: { kind: 'round', run: run.record.id, phase: 'train', iteration: row.iteration },
                words: () => [
                  `step ${count(row.iteration)}`,
                  ...describeAxisValue(axis, x),
                  `contribution ${signed3(found.mean)}`,
                  `deviation ${digits3(found.deviation)}`,
                ],
              },
            ];
      }),
    })),
  table: (view, axis = 'step') => ({
    columns: [
      ...runColumns(view),
      { name: 'Role', numeric: false },
      { name: 'Step', numeric: true },
      ...axisColumns(axis),
      ...['Contribution', 'Deviation'].map((name) => ({ name, numeric: true })),
    ],
    rows: listContributingRoles(view).flatMap(({ run, role }) =>
      run.rows.map((row) => ({
        cells: [
          ...runCells(view, run),
          textCell(role),
          numberCell(row.iteration, count),
          ...axisCells(axis, placeOnAxis(run, row.iteration, axis)),
          numberCell(findContribution(row, role)?.mean, signed3),
          numberCell(findContribution(row, role)?.deviation, digits3),
        ],
        target: { kind: 'round', run: run.record.id, phase: 'train', iteration: row.iteration },
      })),
    ),
  }),
  latest: (view) => {
    const means = (view.runs[0]?.rows.at(-1)?.contributions ?? []).map(({ mean }) => mean);
    const [low, high] = [Math.min(...means), Math.max(...means)];
    return means.length === 0
      ? NOT_MEASURED
      : means.length === 1
        ? signed3(low)
        : `${signed3(low)} to ${signed3(high)}`;
  },
};
