import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFigureWords, listMeasuresBeside, STEP_MEASURE_NAMES, STEP_MEASURES } from '../../../src/domain/step.ts';
import type { StepMeasure } from '../../../src/domain/stepMeasure.ts';
import type { ChartAxis } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { AXIS_WORDS, formatShortNumber } from '../../../webview/dashboard/chart/axes.ts';
import { formatTableAsCsv } from '../../../webview/dashboard/chart/dataTable.ts';
import {
  findExtent,
  lastPlace,
  placeAfterKey,
  nearestIndex,
  type Line,
  type LinePoint,
} from '../../../webview/dashboard/chart/lines.ts';
import { toLogLines } from '../../../webview/dashboard/chart/logScale.ts';
import { chooseLook } from '../../../webview/dashboard/chart/looks.ts';
import { decimate, spaceEvenly } from '../../../webview/dashboard/chart/plot.ts';
import {
  makeHorizontalScale,
  makeLogScale,
  formatLogTick,
  computeLogTicks,
  trimTickZeros,
} from '../../../webview/dashboard/chart/scales.ts';
import { computeTrailingMeans, chooseWindow } from '../../../webview/dashboard/chart/smoothing.ts';
import { ChosenRuns } from '../../../webview/dashboard/chosenRuns.ts';
import { Hold } from '../../../webview/dashboard/hold.ts';
import { accuracyFigure, paretoFigure, findParetoFront, listTasks } from '../../../webview/dashboard/outcomeFigures.ts';
import {
  costFigures,
  creditFigure,
  optimizationFigures,
  returnFigure,
  listCreditedRoles,
  varianceFigure,
} from '../../../webview/dashboard/stepFigures.ts';
import {
  placeOnAxis,
  cutView,
  keepRuns,
  toPlainTitle,
  countStepsByRun,
  countNewSteps,
  addStepWindow,
} from '../../../webview/dashboard/view.ts';
import { interval, outcome, record, row, SUMS, view } from './dashboardFixture.ts';

const point = (x: number, y = 0): LinePoint => ({
  x,
  y,
  low: null,
  high: null,
  box: null,
  target: { kind: 'run', run: 'r' },
  words: () => [],
});
const line = (...xs: readonly number[]): Line => ({
  label: '',
  name: '',
  look: 0,
  joined: true,
  points: xs.map((x) => point(x)),
});

test('thinning keeps the ends and every peak, in order, within its bound', () => {
  const values = Array.from({ length: 2000 }, (_, index) => Math.sin(index / 40));
  values[777] = 9;
  values[1234] = -9;
  const kept = decimate(values, 240);
  assert.ok(kept.length <= 240);
  assert.deepEqual([kept[0], kept.at(-1)], [0, 1999]);
  assert.ok(kept.includes(777) && kept.includes(1234));
  assert.ok(kept.every((index, place) => place === 0 || index > (kept[place - 1] ?? 0)));
  assert.deepEqual(decimate([3, 1, 2], 240), [0, 1, 2]);
  assert.deepEqual(decimate([], 240), []);
  for (const length of [1, 39, 40, 41, 79, 2000]) {
    const places = spaceEvenly(length, 40);
    assert.ok(places.length <= 40 && places.at(-1) === length - 1, String(length));
    assert.ok(
      places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) === Math.ceil(length / 40)),
    );
  }
  assert.deepEqual(spaceEvenly(0, 40), []);
});

test('a held view stays, counts what waits, and continues with the newest when nothing holds it', () => {
  const hold = new Hold<number>();
  assert.equal(hold.offer(1), true);
  hold.hold('point');
  hold.hold('paused');
  assert.equal(hold.offer(2), false);
  assert.equal(hold.offer(3), false);
  assert.deepEqual([hold.shown, hold.waiting], [1, 3]);
  assert.equal(hold.release('point'), false, 'still paused');
  assert.equal(hold.shown, 1);
  assert.equal(hold.release('paused'), true);
  assert.deepEqual([hold.shown, hold.waiting, hold.held], [3, null, false]);
  hold.hold('paused');
  assert.equal(hold.offer(4, true), true, 'what was asked for is shown at once');
  assert.equal(hold.release('paused'), false, 'nothing waited');
  const first = new Hold<number>();
  first.hold('paused');
  assert.equal(first.offer(1), true, 'there is nothing yet to hold');
});

test('keys move along the points of a line and to the nearest of the next, and stop at the ends', () => {
  const lines = [line(1, 2, 3, 50), line(), line(2, 49)];
  const from = { line: 0, index: 1 };
  assert.deepEqual(placeAfterKey(lines, from, 'ArrowRight'), { line: 0, index: 2 });
  assert.deepEqual(placeAfterKey(lines, { line: 0, index: 3 }, 'ArrowRight'), { line: 0, index: 3 });
  assert.deepEqual(placeAfterKey(lines, { line: 0, index: 0 }, 'ArrowLeft'), { line: 0, index: 0 });
  assert.deepEqual(placeAfterKey(lines, from, 'End'), { line: 0, index: 3 });
  assert.deepEqual(placeAfterKey(lines, from, 'Home'), { line: 0, index: 0 });
  assert.deepEqual(placeAfterKey(lines, from, 'PageDown'), { line: 0, index: 3 });
  assert.deepEqual(
    placeAfterKey(lines, { line: 0, index: 3 }, 'ArrowDown'),
    { line: 2, index: 1 },
    'an empty line is passed over',
  );
  assert.deepEqual(placeAfterKey(lines, { line: 2, index: 0 }, 'ArrowDown'), { line: 2, index: 0 });
  assert.deepEqual(placeAfterKey(lines, { line: 2, index: 1 }, 'ArrowUp'), { line: 0, index: 3 });
  assert.equal(placeAfterKey(lines, from, 'Tab'), undefined);
  assert.deepEqual(lastPlace([line(), line(4, 5)]), { line: 1, index: 1 });
  assert.equal(lastPlace([line()]), null);
  assert.deepEqual(
    [-9, 1.4, 1.6, 26, 27, 99].map((x) => nearestIndex(lines[0]?.points ?? [], x)),
    [0, 0, 1, 2, 3, 3],
  );
  assert.equal(nearestIndex([], 1), -1);
});

test('a scale holds everything that is drawn and what it shall always show', () => {
  assert.deepEqual(
    findExtent(
      [{ ...line(), points: [{ ...point(1, 0.5), low: 0.2, high: 0.9 }] }],
      ({ y, low, high }) => [y, low, high],
      [0],
    ),
    { low: 0, high: 0.9 },
  );
  assert.equal(
    findExtent([line()], ({ y }) => [y], [0, 1]),
    null,
  );
});

test('a chart leaves out what a step did not measure; its table and its copy say so', () => {
  const shown = view([['a', [row(1), row(2, { kl: Number.NaN }), row(3)]]]);
  const kl = optimizationFigures(shown).find(({ id }) => id === 'kl');
  assert.ok(kl);
  assert.deepEqual(
    kl.lines(shown)[0]?.points.map(({ x }) => x),
    [1, 3],
  );
  assert.deepEqual(
    kl.table(shown).rows.map(({ cells }) => cells.map(({ text }) => text)),
    [
      ['1', '0.00100'],
      ['2', 'not measured'],
      ['3', '0.00100'],
    ],
  );
  assert.equal(formatTableAsCsv(kl.table(shown)), 'Step,KL\r\n1,0.001\r\n2,\r\n3,0.001\r\n');
  assert.equal(kl.latest(view([['a', []]])), 'not measured');
});

test('the figures of training are those that the measures of a step declare', () => {
  const shown = view([['a', [row(1), row(2, { valueLoss: 0.5 })]]]);
  const figures = [returnFigure(), ...optimizationFigures(shown)];
  assert.deepEqual(
    figures.map(({ id, title, yAxis, always }) => [id, title, yAxis, always]),
    [
      ['return', 'Mean return', 'return', [0, 1]],
      ['kl', 'KL to the starting policy', 'nats per token', [0, 0.001]],
      ['clip', 'Clip fraction', 'share of tokens', [0, 0.01]],
      ['loss', 'Loss', 'loss', []],
      ['gradient', 'Gradient norm', 'norm', [0]],
    ],
  );
  const loss = figures.find(({ id }) => id === 'loss')?.table(shown);
  assert.deepEqual(
    loss?.columns.map(({ name }) => name),
    ['Step', 'Loss', 'Loss of the value head', 'Learning rate'],
  );
  assert.deepEqual(
    loss.rows.map(({ cells }) => cells[2]?.text),
    ['not measured', '0.5000'],
  );
  assert.equal(
    new Set(STEP_MEASURE_NAMES.map((name) => findFigureWords(name)?.id ?? name)).size,
    STEP_MEASURE_NAMES.length,
  );
  const listed = STEP_MEASURE_NAMES.flatMap(listMeasuresBeside);
  const beside = STEP_MEASURE_NAMES.filter((name) => {
    const { figure }: StepMeasure = STEP_MEASURES[name];
    return figure !== null && 'beside' in figure;
  });
  assert.deepEqual(listed, beside, 'each is listed with a figure that there is');
});

test('levels of the ladder by turn are drawn where a run has them', () => {
  const titles = (steps: ReturnType<typeof row>[]): string[] =>
    optimizationFigures(view([['a', steps]]))
      .map(({ title }) => title)
      .filter((title) => title.includes('turn'));
  assert.deepEqual(titles([row(1), row(2)]), []);
  const levels = { turn1Total: 0.5, turn2Syntax: 0.25 };
  assert.deepEqual(titles([row(1), row(2, levels)]), ['Normalized total, turn 1', 'Syntax, turn 2']);
});

test('pass@1 of a turn is drawn; its table lists every k that a run has measured', () => {
  const steps = [row(1, { turn2PassAt1: 0.25, turn2PassAt4: 0.75 }), row(2, { turn2PassAt1: 0.5 })];
  const shown = view([['a', steps]]);
  const figure = optimizationFigures(shown).find(({ title }) => title === 'All tests passed, turn 2');
  assert.deepEqual(
    figure?.lines(shown)[0]?.points.map(({ y }) => y),
    [0.25, 0.5],
  );
  const { columns, rows } = figure.table(shown);
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['Step', 'pass@1, turn 2', 'pass@4, turn 2'],
  );
  assert.deepEqual(
    rows.map(({ cells }) => cells[2]?.text),
    ['0.750', 'not measured'],
  );
});

test('a step costs what its tokens were; shares are of what there was', () => {
  const shown = view([['a', [row(4)]]]);
  const drawn = Object.fromEntries(costFigures().map((figure) => [figure.id, figure.lines(shown)[0]?.points[0]?.y]));
  assert.deepEqual(drawn, { calls: 8, tokens: 240, reuse: 0.25, throughput: 20 });
  const none = view([
    [
      'a',
      [
        {
          ...row(4, { generateSeconds: 0 }),
          cost: { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 } },
        },
      ],
    ],
  ]);
  assert.deepEqual(
    costFigures()
      .filter(({ id }) => id === 'reuse' || id === 'throughput')
      .map((figure) => figure.latest(none)),
    ['not measured', 'not measured'],
  );
});

test('each role has the quartiles of its credits, and a step without credits none', () => {
  const shown = view([['a', [row(1), row(2, {}, [])]]]);
  assert.deepEqual(listCreditedRoles(shown), ['reasoner']);
  const [only, ...others] = creditFigure('reasoner').lines(shown)[0]?.points ?? [];
  assert.deepEqual([only?.y, only?.box?.lower, only?.box?.upper, others], [0, -0.25, 0.25, []]);
  assert.deepEqual(only?.words(), [
    'step 1',
    'median 0.000',
    'lower quartile \u22120.250',
    'upper quartile 0.250',
    'lowest \u22121.000',
    'highest 1.000',
    'messages 4',
  ]);
  assert.deepEqual(
    varianceFigure()
      .table(shown)
      .rows.map(({ cells }) => cells.map(({ raw }) => raw)),
    [
      [1, 0.5, 2],
      [2, null, null],
    ],
  );
});

test('a mean over steps takes those that came before, and none is taken over a short line', () => {
  assert.deepEqual(computeTrailingMeans([3, 1, 2, 6, 4], 3), [3, 2, 2, 3, 4]);
  assert.deepEqual(computeTrailingMeans([], 3), []);
  assert.deepEqual(
    [40, 120, 121, 700, 2000, 90_000].map((length) => chooseWindow('automatic', length)),
    [null, null, 5, 10, 20, 200],
  );
  assert.deepEqual([chooseWindow('none', 9999), chooseWindow('50', 3)], [null, 50]);
});

test('every point and every row of a table leads to its step; runs that are compared have letters, in the table too', () => {
  const shown = view([
    ['a', [row(1), row(2)]],
    ['b', [row(1)]],
  ]);
  const figure = returnFigure();
  assert.deepEqual(
    figure.lines(shown).map(({ label, look, points }) => [label, look, points.map(({ target }) => target)]),
    [
      ['A', 0, [1, 2].map((iteration) => ({ kind: 'round', run: 'a', phase: 'train', iteration }))],
      ['B', 1, [{ kind: 'round', run: 'b', phase: 'train', iteration: 1 }]],
    ],
  );
  const { columns, rows } = figure.table(shown);
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['Run', 'Step', 'Mean return', 'Episodes'],
  );
  assert.deepEqual(
    rows.map(({ cells, target }) => [cells[0]?.raw, cells[1]?.raw, target.run]),
    [
      ['A: Title of a', 1, 'a'],
      ['A: Title of a', 2, 'a'],
      ['B: Title of b', 1, 'b'],
    ],
  );
});

test('looks are distinguished without their colours', () => {
  const looks = [0, 1, 2, 3, 4, 5].map((index) => chooseLook(index));
  assert.equal(new Set(looks.map(({ dashes }) => dashes.join())).size, 6);
  assert.equal(new Set(looks.map(({ marker }) => marker)).size, 6);
});

test('accuracy is before and after training with its interval; what is unknown so far is not drawn', () => {
  const accuracy = { before: interval(0.5), after: interval(0.7), difference: null };
  const none = { before: null, after: null, difference: null };
  const summary = {
    run: 'a',
    method: 'c3',
    seed: 1,
    steps: 3,
    evaluatorCalls: 0,
    tokens: { prompt: 0, reused: 0, completion: 0 },
    decisions: {},
    seconds: 0,
    store: '',
    accuracy,
    passAt1: none,
  };
  const shown = view([[record('a', { summary }), []]]);
  const points = accuracyFigure('greedy').lines(shown)[0]?.points ?? [];
  assert.deepEqual(
    points.map(({ x, y, low, high, target }) => [
      x,
      y,
      low,
      high,
      target.kind === 'round' && [target.phase, target.iteration],
    ]),
    [
      [0, 0.5, 0.4, 0.6, ['evaluate', 1]],
      [3, 0.7, 0.7 - 0.1, 0.7 + 0.1, ['evaluate', 3]],
    ],
  );
  assert.deepEqual(points[0]?.words(), ['before training', '50.0 % [40.0, 60.0], n = 50']);
  assert.equal(accuracyFigure('greedy').latest(shown), '70.0 %');
  assert.deepEqual(accuracyFigure('sampled').lines(shown)[0]?.points, []);
  assert.deepEqual(
    accuracyFigure('sampled')
      .table(shown)
      .rows.map(({ cells }) => cells[2]?.text),
    ['not measured', 'not measured'],
  );
});

test('the Pareto front holds what no other run beats, equals among them', () => {
  const [cheap, good, beaten, same, worse] = [
    outcome('cheap', 0, 0.5),
    outcome('good', 100, 0.8),
    outcome('beaten', 100, 0.7),
    outcome('same', 100, 0.8),
    outcome('worse', 200, 0.8),
  ];
  assert.deepEqual(
    findParetoFront([worse, good, beaten, same, cheap]).map(({ run }) => run),
    ['cheap', 'good', 'same'],
  );
  assert.deepEqual(findParetoFront([]), []);
  const shown = view([['good', []]], [worse, good, cheap]);
  const figure = paretoFigure(SUMS);
  const points = figure.lines(shown)[0]?.points ?? [];
  assert.deepEqual(
    points.map(({ x, look, label, target }) => [x, look, label, target]),
    [
      [0, -1, 'c3, seed 1', { kind: 'run', run: 'cheap' }],
      [100, 0, 'A', { kind: 'run', run: 'good' }],
      [200, -1, '', { kind: 'run', run: 'worse' }],
    ],
  );
  assert.deepEqual(
    figure.table(shown).rows.map(({ cells }) => [cells[0]?.raw, cells.at(-1)?.raw]),
    [
      ['Title of cheap', 'yes'],
      ['A: Title of good', 'yes'],
      ['Title of worse', 'no'],
    ],
  );
  assert.deepEqual([0, 830, 999, 1000, 12_345, 999_499, 999_500, 1_230_000].map(formatShortNumber), [
    '0',
    '830',
    '999',
    '1k',
    '12.3k',
    '999k',
    '1M',
    '1.23M',
  ]);
});

test('each task has a front of its own, on which no run of another task is', () => {
  const code = { key: 'code', label: 'code' };
  // The run of the other task beats every run in both: on one front it would be alone.
  const outcomes = [outcome('a', 100, 0.5), outcome('b', 300, 0.6), { ...outcome('c', 50, 0.9), task: code }];
  const shown = view([['c', []]], outcomes);
  assert.deepEqual(listTasks(shown), [code, SUMS], 'that of the shown run first');
  const fronts = listTasks(shown).map((task) => paretoFigure(task).lines(shown)[0]?.front);
  assert.deepEqual(fronts, [
    [{ x: 50, y: 0.9 }],
    [
      { x: 100, y: 0.5 },
      { x: 300, y: 0.6 },
    ],
  ]);
  assert.deepEqual(
    listTasks(shown).map((task) => [paretoFigure(task).title, paretoFigure(task).latest(shown)]),
    [
      ['Accuracy against cost: code', '1 run'],
      ['Accuracy against cost: sums', '2 runs'],
    ],
  );
  assert.equal(new Set(listTasks(shown).map((task) => paretoFigure(task).id)).size, 2);
  const other = { key: 'elsewhere', label: 'sums' };
  assert.deepEqual(
    listTasks(view([], [outcome('a', 1, 0.5), { ...outcome('b', 1, 0.5), task: other }])).map(({ label }) => label),
    ['sums', 'sums (2)'],
  );
  // What is cheap in tokens may be dear in time.
  const [quick, dear] = [
    { ...outcome('quick', 200, 0.5), seconds: 1 },
    { ...outcome('dear', 100, 0.5), seconds: 9 },
  ];
  assert.deepEqual(
    (['step', 'tokens', 'calls', 'time'] as const).map((axis) =>
      findParetoFront([quick, dear], axis).map(({ run }) => run),
    ),
    [['dear'], ['dear'], ['dear'], ['quick']],
  );
  assert.deepEqual(
    paretoFigure(SUMS)
      .lines(view([], [quick, dear]), 'time')[0]
      ?.points.map(({ x }) => x),
    [1, 9],
  );
});

test('charts run over steps, or over what training cost up to them', () => {
  const shown = view([['a', [row(1), row(2, { generateSeconds: 5, trainSeconds: 2 }), row(3)]]]);
  const figure = returnFigure();
  const xs = (axis: 'step' | 'tokens' | 'calls' | 'time'): (number | undefined)[] =>
    figure.lines(shown, axis)[0]?.points.map(({ x }) => x) ?? [];
  // A step of 240 tokens, 8 calls and 2 + 1 seconds, the second one of 5 + 2.
  assert.deepEqual(
    [xs('step'), xs('tokens'), xs('calls'), xs('time')],
    [
      [1, 2, 3],
      [240, 480, 720],
      [8, 16, 24],
      [3, 10, 13],
    ],
  );
  assert.deepEqual(figure.lines(shown, 'calls')[0]?.points[1]?.words().slice(0, 2), ['step 2', '16 evaluator calls']);
  assert.deepEqual(
    figure.table(shown, 'time').columns.map(({ name }) => name),
    ['Step', 'Time so far', 'Mean return', 'Episodes'],
  );
  assert.deepEqual(
    figure.table(shown, 'time').rows[1]?.cells.map(({ text }) => text),
    ['2', '10 s', '0.500', '8'],
  );
  const [run] = shown.runs;
  assert.ok(run);
  assert.deepEqual(
    [
      placeOnAxis(run, 0, 'tokens'),
      placeOnAxis(run, 3, 'tokens'),
      placeOnAxis(run, 4, 'tokens'),
      placeOnAxis(run, 4, 'step'),
    ],
    [0, 720, null, 4],
  );
  assert.deepEqual(cutView(shown, [2]).runs[0]?.totals.length, 2);
});

test('evaluations are where the training before them ended, complete or not the run', () => {
  const evaluations = [
    { iteration: 1, step: 0, kind: 'greedy' as const, result: interval(0.25) },
    { iteration: 7, step: 2, kind: 'greedy' as const, result: interval(0.5) },
    { iteration: 8, step: 2, kind: 'sampled' as const, result: interval(0.4) },
    { iteration: 11, step: 4, kind: 'greedy' as const, result: interval(0.6) },
  ];
  const base = view([[record('a', { status: 'cancelled', plannedSteps: 9, steps: 2 }), [row(1), row(2)]]]);
  const shown = { ...base, runs: base.runs.map((run) => ({ ...run, evaluations })) };
  const figure = accuracyFigure('greedy');
  assert.deepEqual(
    figure.lines(shown)[0]?.points.map(({ x, y }) => [x, y]),
    [
      [0, 0.25],
      [2, 0.5],
      [4, 0.6],
    ],
  );
  // What step 4 cost has not arrived yet.
  assert.deepEqual(
    figure.lines(shown, 'tokens')[0]?.points.map(({ x, y }) => [x, y]),
    [
      [0, 0.25],
      [480, 0.5],
    ],
  );
  assert.deepEqual(figure.lines(shown)[0]?.points[1]?.words(), ['after step 2', '50.0 % [40.0, 60.0], n = 50']);
  assert.deepEqual(
    figure.table(shown).rows.map(({ cells }) => cells.slice(0, 3).map(({ text }) => text)),
    [
      ['before', '0', '25.0 %'],
      ['after step 2', '2', '50.0 %'],
      ['after step 4', '4', '60.0 %'],
      ['after', '9', 'not measured'],
    ],
  );
  assert.deepEqual(
    figure.table(shown).rows.map(({ target }) => target.kind === 'round' && target.iteration),
    [1, 7, 11, 3],
  );
  assert.equal(figure.latest(shown), '60.0 %');
});

test('a logarithmic axis leaves zeros out and says how many; one with negative values stays linear and says so', () => {
  const both = { x: true, y: true };
  const zeros: Line = {
    ...line(),
    points: [
      { ...point(0, 0.5), low: -0.1, high: 0.7 },
      { ...point(10, 0), low: null, high: null },
      { ...point(20, 0.25), low: -0.1, high: 0.7 },
    ],
  };
  const found = toLogLines([zeros], both);
  assert.deepEqual(found.scales, both);
  assert.deepEqual(
    found.lines[0]?.points.map(({ x, y, low, high }) => [x, y, low, high]),
    [[20, 0.25, 0, 0.7]],
  );
  assert.equal(found.note, '2 points at 0 cannot be shown on a logarithmic axis.');
  const negative = toLogLines([{ ...line(), points: [point(1, -1), point(2, 1)] }], both);
  assert.deepEqual(
    [negative.scales, negative.note, negative.lines[0]?.points.length],
    [{ x: true, y: false }, 'An axis stays linear: not all of its values are positive.', 2],
  );
  assert.deepEqual(toLogLines([zeros], { x: false, y: false }), {
    lines: [zeros],
    scales: { x: false, y: false },
    note: null,
  });
  // One point has no cost, the other no accuracy: nothing would be left.
  assert.deepEqual(toLogLines([{ ...line(), points: [point(0, 1), point(1, 0)] }], both).scales, {
    x: false,
    y: false,
  });
  assert.deepEqual(toLogLines([line()], both).note, null);
  const fronted: Line = {
    ...line(0, 5),
    points: [point(0, 0.5), point(5, 0.6)],
    front: [
      { x: 0, y: 0.5 },
      { x: 5, y: 0.6 },
    ],
  };
  assert.deepEqual(toLogLines([fronted], { x: true, y: false }).lines[0]?.front, [{ x: 5, y: 0.6 }]);
});

test('ticks name what they represent, whatever the scale', () => {
  const look = { color: '', font: { family: '', size: 11 } };
  assert.deepEqual(
    [computeLogTicks(1, 100), computeLogTicks(3, 60), computeLogTicks(0.25, 1), computeLogTicks(1, 1e12)],
    [
      [1, 2, 5, 10, 20, 50, 100],
      [5, 10, 20, 50],
      [0.4, 0.6, 0.8, 1],
      [1, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12],
    ],
  );
  for (const [low, high] of [
    [0.5, 0.7],
    [7, 8],
    [1e-7, 3e-3],
    [4321, 8640],
  ] as const) {
    const ticks = computeLogTicks(low, high);
    assert.ok(
      ticks.length >= 2 &&
        ticks.length <= 8 &&
        ticks.every((tick, index) => tick >= low && tick <= high && tick > (ticks[index - 1] ?? 0)),
      JSON.stringify(ticks),
    );
  }
  assert.deepEqual(
    [formatLogTick(2e-5, (value) => value.toFixed(2)), formatLogTick(0.02, (value) => value.toFixed(2))],
    ['2e-5', '0.02'],
  );
  const wide = makeLogScale({ low: 1, high: 1000 }, false, String, look);
  assert.deepEqual([wide.min, wide.max], [1, 1000]);
  const alone = makeLogScale({ low: 8, high: 8 }, false, String, look);
  assert.deepEqual([alone.min, alone.max], [4, 16]);
  const ticksOf = (low: number, high: number, margin: number, axis: ChartAxis, width = 280): readonly number[] => {
    const scale = { ticks: [{ value: 0 }], width };
    makeHorizontalScale({ low, high }, margin, axis, String, look).afterBuildTicks?.(scale);
    return scale.ticks.map(({ value }) => value);
  };
  assert.deepEqual(ticksOf(1, 4, 0.6, 'step'), [1, 2, 3, 4]);
  assert.deepEqual(ticksOf(1, 10, 0, 'step'), [2, 4, 6, 8, 10], 'no tick at 1 beside that at 2');
  assert.deepEqual(ticksOf(1, 10, 0, 'step', 120), [5, 10], 'fewer where there is less room');
  assert.deepEqual(ticksOf(4, 4, 0.8, 'step'), [4]);
  assert.deepEqual(ticksOf(6070, 6070, 1214, 'step'), [5000, 5500, 6000, 6500, 7000]);
  assert.deepEqual(ticksOf(0, 5000, 0, 'time'), [0, 1800, 3600]);
  assert.deepEqual(ticksOf(0, 4, 0, 'time'), [0, 2, 4]);
  assert.deepEqual([0, 20, 1800, 3600, 5400].map(AXIS_WORDS.time.tick), ['0', '20 s', '30 min', '1 h', '1 h 30 min']);
});

test('ticks of an upright scale have the digits that tell them apart', () => {
  assert.deepEqual(trimTickZeros(['0.0000', '0.1000', '0.2000']), ['0.0', '0.1', '0.2']);
  assert.deepEqual(trimTickZeros(['−0.50', '0.00', '0.50']), ['−0.5', '0.0', '0.5']);
  assert.deepEqual(trimTickZeros(['0.0 %', '80.0 %']), ['0 %', '80 %']);
  assert.deepEqual(trimTickZeros(['0.00', '0.25']), ['0.00', '0.25']);
  assert.deepEqual(trimTickZeros(['0', '1,500', '3,000']), ['0', '1,500', '3,000']);
  assert.deepEqual(trimTickZeros(['9.0 s', '12 s']), ['9.0 s', '12 s']);
});

test('a copy holds what the table holds, quoted, and nothing that a spreadsheet would run', () => {
  const shown = view([
    [record('a', { title: '=HYPERLINK("http://x")' }), [row(1)]],
    [record('b', { title: 'two\nlines, and "quotes"' }), [row(1)]],
  ]);
  assert.equal(
    formatTableAsCsv(returnFigure().table(shown)),
    'Run,Step,Mean return,Episodes\r\n"A: =HYPERLINK(""http://x"")",1,0.5,8\r\n"B: two\nlines, and ""quotes""",1,0.5,8\r\n',
  );
  const alone = {
    columns: [{ name: '@x', numeric: false }],
    rows: ['=1', '+1', '-1', '@a', '1'].map((raw) => ({
      cells: [{ raw, text: raw }],
      target: { kind: 'run', run: 'r' } as const,
    })),
  };
  assert.equal(formatTableAsCsv(alone), "'@x\r\n'=1\r\n'+1\r\n'-1\r\n'@a\r\n1\r\n");
});

test('steps that arrive go on where the page has them; others are left', () => {
  const [one, two, three] = [row(1), row(2), row(3)];
  let steps = addStepWindow(new Map(), { run: 'a', from: 0, rows: [one] });
  steps = addStepWindow(steps, { run: 'a', from: 1, rows: [two, three] });
  assert.deepEqual(steps.get('a'), [one, two, three]);
  assert.equal(addStepWindow(steps, { run: 'a', from: 1, rows: [two] }), steps, 'out of date');
  assert.equal(addStepWindow(steps, { run: 'b', from: 4, rows: [two] }), steps);
  assert.deepEqual(addStepWindow(steps, { run: 'a', from: 0, rows: [two] }).get('a'), [two]);
  assert.deepEqual([...keepRuns(steps, ['b']).keys()], []);
  assert.equal(
    countNewSteps(
      view([
        ['a', [one]],
        ['b', []],
      ]),
      view([
        ['a', [one, two, three]],
        ['b', [one]],
      ]),
    ),
    3,
  );
  assert.equal(countNewSteps(view([['a', [one]]]), view([['c', [one, two]]])), 0, 'another run is not waiting');
});

test('a paused view comes back as it was, and what came meanwhile waits', () => {
  const before = view([
    ['a', [row(1), row(2)]],
    ['b', [row(1)]],
  ]);
  assert.deepEqual(countStepsByRun(before), [2, 1]);
  const now = view([
    ['a', [row(1), row(2), row(3), row(4)]],
    ['b', [row(1), row(2)]],
  ]);
  const again = cutView(now, countStepsByRun(before));
  assert.deepEqual(
    again.runs.map(({ record, rows }) => [record.id, rows.map(({ iteration }) => iteration)]),
    [
      ['a', [1, 2]],
      ['b', [1]],
    ],
  );
  assert.equal(countNewSteps(again, now), 3);
  assert.deepEqual(countStepsByRun(cutView(now, [])), [4, 2], 'a run that was not shown then is shown whole');
});

test('runs chosen in quick succession build on each other, whatever the host says meanwhile', () => {
  const told = (...compared: readonly string[]): Parameters<ChosenRuns['receive']>[0] => ({
    run: record('shown'),
    runs: ['shown', 'a', 'b', 'c'].map((id) => ({ id, title: id, started: '', task: SUMS })),
    compared: compared.map((id) => record(id)),
  });
  const chosen = new ChosenRuns();
  chosen.receive(told('a'));
  assert.deepEqual(chosen.all, ['a']);
  assert.deepEqual(chosen.toggle('b', true), ['a', 'b']);
  chosen.receive(told('a'));
  assert.deepEqual(chosen.toggle('c', true), ['a', 'b', 'c']);
  chosen.receive(told('a', 'b'));
  assert.deepEqual(chosen.all, ['a', 'b', 'c']);
  chosen.receive(told('a', 'b', 'c'));
  chosen.receive(told());
  assert.deepEqual(chosen.all, [], 'once told back, what the host says counts');
  chosen.toggle('a', true);
  chosen.receive({ ...told('b'), run: record('c') });
  assert.deepEqual(chosen.all, ['b'], 'beside another run');
  chosen.toggle('gone', true);
  chosen.receive({ ...told('b'), run: record('c') });
  assert.deepEqual(chosen.all, ['b'], 'a run that the store has no more');
  chosen.toggle('a', true);
  chosen.failed();
  chosen.receive({ ...told('b'), run: record('c') });
  assert.deepEqual(chosen.all, ['b']);
});

test('a title in a picture cannot turn the text around it', () => {
  assert.equal(toPlainTitle('a\u202Eb\u0007c\nd'), 'abcd');
  assert.equal(toPlainTitle('x'.repeat(500)).length, 80);
});
