/** The figures of trust regions: KL of turns, certificates, and the cost of a swap. */

import { shockRows } from '../../src/domain/run.ts';
import { formatRank, SINGLE_RANKS, listShownRanks, type ShownRank } from '../../src/domain/step.ts';
import { BINS, listComparedSteps, buildKlHistogram, listTurnKls } from '../../src/domain/stepRows.ts';
import { count, decimal, NOT_MEASURED, percent, plural } from '../common/format.ts';
import {
  INTERVAL_COLUMNS,
  intervalCells,
  numberCell,
  runCells,
  runColumns,
  formatShareInterval,
  textCell,
  type FigureSpec,
} from './figures.ts';
import type { ShownRun, View } from './view.ts';

const digits =
  (places: number) =>
  (value: number): string =>
    decimal(value, places);

/** Returns the figures for which a shown run has numbers. */
export function trustFigures(view: View): readonly FigureSpec[] {
  const some = (has: (run: ShownRun) => boolean): boolean => view.runs.some(has);
  return [
    ...(some((run) => countKlBins(run).length > 0) ? [KL_HISTOGRAM] : []),
    ...(some((run) => listRankShifts(run).length > 0) ? [RANK_SHIFTS] : []),
    ...(some((run) => pairComparedSteps(run).length > 0) ? [CERTIFICATES] : []),
    ...(some((run) => findShock(run) !== null) ? [SWAP_SHOCK] : []),
  ];
}

const countKlBins = ({ rows, region: { delta } }: ShownRun): ReturnType<typeof buildKlHistogram> =>
  delta === null
    ? []
    : buildKlHistogram(
        rows.flatMap(({ metrics }) => listTurnKls(metrics)),
        delta,
      );
const pairComparedSteps = ({ rows }: ShownRun): ReturnType<typeof listComparedSteps> =>
  listComparedSteps(rows.map(({ iteration: step, metrics }) => ({ step, metrics })));
const listRankShifts = ({ rows }: ShownRun): readonly ShownRank[] => listShownRanks(rows.map(({ metrics }) => metrics));
const describeRegionSide = ({ region }: ShownRank): string => (region === 'inside' ? 'in the region' : 'out of it');
const formatRankPoints = (value: number): string => `${decimal(100 * value, 3)} points`;
const findShock = ({ region: { replacement } }: ShownRun) => replacement?.shock ?? null;

const KL_HISTOGRAM: FigureSpec = {
  id: 'kl-histogram',
  title: 'How far turns moved',
  note: 'Number of turns by their KL, after going back, in tenths of the radius delta. Turns of more than one and a half radii are counted in the 15th tenth. The vertical line is the radius.',
  x: () => ({ title: 'KL of a turn, in tenths of the radius', format: count }),
  yAxis: 'turns',
  formatY: count,
  always: [0],
  boxes: false,
  smooth: false,
  nothing: 'No turn has been measured yet.',
  lines: (view) =>
    view.runs.map((run, look) => {
      const bins = countKlBins(run);
      const { delta } = run.region;
      const most = Math.max(1, ...bins.map((bin) => bin.count));
      return {
        label: run.tag,
        name: run.record.title,
        look,
        joined: true,
        stepped: true as const,
        points: bins.map(({ low, high, count: turns }, place) => ({
          // The middle of the bin.
          x: place + 0.5,
          y: turns,
          low: null,
          high: null,
          box: null,
          target: { kind: 'run', run: run.record.id },
          words: () => [`${decimal(low, 4)} to ${decimal(high, 4)} nats per message`, plural(turns, 'turn')],
        })),
        ...(delta !== null &&
          bins.length > 0 && {
            front: [
              { x: BINS, y: most },
              { x: BINS, y: 0 },
            ],
          }),
      };
    }),
  table: (view) => ({
    columns: [...runColumns(view), ...['From', 'To', 'Turns', 'Radius'].map((name) => ({ name, numeric: true }))],
    rows: view.runs.flatMap((run) =>
      countKlBins(run).map(({ low, high, count: turns }) => ({
        cells: [
          ...runCells(view, run),
          numberCell(low, digits(5)),
          numberCell(high, digits(5)),
          numberCell(turns, count),
          numberCell(run.region.delta, digits(4)),
        ],
        target: { kind: 'run', run: run.record.id },
      })),
    ),
  }),
  latest: (view) => `${count(view.runs[0] === undefined ? 0 : countMeasuredTurns(view.runs[0]))} turns`,
};

const countMeasuredTurns = (run: ShownRun): number => countKlBins(run).reduce((sum, bin) => sum + bin.count, 0);

const RANK_SHIFTS: FigureSpec = {
  id: 'rank-shifts',
  title: 'Probabilities by rank',
  note: 'Change of the probability of tokens by an update, by their rank before it: the mean over tokens and updates. Updates in the region come first; right of the vertical line are those out of it, as they were before they went back. The last point of each side is all other tokens together.',
  x: () => ({
    title: 'rank before the update, in the region, then out of it',
    format: (x) => (x <= SINGLE_RANKS + 1 ? formatRankTick(x) : formatRankTick(x - OUTSIDE)),
  }),
  yAxis: 'change, percentage points',
  formatY: (value) => decimal(100 * value, 3),
  always: [0],
  boxes: false,
  smooth: false,
  nothing: 'No update has been measured by rank yet.',
  lines: (view) =>
    view.runs.map((run, look) => {
      const ranks = listRankShifts(run);
      const changes = ranks.map(({ before, after }) => after - before);
      return {
        label: run.tag,
        name: run.record.title,
        look,
        joined: false,
        points: ranks.map((shown) => ({
          x: shown.region === 'inside' ? shown.rank : shown.rank + OUTSIDE,
          y: shown.after - shown.before,
          low: null,
          high: null,
          box: null,
          target: { kind: 'run', run: run.record.id },
          words: () => [
            `${formatRank(shown.rank)} ${describeRegionSide(shown)}`,
            `${percent(shown.before)} before, ${percent(shown.after)} after`,
            formatRankPoints(shown.after - shown.before),
            plural(shown.updates, 'update'),
          ],
        })),
        ...(ranks.some(({ region }) => region === 'outside') && {
          front: [
            { x: OUTSIDE, y: Math.min(0, ...changes) },
            { x: OUTSIDE, y: Math.max(0, ...changes) },
            // Back to the zero line, which the front follows to the right.
            { x: OUTSIDE, y: 0 },
          ],
        }),
      };
    }),
  table: (view) => ({
    columns: [
      ...runColumns(view),
      ...['Updates', 'Tokens'].map((name) => ({ name, numeric: false })),
      ...['Before', 'After', 'Number of updates'].map((name) => ({ name, numeric: true })),
    ],
    rows: view.runs.flatMap((run) =>
      listRankShifts(run).map((shown) => ({
        cells: [
          ...runCells(view, run),
          textCell(describeRegionSide(shown)),
          textCell(formatRank(shown.rank)),
          numberCell(shown.before, digits(5)),
          numberCell(shown.after, digits(5)),
          numberCell(shown.updates, count),
        ],
        target: { kind: 'run', run: run.record.id },
      })),
    ),
  }),
  latest: (view) => {
    const first = view.runs[0] === undefined ? undefined : listRankShifts(view.runs[0])[0];
    return first === undefined ? NOT_MEASURED : `rank 1: ${formatRankPoints(first.after - first.before)}`;
  },
};

/** Offset of updates outside the region, which are drawn to the right of those inside. */
const OUTSIDE = SINGLE_RANKS + 2;
const formatRankTick = (rank: number): string =>
  rank > 0 && rank <= SINGLE_RANKS ? count(rank) : rank > 0 ? 'rest' : '';

const CERTIFICATES: FigureSpec = {
  id: 'certificates',
  title: 'Certificate against measured improvement',
  note: 'A diagnostic, one point for each step with both. A certificate above what was measured is a violation, or chance; a vacuous one says no more than the bound on advantages.',
  x: () => ({ title: 'measured improvement, hundredths of the return', format: count }),
  yAxis: 'certificate',
  formatY: digits(2),
  always: [0],
  boxes: false,
  smooth: false,
  nothing: 'No step has both a certificate and a measured improvement.',
  lines: (view) =>
    view.runs.map((run, look) => ({
      label: run.tag,
      name: run.record.title,
      look,
      joined: false,
      points: pairComparedSteps(run)
        .toSorted((one, other) => one.measured - other.measured)
        .map(({ step, certificate, measured, vacuous }) => ({
          x: 100 * measured,
          y: certificate,
          low: null,
          high: null,
          box: null,
          target: { kind: 'round', run: run.record.id, phase: 'train', iteration: step },
          words: () => [
            `step ${count(step)}`,
            `certificate ${decimal(certificate, 3)}${vacuous ? ' (vacuous)' : ''}`,
            `measured ${decimal(measured, 3)}`,
            ...(certificate > measured ? ['above what was measured'] : []),
          ],
          ...(vacuous && { look: -1 }),
        })),
    })),
  table: (view) => ({
    columns: [
      ...runColumns(view),
      ...['Step', 'Certificate', 'Measured improvement'].map((name) => ({ name, numeric: true })),
      ...['Vacuous', 'Above measured'].map((name) => ({ name, numeric: false })),
    ],
    rows: view.runs.flatMap((run) =>
      pairComparedSteps(run).map(({ step, certificate, measured, vacuous }) => ({
        cells: [
          ...runCells(view, run),
          numberCell(step, count),
          numberCell(certificate, digits(4)),
          numberCell(measured, digits(4)),
          textCell(vacuous ? 'yes' : 'no'),
          textCell(certificate > measured ? 'yes' : 'no'),
        ],
        target: { kind: 'round', run: run.record.id, phase: 'train', iteration: step },
      })),
    ),
  }),
  latest: (view) => {
    const pairs = view.runs[0] === undefined ? [] : pairComparedSteps(view.runs[0]);
    const above = pairs.filter(({ certificate, measured }) => certificate > measured).length;
    return pairs.length === 0 ? NOT_MEASURED : `${count(above)} of ${count(pairs.length)} above`;
  },
};

const SWAP_SHOCK: FigureSpec = {
  id: 'swap-shock',
  title: 'What replacing a policy cost',
  note:
    'Greedy accuracy on the held-out questions before the run began: 1 with the old policy, 2 after ' +
    'a direct swap, 3 after stage 0. Vertical lines show the 95 % interval.',
  x: () => ({ title: '1 before, 2 direct swap, 3 stage 0', format: count }),
  yAxis: 'accuracy',
  formatY: percent,
  always: [0],
  boxes: false,
  smooth: false,
  nothing: 'No shown run replaced a policy.',
  lines: (view) =>
    view.runs.map((run, look) => ({
      label: run.tag,
      name: run.record.title,
      look,
      joined: true,
      points: listShockRows(run).flatMap(({ label, value }, place) =>
        value === null
          ? []
          : [
              {
                x: place + 1,
                y: value.value,
                low: value.low,
                high: value.high,
                box: null,
                target: { kind: 'run', run: run.record.id } as const,
                words: () => [label, formatShareInterval(value), `n ${count(value.n)}`],
              },
            ],
      ),
    })),
  table: (view) => ({
    columns: [...runColumns(view), { name: 'Team', numeric: false }, ...INTERVAL_COLUMNS],
    rows: view.runs.flatMap((run) =>
      listShockRows(run).map(({ label, value }) => ({
        cells: [...runCells(view, run), textCell(label), ...intervalCells(value)],
        target: { kind: 'run', run: run.record.id },
      })),
    ),
  }),
  latest: (view) => {
    const change = view.runs[0] === undefined ? null : (findShock(view.runs[0])?.directChange ?? null);
    return change === null ? NOT_MEASURED : `${decimal(100 * change.value, 1)} points`;
  },
};

function listShockRows(run: ShownRun): ReturnType<typeof shockRows> {
  const shock = findShock(run);
  return shock === null ? [] : shockRows(shock);
}
