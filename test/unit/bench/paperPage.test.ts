import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatPaperPage, type PaperReport } from '../../../src/bench/experiments/paper/paperPage.ts';
import { isOnFront, drawParetoPicture } from '../../../src/bench/experiments/paper/paperPictures.ts';
import type { MeasureName, MethodComparison, MethodRow } from '../../../src/diagnostics/methods/methodTable.ts';
import { summarizeSeeds, signFlipTest, type SeedSummary } from '../../../src/diagnostics/statistics/seeds.ts';
import type { Interval } from '../../../src/domain/credit.ts';
import { makeAmountAxis, ticks } from '../../../src/report/axis.ts';
import { spreadLabels, curvePicture } from '../../../src/report/curves.ts';
import { formatCompact, decimal, escapeText, percentage } from '../../../src/report/words.ts';

/** A summary with bounds that are given, not found. */
const summary = (
  mean: number,
  standardDeviation: number | null,
  low: number | null,
  high: number | null,
  n = 5,
): SeedSummary => ({ mean, standardDeviation, n, interval: { value: mean, low, high, n } });

const WORDS = { x: 'evaluator calls', y: 'mean return', unit: 'evaluator calls' };

const NOTHING: Record<MeasureName, null> = {
  greedy: null,
  pass1: null,
  pass10: null,
  fidelity: null,
  variance: null,
  influence: null,
  publishedInfluence: null,
  tokens: null,
  evaluatorCalls: null,
  seconds: null,
};

type Curve = MethodRow['curve'];
const step = (at: number, value: number, low: number | null, high: number | null, n = 5): Curve[number] => ({
  step: at,
  evaluatorCalls: 320 * at,
  tokens: 35_000 * at,
  meanReturn: { value, low, high, n },
});

const row = (method: string, measures: Partial<MethodRow['measures']>, more: Partial<MethodRow> = {}): MethodRow => ({
  task: 'sums',
  budget: 'calls',
  method,
  seeds: [0, 1, 2, 3, 4],
  measures: { ...NOTHING, ...measures },
  decisions: {},
  curve: [],
  ...more,
});

const C3 = row(
  'c3',
  {
    pass1: summary(0.5449, 0.0123, 0.532, 0.561),
    fidelity: summary(0.5881, 0.0142, 0.57, 0.606),
    variance: summary(0.03142, 0.0022, 0.0287, 0.0342),
    tokens: summary(1_243_000, 14_120, 1_226_000, 1_260_000),
    evaluatorCalls: summary(11_264, 0, null, null),
    seconds: summary(61.2, 1.9, 58.5, 63.1),
  },
  {
    decisions: { reasoner: summary(2816, 0, null, null), actor: summary(11_264, 0, null, null) },
    curve: [step(1, 0.25, 0.2, 0.3), step(2, 0.5, 0.45, 0.55)],
  },
);
const MAGRPO = row(
  'magrpo',
  {
    pass1: summary(0.52, 0.023, 0.491, 0.548),
    tokens: summary(2_080_000, 39_800, 2_030_000, 2_120_000),
    evaluatorCalls: summary(11_264, 0, null, null),
    seconds: summary(70, 1, 68, 72),
  },
  { curve: [step(1, 0.25, 0.2, 0.3), step(2, 0.4, 0.35, 0.45)] },
);
const SFT = row('sft', {
  pass1: summary(0.437, 0.01, 0.424, 0.45),
  tokens: summary(0, 0, null, null),
  evaluatorCalls: summary(0, 0, null, null),
  seconds: summary(3, 1, 2, 4),
});

const FLIPPED = { name: 'sign-flip' as const, difference: -1, p: 0.0625, n: 5 };
const compared = (
  first: string,
  second: string,
  measure: MeasureName,
  value: number,
  low: number | null,
  high: number | null,
  signFlipped: MethodComparison['signFlip'] = FLIPPED,
): MethodComparison => ({
  task: 'sums',
  budget: 'calls',
  first,
  second,
  measure,
  difference: { value, low, high, n: 5 },
  signFlip: signFlipped,
  pairedT: null,
});

function report(table: Partial<PaperReport['table']>, more: Partial<PaperReport> = {}): PaperReport {
  return {
    command: 'c3 bench paper-table',
    hardware: 'two cores',
    finishedAt: '2026-11-21T09:14:33.120Z',
    quick: false,
    progress: [{ of: 'seeds of sums', done: 5, all: 5 }],
    settings: { steps: '36' },
    search: [],
    table: { rows: [], comparisons: [], claims: [], ...table },
    ...more,
  };
}

const page = (table: Partial<PaperReport['table']>, more: Partial<PaperReport> = {}): string =>
  formatPaperPage(report(table, more));
/** The cells of the table row that begins with this heading, their markup away. */
const cellsOf = (html: string, heading: string): string[] => {
  const found = new RegExp(`<tr><th scope="row">${heading}(?:<small>[^<]*</small>)?</th>(.*?)</tr>`, 'u').exec(html);
  return [...(found?.[1] ?? '').matchAll(/<td[^>]*>(.*?)<\/td>/gu)].map(([, cell = '']) =>
    cell.replaceAll(/<small>/gu, ' | ').replaceAll(/<[^>]*>/gu, ''),
  );
};

/** Every element is closed in order: what a browser would have to guess is a fault. */
function assertBalanced(html: string): void {
  const open: string[] = [];
  for (const [whole, closing, name = '', rest = ''] of html
    .replace(/<style>[^]*?<\/style>/u, '')
    .matchAll(/<(\/?)([a-zA-Z!]\w*)((?:[^>"]|"[^"]*")*)>/gu)) {
    if (closing === '/') {
      assert.equal(open.pop(), name, whole);
    } else if (!rest.endsWith('/') && !['!doctype', 'meta'].includes(name)) {
      open.push(name);
    }
  }
  assert.deepEqual(open, []);
}

describe('numbers', () => {
  it('are written with three digits, a true minus and no negative nothing', () => {
    const written = [0, -0.2, 830, 999.6, 1234, 9996, 12_345, 999_499, 999_500, 1_243_000, -747_400, 2.5e9].map(
      (value) => formatCompact(value),
    );
    assert.deepEqual(written, [
      '0',
      '0',
      '830',
      '1.00k',
      '1.23k',
      '10.0k',
      '12.3k',
      '999k',
      '1.00M',
      '1.24M',
      '\u2212747k',
      '2,500M',
    ]);
    assert.deepEqual(
      [200_000, 1_500_000].map((value) => formatCompact(value, true)),
      ['200k', '1.5M'],
    );
    assert.deepEqual([0.5449, -0.0301, -0.0001].map(percentage), ['54.5', '\u22123.0', '0.0']);
    assert.deepEqual([decimal(-0.25, 2), decimal(0.00002, 3), decimal(0, 3)], ['\u22120.25', '2.0e\u22125', '0.000']);
  });

  it('of axes are round and hold what they are for', () => {
    assert.deepEqual(ticks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]);
    assert.deepEqual(ticks(0.27, 0.51), [0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55]);
    assert.deepEqual(ticks(0, 11_264), [0, 5000, 10_000, 15_000]);
    assert.deepEqual(ticks(-3, 4), [-4, -2, 0, 2, 4]);
    assert.deepEqual(
      [[1], [1, 2, 3], [0, 24]].map((steps) => makeAmountAxis(steps, 0, 1).ticks),
      [
        [0, 1],
        [0, 1, 2, 3],
        [0, 5, 10, 15, 20],
      ],
      'counts have no halves',
    );
    for (const [low, high] of [
      [0, 0],
      [0.5, 0.5],
      [-7, -7],
      [1e-9, 3e-9],
      [1e9, 1e9 + 1],
      [99.9999, 100.0001],
    ] as const) {
      const found = ticks(low, high);
      assert.ok(found.length >= 2 && found.length <= 9, String(found));
      assert.ok(
        found.every(Number.isFinite) && (found[0] ?? Infinity) <= low && (found.at(-1) ?? -Infinity) >= high,
        String(found),
      );
    }
  });
});

describe('labels and the front', () => {
  it('keeps labels a line apart, about where they want to be, within the bounds', () => {
    assert.deepEqual(spreadLabels([100, 100, 100], 0, 200, 10), [90, 100, 110]);
    assert.deepEqual(spreadLabels([150, 20, 100], 0, 200, 10), [150, 20, 100]);
    assert.deepEqual(spreadLabels([199, 200], 0, 200, 10), [190, 200]);
    assert.deepEqual(spreadLabels([5, 0, 50], 0, 200, 10), [10, 0, 50]);
    assert.deepEqual(spreadLabels([], 0, 200), []);
  });

  it('calls those the front that nothing beats at both', () => {
    const at = (
      x: number,
      value: number,
    ): { label: string; place: number; x: number; y: { value: number; low: null; high: null; n: number } } => ({
      label: '',
      place: 0,
      x,
      y: { value, low: null, high: null, n: 1 },
    });
    const points = [at(0, 0.4), at(10, 0.6), at(10, 0.5), at(20, 0.6), at(30, 0.7), at(30, 0.7)];
    assert.deepEqual(
      points.map((each) => isOnFront(each, points)),
      [true, true, false, false, true, true],
    );
  });
});

describe('paperPage', () => {
  it('gives means, deviations and intervals in the units of their columns', () => {
    const cells = cellsOf(page({ rows: [C3, MAGRPO, SFT] }), 'C3');
    assert.deepEqual(cells, [
      '54.5 (best) \u00b1 1.2 | [53.2, 56.1]',
      'not measured',
      'not measured',
      '0.588 \u00b1 0.014 | [0.570, 0.606]',
      '0.0314 \u00b1 0.0022 | [0.0287, 0.0342]',
      'not measured',
      'not measured',
      '1.24M (best) \u00b1 14.1k | [1.23M, 1.26M]',
      '11,264 | all equal',
      'reasoner 2.82k actor 11.3k',
      '61.2 (best) \u00b1 1.9 | [58.5, 63.1]',
    ]);
  });

  it('marks the best not by colour, and no method that does not train for spending little', () => {
    const html = page({ rows: [C3, MAGRPO, SFT] });
    assert.match(html, /<strong>54\.5<\/strong><span class="hidden"> \(best\)<\/span>/u);
    assert.ok(!cellsOf(html, 'SFT').some((cell) => cell.includes('best')));
    // All calls are equal: nobody is best.
    assert.ok(!cellsOf(html, 'MAGRPO').some((cell) => cell.includes('best')));
  });

  it('compares as C3 minus the other, whichever was first', () => {
    const html = page({
      comparisons: [
        compared('sft', 'magrpo', 'greedy', 0.9, 0.8, 1),
        compared('magrpo', 'c3', 'greedy', 0.027, 0.001, 0.053),
        compared('c3', 'sft', 'greedy', -0.11, -0.186, 0.034),
        compared('magrpo', 'c3', 'tokens', -837_000, -1_350_000, -289_000),
      ],
    });
    assert.deepEqual(cellsOf(html, 'C3 \u2212 MAGRPO'), [
      '+2.7 | [0.1, 5.3] | p 0.063, n 5',
      '\u2212837k | [\u22121.35M, \u2212289k] | p 0.063, n 5',
    ]);
    assert.deepEqual(cellsOf(html, 'C3 \u2212 SFT'), ['+11.0 | [\u22123.4, 18.6] | p 0.063, n 5', 'not measured']);
    assert.match(html, /<strong>\+2\.7<\/strong>/u);
    // Its interval holds 0.
    assert.doesNotMatch(html, /<strong>\+11\.0/u);
    assert.doesNotMatch(html, /90\.0/u);
    assert.match(html, /With 5 seeds p cannot fall below 2\/2<sup>5<\/sup> = 0\.063\./u);
  });

  it('says so where no test or interval was to be had', () => {
    assert.deepEqual(
      cellsOf(page({ comparisons: [compared('sft', 'c3', 'fidelity', 0.25, null, null, null)] }), 'C3 \u2212 SFT'),
      ['+0.250 | no interval | p not measured'],
    );
  });

  it('shows hostile texts as text', () => {
    const evil = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>\u202e&amp;\u0000";
    const html = page(
      {
        rows: [
          row(
            evil,
            { pass1: summary(0.5, 0.1, 0.4, 0.6), tokens: summary(5, 1, 4, 6) },
            {
              task: evil,
              decisions: { [evil]: summary(1, 0, null, null) },
              curve: [step(1, 0.5, 0.4, 0.6), step(2, 0.6, 0.5, 0.7)],
            },
          ),
          row('__proto__', {}, { task: evil }),
        ],
        comparisons: [{ ...compared(evil, 'c3', 'greedy', 0.1, 0, 0.2), task: evil }],
        claims: [{ task: evil, budget: 'calls', claim: evil, verdict: 'held', evidence: evil }],
      },
      {
        command: evil,
        hardware: evil,
        finishedAt: evil,
        settings: { [evil]: evil },
        search: [{ task: evil, method: evil, rate: 1e-4, value: 0.5, seeds: 1, chosen: true }],
      },
    );
    assertBalanced(html);
    const tags = new Set([...html.matchAll(/<([a-z]\w*)/giu)].map(([, name]) => name));
    for (const tag of ['script', 'img', 'link', 'iframe', 'foreignObject', 'image', 'use', 'a']) {
      assert.ok(!tags.has(tag), tag);
    }
    assert.doesNotMatch(html, /<[^>]*\son\w+\s*=(?=(?:[^"]|"[^"]*")*>)[^>]*>/u);
    assert.ok(html.includes('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'));
    assert.ok(!html.includes('\u202e') && !html.includes('\u0000'));
    assert.ok(html.includes('__proto__'));
    assert.ok(escapeText('x'.repeat(5000)).length <= 200);
  });

  it('asks for nothing from elsewhere and has no script', () => {
    const html = page({ rows: [C3, MAGRPO, SFT] });
    assert.doesNotMatch(html, /https?:|\/\/[a-z]|<script|@import|src=|url\((?!#)/u);
    assert.match(html, /default-src 'none'/u);
    assert.match(html, /prefers-color-scheme: dark/u);
  });

  it('says not measured for null, never 0', () => {
    const html = page({ rows: [row('c3', {})] });
    const cells = cellsOf(html, 'C3');
    assert.equal(cells.filter((cell) => cell === 'not measured').length, 10);
    assert.equal(cells.length, 11);
    assert.ok(!html.includes('<svg'));
    assertBalanced(html);
  });

  it('has no deviation, interval or band for one seed', () => {
    const one = (value: number): SeedSummary | null => summarizeSeeds([value]);
    const html = page({
      rows: [
        row(
          'c3',
          { pass1: one(0.5), tokens: one(1000) },
          { seeds: [0], curve: [step(1, 0.2, null, null, 1), step(2, 0.4, null, null, 1)] },
        ),
      ],
      comparisons: [compared('sft', 'c3', 'greedy', 0.1, null, null, signFlipTest([[0.4, 0.5]]))],
    });
    const [greedy] = cellsOf(html, 'C3');
    assert.equal(greedy, '50.0 | one seed');
    assert.doesNotMatch(html, /class="(?:band|bar)"/u);
    assert.match(html, /class="line"/u);
    assert.match(html, /With one seed p cannot fall below 2\/2<sup>1<\/sup> = 1\.0\./u);
  });

  it('names the n of a measure that fewer seeds have', () => {
    assert.equal(
      cellsOf(page({ rows: [row('c3', { pass1: summary(0.5, 0.1, 0.4, 0.6, 3) })] }), 'C3')[0],
      '50.0 \u00b1 10.0 | [40.0, 60.0], n 3',
    );
  });

  it('counts the verdicts, and words them beside their signs', () => {
    const claim = { budget: 'calls' as const, task: 'sums', claim: 'C3 solves more.', evidence: '+2.7 points' };
    const html = page({
      claims: [
        { ...claim, verdict: 'held' },
        { ...claim, verdict: 'held' },
        { ...claim, verdict: 'undecided' },
        { ...claim, verdict: 'not measured' },
        { ...claim, verdict: 'reversed' },
      ],
    });
    assert.match(html, /Claims of the paper: 2 held, 1 reversed, 1 undecided, 1 not measured\./u);
    for (const verdict of ['held', 'reversed', 'undecided', 'not measured']) {
      assert.match(html, new RegExp(`</span> ${verdict}</td><td>C3 solves more\\.</td><td>\\+2\\.7 points</td>`, 'u'));
    }
  });

  it('shows the search where there was one', () => {
    const tried = (
      method: string,
      rate: number,
      value: number | null,
      chosen = false,
    ): PaperReport['search'][number] => ({ task: 'sums', method, rate, value, seeds: chosen ? 2 : 1, chosen });
    const html = page(
      { rows: [C3] },
      {
        search: [
          tried('c3', 3e-4, 0.512, true),
          tried('c3', 1e-4, 0.5),
          tried('magrpo', 1e-4, null),
          tried('magrpo', 3e-4, 0.4, true),
        ],
      },
    );
    const search = html.slice(html.indexOf('Search of the learning rate'));
    assert.match(
      search,
      /<th scope="col">10<sup>\u22124<\/sup><\/th><th scope="col">3 \u00d7 10<sup>\u22124<\/sup><\/th>/u,
    );
    assert.deepEqual(
      [cellsOf(search, 'C3'), cellsOf(search, 'MAGRPO')],
      [
        ['50.0 | n 1', '51.2 | n 2, chosen'],
        ['not measured', '40.0 | n 2, chosen'],
      ],
    );
    assert.match(search, /The same 2 rates for every method, on seeds outside the table: all with the first seed/u);
    assert.doesNotMatch(page({ rows: [C3] }), /Search of the learning rate/u);
  });

  it('names every picture for those who cannot see it, with the numbers beside it', () => {
    const html = page({ rows: [C3, MAGRPO, SFT, { ...C3, task: 'functions' }] });
    assertBalanced(html);
    const pictures = [
      ...html.matchAll(
        /<svg [^>]*role="img" aria-labelledby="(\S+) (\S+)"><title id="\1">[^<]+<\/title><desc id="\2">([^<]+)<\/desc>/gu,
      ),
    ];
    assert.equal(pictures.length, 4);
    assert.equal(html.split('<svg').length - 1, 4);
    assert.equal(html.split('<details><summary>').length - 1, 4);
    const ids = [...html.matchAll(/\sid="([^"]+)"/gu)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const [, target] of html.matchAll(/(?:url\(#|href="#)([^")]+)/gu)) {
      assert.ok(ids.includes(target), target);
    }
    assert.equal(
      pictures[0]?.[3],
      'C3 ends at 0.500 after 640 evaluator calls; MAGRPO ends at 0.400 after 640 evaluator calls.',
    );
    assert.match(
      html,
      /<td>2<\/td><td>640<\/td><td>70\.0k<\/td><td>0\.500<\/td><td>\[0\.450, 0\.550\]<\/td><td>5<\/td>/u,
    );
    assert.match(html, /On the Pareto front: SFT, C3\./u);
    assert.match(html, /Without training steps: SFT\./u);
  });

  it('shows what equal tokens change in a part of its own', () => {
    const html = page({
      rows: [C3, MAGRPO, { ...C3, budget: 'tokens', measures: { ...NOTHING, pass1: summary(0.61, 0.01, 0.6, 0.62) } }],
      comparisons: [{ ...compared('magrpo', 'c3', 'pass1', 0.09, 0.08, 0.1), budget: 'tokens' }],
    });
    assertBalanced(html);
    const [calls = '', tokens = '', ...more] = html.split('<h3>At equal training tokens</h3>');
    assert.equal(more.length, 0);
    assert.match(cellsOf(calls, 'C3')[0] ?? '', /^54\.5/);
    assert.match(cellsOf(tokens, 'C3')[0] ?? '', /^61\.0/);
    assert.match(cellsOf(tokens, 'C3 \u2212 MAGRPO')[0] ?? '', /^\+9\.0/);
    assert.doesNotMatch(html, /At equal training time/);
  });

  it('says what made it, when, and that it was quick', () => {
    const html = page({ rows: [C3] }, { quick: true, command: 'c3 bench paper-table --quick' });
    for (const text of [
      'c3 bench paper-table --quick',
      'two cores',
      '5 of 5 seeds of sums',
      '2026-11-21 09:14 UTC',
      '<dt>steps</dt><dd>36</dd>',
      'Quick run:',
    ]) {
      assert.ok(html.includes(text), text);
    }
    assert.ok(!page({ rows: [C3] }).includes('Quick run:'));
  });

  it('says how far it is, and shows the search alone before a seed is measured', () => {
    const search = [{ task: 'sums', method: 'c3', rate: 1e-4, value: 0.5, seeds: 1, chosen: false }];
    const progress = [
      { of: 'runs of the search', done: 3, all: 100 },
      { of: 'seeds of sums', done: 0, all: 5 },
    ];
    const html = page({}, { search, progress });
    assert.match(html, /<strong>Not finished:<\/strong>/);
    assert.ok(html.includes('<dd>3 of 100 runs of the search, 0 of 5 seeds of sums</dd>'));
    assert.ok(html.includes('No seed is measured yet.') && html.includes('<td>50.0<small>n 1</small></td>'));
    assert.ok(!html.includes('Results at equal evaluator calls'));
    assert.ok(!page({ rows: [C3] }).includes('Not finished'));
  });
});

describe('pictures', () => {
  const interval = (value: number, low: number | null = null, high: number | null = null): Interval => ({
    value,
    low,
    high,
    n: 2,
  });
  const cost = (
    label: string,
    place: number,
    x: number,
    value: number,
    low: number | null = null,
    high: number | null = null,
  ): Parameters<typeof drawParetoPicture>[2][number] => ({ label, place, x, y: interval(value, low, high) });

  it('puts equal points at real places, with labels that do not cover each other', () => {
    for (const points of [
      [cost('one', 0, 0, 0), cost('two', 1, 0, 0)],
      [cost('one', 0, 5, 0.5, 0.5, 0.5), cost('two', 1, 5, 0.5), cost('three', 2, 5, 0.5)],
      [cost('one', 0, 5, 1, 0.9, 1.2)],
    ]) {
      const drawn = drawParetoPicture('p', 'name', points) ?? '';
      assert.doesNotMatch(drawn, /NaN|Infinity|undefined/u);
      const places = [...drawn.matchAll(/<text class="label" x="([^"]+)" y="([^"]+)"( text-anchor="end")?/gu)].map(
        ([, x, y, end]) => `${end === undefined ? 'right' : 'left'} ${y ?? ''} ${x ?? ''}`,
      );
      assert.equal(places.length, points.length);
      assert.equal(new Set(places).size, points.length);
    }
  });

  it('draws a curve of one step as a mark, of equal steps as a line, of none not at all', () => {
    const drawn =
      curvePicture(
        'c',
        'name',
        [
          { label: 'one', place: 0, points: [{ x: 10, y: interval(0.5, 0.4, 0.6) }] },
          {
            label: 'flat',
            place: 1,
            points: [
              { x: 10, y: interval(0.5) },
              { x: 10, y: interval(0.5) },
            ],
          },
          { label: 'none', place: 2, points: [] },
        ],
        WORDS,
      ) ?? '';
    assert.doesNotMatch(drawn, /NaN|Infinity|undefined|none/u);
    assert.deepEqual(
      [
        drawn.split('class="mark"').length,
        drawn.split('class="bar"').length,
        drawn.split('class="line"').length,
        drawn.split('class="band"').length,
      ],
      [2, 2, 2, 1],
    );
    assert.equal(curvePicture('c', 'name', [{ label: 'none', place: 2, points: [] }], WORDS), null);
    assert.equal(
      curvePicture(
        'c',
        'name',
        [
          {
            label: 'broken',
            place: 0,
            points: [
              { x: Number.NaN, y: interval(1) },
              { x: 1, y: interval(Infinity) },
            ],
          },
        ],
        WORDS,
      ),
      null,
    );
  });

  it('distinguishes lines without colour', () => {
    const curves = Array.from({ length: 8 }, (_, place) => ({
      label: `m${place}`,
      place,
      points: [
        { x: 0, y: interval(place) },
        { x: 1, y: interval(place) },
      ],
    }));
    const dashes = [
      ...(curvePicture('c', 'name', curves, WORDS) ?? '').matchAll(/class="line"(?: stroke-dasharray="([^"]+)")?/gu),
    ].map(([, dash]) => dash);
    assert.equal(new Set(dashes).size, 8);
  });

  it('lets no wide interval flatten what it is about', () => {
    // Two seeds give Student's t of one degree of freedom: bounds many times farther apart than the means.
    const drawn =
      curvePicture(
        'c',
        'name',
        [
          {
            label: 'a',
            place: 0,
            points: [
              { x: 0, y: interval(0.3, -5, 6) },
              { x: 1, y: interval(0.5, -5, 6) },
            ],
          },
        ],
        WORDS,
      ) ?? '';
    const labels = [...drawn.matchAll(/text-anchor="end">([^<]+)</gu)].map(([, tick]) => Number(tick));
    assert.deepEqual([Math.min(...labels), Math.max(...labels)], [0, 0.8]);
    assert.match(drawn, /clip-path="url\(#c-clip\)"/u);
  });

  it('ends an error bar with a stroke only where it ends', () => {
    const strokes = (low: number, high: number): number =>
      (drawParetoPicture('p', 'name', [cost('a', 0, 1, 0.5, low, high), cost('b', 1, 2, 0.6)]) ?? '').split('h6')
        .length - 1;
    assert.deepEqual([strokes(0.48, 0.52), strokes(-3, 4)], [2, 0]);
  });
});
