/** The columns of the grid: the content of each cell, and its words for screen readers. */

import { formatChance } from '../../src/domain/answer.ts';
import { BY_HAND } from '../../src/domain/episode.ts';
import { roundTitle } from '../../src/domain/evaluation.ts';
import { NOT_CLASSIFIED, type LostProblem, type ProblemColumn, type ProblemRound } from '../../src/domain/problem.ts';
import { toOutcome, type ReturnScale } from '../../src/shared/credit/returns.ts';
import type { ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import { formatSigned } from '../../src/shared/text/figures.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { createCreditCell } from '../common/creditBar.ts';
import { h, icon, svg } from '../common/dom.ts';
import { count, describeShownCredit, decimal, duration, toSingleLine, formatReturnValue } from '../common/format.ts';
import { chooseReturnMark } from '../common/returnMark.ts';
import { createTextNodes } from '../common/shownText.ts';
import { describeScoresByHand } from './words.ts';

// Sparklines: the outcomes of a problem over a run. Rings are evaluations, points are training steps.

/** Width of a sparkline and of its column, in pixels. */
const SPARK_WIDTH = 64;
const HEIGHT = 16;
const PAD = 4;
/** Largest number of rounds named in a sparkline's words: the first and the last of them. */
const NAMED = 12;

const SPARK_CLASSES = { won: 'spark-high', between: '', failed: 'spark-low' } as const;

interface SparkPoint {
  readonly x: number;
  readonly y: number;
  readonly phase: ProblemRound['phase'];
  readonly mean: number;
}

/**
 * Returns the points of the rounds with a score, from left to right in order of time. The height spans
 * the scale of the returns, or 0 to 1 if the scale is not known. Returns outside it widen it.
 */
export function sparkPoints(rounds: readonly ProblemRound[], scale: ReturnScale | null): readonly SparkPoint[] {
  const known = rounds.flatMap(({ phase, mean }) => (mean === null ? [] : [{ phase, mean }]));
  const low = known.reduce((least, { mean }) => Math.min(least, mean), scale?.low ?? 0);
  const high = known.reduce((most, { mean }) => Math.max(most, mean), scale?.high ?? 1);
  const step = known.length < 2 ? 0 : (SPARK_WIDTH - 2 * PAD) / (known.length - 1);
  return known.map(({ phase, mean }, index) => ({
    phase,
    mean,
    x: known.length === 1 ? SPARK_WIDTH / 2 : PAD + index * step,
    y: PAD + ((HEIGHT - 2 * PAD) * (high - mean)) / (high - low),
  }));
}

/** Draws the sparkline, hidden from screen readers. `describeSparkline` says the same in words. */
function sparkline(rounds: readonly ProblemRound[], scale: ReturnScale | null): SVGSVGElement {
  const points = sparkPoints(rounds, scale);
  const drawing = svg('svg', {
    viewBox: `0 0 ${SPARK_WIDTH} ${HEIGHT}`,
    width: SPARK_WIDTH,
    height: HEIGHT,
    class: 'sparkline',
    'aria-hidden': 'true',
    focusable: 'false',
  });
  drawing.append(
    svg('line', { class: 'spark-floor', x1: 0, x2: SPARK_WIDTH, y1: HEIGHT - PAD + 0.5, y2: HEIGHT - PAD + 0.5 }),
  );
  if (points.length > 1) {
    drawing.append(
      svg('polyline', {
        class: 'spark-line',
        points: points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' '),
        fill: 'none',
      }),
    );
  }
  const dense = points.length > 24;
  points.forEach(({ x, y, phase, mean }, index) => {
    if (dense && phase === 'train' && index !== points.length - 1) {
      return;
    }
    drawing.append(
      svg('circle', {
        class: `spark-${phase === 'evaluate' ? 'ring' : 'point'} ${SPARK_CLASSES[toOutcome(mean, scale)]}`,
        cx: x.toFixed(1),
        cy: y.toFixed(1),
        r: phase === 'evaluate' ? 2.6 : 1.8,
      }),
    );
  });
  return drawing;
}

/** Describes the rounds in words. */
function describeSparkline(rounds: readonly ProblemRound[]): string {
  if (rounds.length === 0) {
    return 'no outcome yet';
  }
  const words = rounds.map(
    ({ phase, iteration, mean, episodes }) =>
      `${roundTitle(phase, iteration)}: ${mean === null ? 'masked' : formatReturnValue(mean)}${episodes > 1 ? ` (${count(episodes)})` : ''}`,
  );
  if (words.length <= NAMED) {
    return words.join('\n');
  }
  return [...words.slice(0, NAMED / 2), `and ${count(words.length - NAMED)} more`, ...words.slice(-NAMED / 2)].join(
    '\n',
  );
}

export interface Column {
  readonly name: ProblemColumn;
  readonly title: string;
  /** Describes the column in one sentence. */
  readonly meaning: string;
  /** True if the first sort by this column puts larger values first. */
  readonly descending: boolean;
  readonly numeric: boolean;
  /** Width as a track of the CSS grid. */
  readonly width: string;
  /** Minimum width in pixels. */
  readonly least: number;
  /** @param index index of the row in the list, from 0 */
  readonly cell: (row: ShownProblem, index: number) => HTMLElement;
  readonly words: (row: ShownProblem, index: number) => string;
}

/** Largest number of characters of a question in its row. No row has room for more. */
const LINE = 400;

/** Minimum width in pixels of two returns with two decimals and the word "mean". */
const EVALUATED_LEAST = 92;
const EVALUATED = `${EVALUATED_LEAST}px`;

export const COLUMNS: readonly Column[] = [
  {
    name: 'appearance',
    width: '4ch',
    least: 36,
    title: '#',
    meaning: 'Position in this list; sorting by it uses the order in which the run reached the problems',
    descending: false,
    numeric: true,
    cell: (_, index) => h('span', { class: 'muted' }, count(index + 1)),
    words: (_, index) => count(index + 1),
  },
  {
    name: 'question',
    width: 'minmax(150px, 1fr)',
    least: 150,
    title: 'Question',
    meaning: 'The question on one line; hover over it or select the row to see all of it',
    descending: false,
    numeric: false,
    cell: ({ question }) =>
      h(
        'span',
        { class: 'question', title: showInvisibleControls(question) },
        ...createTextNodes(toSingleLine(question).slice(0, LINE)),
      ),
    words: ({ question }) => showInvisibleControls(toSingleLine(question).slice(0, LINE)),
  },
  {
    name: 'outcome',
    width: `${SPARK_WIDTH}px`,
    least: SPARK_WIDTH,
    title: 'Outcome',
    meaning:
      'Mean return in each round with this problem: rings are evaluations, points are training steps; sorted by the latest',
    descending: false,
    numeric: false,
    cell: (row) => h('span', { class: 'spark', title: describeOutcomes(row) }, sparkline(row.rounds, row.scale)),
    words: describeOutcomes,
  },
  {
    name: 'before',
    width: EVALUATED,
    least: EVALUATED_LEAST,
    title: 'Before',
    meaning: 'Evaluation before training: the greedy answer, then the mean return of sampled ones',
    descending: false,
    numeric: false,
    cell: (row) => createEvaluatedCell(row.greedyBefore, row.sampledBefore, row.scale),
    words: (row) => describeEvaluated('before', row.greedyBefore, row.sampledBefore),
  },
  {
    name: 'after',
    width: EVALUATED,
    least: EVALUATED_LEAST,
    title: 'After',
    meaning: 'Evaluation after training: the greedy answer, then the mean return of sampled ones',
    descending: false,
    numeric: false,
    cell: (row) => createEvaluatedCell(row.greedyAfter, row.sampledAfter, row.scale),
    words: (row) => describeEvaluated('after', row.greedyAfter, row.sampledAfter),
  },
  {
    name: 'return',
    width: '68px',
    least: 68,
    title: 'Return',
    meaning: 'Mean return of its scored training episodes, and their number',
    descending: false,
    numeric: true,
    cell: (row) => createMeanReturnCell(row),
    words: (row) =>
      row.meanReturn === null
        ? 'not trained on'
        : `mean return ${formatReturnValue(row.meanReturn)}, n = ${count(row.returns)}${describeMasked(row)}`,
  },
  {
    name: 'credit',
    width: 'minmax(170px, 22%)',
    least: 170,
    title: 'Clearest credit',
    meaning: 'The message whose credit is most clearly different from 0, or comes closest',
    descending: true,
    numeric: false,
    cell: (row) => createClearestCell(row),
    words: ({ clearest: found }) =>
      found === null
        ? 'credit not measured'
        : `${found.role}, ${describeShownCredit(found.credit)}: ${showInvisibleControls(toSingleLine(found.text))}`,
  },
  {
    name: 'chance',
    width: '56px',
    least: 56,
    title: 'Chance',
    meaning: 'Chance of success before the first message of its lost episode, by the replays of searches',
    descending: true,
    numeric: true,
    cell: ({ lost }) =>
      createPlainCell(lost === null ? '–' : formatWholePercent(lost.start.value), describeStartChance(lost)),
    words: ({ lost }) => describeStartChance(lost),
  },
  {
    name: 'lostBy',
    width: 'minmax(84px, 12%)',
    least: 84,
    title: 'Lost by',
    meaning: 'The role whose message lost it, and how many points the chance fell by; decided ones sort first',
    descending: true,
    numeric: false,
    cell: ({ lost }) => createLostByCell(lost),
    words: ({ lost }) => describeLostProblem(lost),
  },
  {
    name: 'class',
    width: 'minmax(52px, 9%)',
    least: 52,
    title: 'Class',
    meaning: 'Taxonomy class of most of its buckets; requested replays are left out',
    descending: false,
    numeric: false,
    cell: ({ problemClass }) => createClassCell(problemClass),
    words: ({ problemClass }) => problemClass?.name ?? NOT_CLASSIFIED,
  },
  {
    name: 'tokens',
    width: '52px',
    least: 52,
    title: 'Tokens',
    meaning: 'Tokens computed for it: prompts without what was reused, and messages',
    descending: true,
    numeric: true,
    cell: ({ tokens }) =>
      createPlainCell(
        count(tokens.prompt - tokens.reused + tokens.completion),
        `${count(tokens.prompt)} prompt and ${count(tokens.completion)} completion tokens, ${count(tokens.reused)} of them reused`,
      ),
    words: ({ tokens }) => `${count(tokens.prompt - tokens.reused + tokens.completion)} tokens`,
  },
  {
    name: 'seconds',
    width: '50px',
    least: 50,
    title: '≈ Time',
    meaning: 'Its share, by tokens, of the time of its training steps; episodes are not timed individually',
    descending: true,
    numeric: true,
    cell: ({ seconds }) => createPlainCell(seconds === null ? '–' : duration(seconds)),
    words: ({ seconds }) => (seconds === null ? 'time not measured' : `about ${duration(seconds)}`),
  },
  {
    name: 'calls',
    width: '34px',
    least: 34,
    title: 'Calls',
    meaning: 'Evaluator calls of the run for it; those of requested replays are left out',
    descending: true,
    numeric: true,
    cell: ({ evaluatorCalls }) => createPlainCell(count(evaluatorCalls)),
    words: ({ evaluatorCalls }) => `${count(evaluatorCalls)} evaluator calls`,
  },
  {
    name: 'byHand',
    width: '56px',
    least: 56,
    title: 'By hand',
    meaning: 'Mean of the scores that you gave its episodes',
    descending: false,
    numeric: true,
    cell: (row) =>
      createPlainCell(row.handScore === null ? '–' : formatReturnValue(row.handScore), describeScoresByHand(row)),
    words: describeScoresByHand,
  },
  {
    name: 'tags',
    width: 'minmax(60px, 10%)',
    least: 60,
    title: 'Tags',
    meaning: 'Tags that you gave its episodes; tag:WORD in the search finds them',
    descending: false,
    numeric: false,
    cell: ({ tags }) =>
      h('span', { class: tags.length === 0 ? 'muted' : null }, ...createTextNodes(tags.join(', ') || '–')),
    words: ({ tags }) => (tags.length === 0 ? 'no tags' : showInvisibleControls(tags.join(', '))),
  },
];

function describeOutcomes({ rounds, handReturns }: ShownProblem): string {
  return `${describeSparkline(rounds)}${handReturns === 0 ? '' : `, ${BY_HAND}`}`;
}

function createPlainCell(words: string, title: string | null = null): HTMLElement {
  return h('span', { title, class: words === '–' ? 'muted' : null }, words);
}

function describeMasked({ masked: failed }: ShownProblem): string {
  return failed === 0 ? '' : `, ${count(failed)} masked`;
}

function createEvaluatedCell(greedy: number | null, sampled: number | null, scale: ReturnScale | null): HTMLElement {
  if (greedy === null && sampled === null) {
    return createPlainCell('–', 'not evaluated');
  }
  const mark = chooseReturnMark(greedy, greedy === null ? null : toOutcome(greedy, scale));
  return h(
    'span',
    { class: `return tone-${mark.tone}`, title: describeEvaluated('', greedy, sampled) },
    mark.icon === null ? h('span', {}, greedy === null ? '–' : mark.label) : icon(mark.icon),
    // Without "mean", it would not be clear what the number beside the icon is.
    sampled === null ? null : h('span', { class: 'muted sampled' }, `${formatReturnValue(sampled)} mean`),
  );
}

function describeEvaluated(stage: string, greedy: number | null, sampled: number | null): string {
  if (greedy === null && sampled === null) {
    return `not evaluated ${stage}`.trim();
  }
  return `${stage} greedy ${formatReturnValue(greedy)}, sampled ${formatReturnValue(sampled)}`.trim();
}

function createMeanReturnCell(row: ShownProblem): HTMLElement {
  if (row.meanReturn === null) {
    return createPlainCell(
      '–',
      row.masked > 0 ? `${count(row.masked)} masked: the evaluator failed` : 'not trained on',
    );
  }
  return h(
    'span',
    { class: 'mean', title: `n = ${count(row.returns)}${describeMasked(row)}` },
    h('span', {}, decimal(row.meanReturn)),
    h('span', { class: 'muted n' }, `n ${count(row.returns)}`),
  );
}

function createClearestCell({ clearest: found }: ShownProblem): HTMLElement {
  if (found === null) {
    return createPlainCell('–', 'credit not measured');
  }
  const text = showInvisibleControls(toSingleLine(found.text));
  return h(
    'span',
    { class: 'clearest', title: `${found.role}: ${text}\n${describeShownCredit(found.credit)}` },
    createCreditCell(found.credit),
    h(
      'span',
      { class: 'said' },
      h('span', { class: 'role' }, found.role),
      ' ',
      h('span', { class: `verdict verdict-${found.credit.verdict}` }, found.credit.verdict),
      ' ',
      ...createTextNodes(text),
    ),
  );
}

const formatWholePercent = (share: number): string => `${Math.round(100 * share)} %`;

const describeStartChance = (lost: LostProblem | null): string =>
  lost === null ? 'not searched' : `chance at the start ${formatChance(lost.start, 1)}, n = ${count(lost.start.n)}`;

function createLostByCell(lost: LostProblem | null): HTMLElement {
  if (lost?.role === undefined || lost.role === null) {
    return createPlainCell(lost === null ? '–' : UNNAMED[lost.verdict], describeLostProblem(lost));
  }
  return h(
    'span',
    { title: describeLostProblem(lost) },
    h('span', { class: 'role' }, showInvisibleControls(lost.role)),
    ' ',
    h('span', { class: 'muted' }, formatSigned(100 * (lost.drop ?? 0), 0)),
  );
}

const UNNAMED: Readonly<Record<LostProblem['verdict'], string>> = {
  message: 'one message',
  several: 'several',
  rare: 'rarely solved',
  undecided: 'undecided',
  won: 'nothing lost',
};

const DESCRIBED: typeof UNNAMED = {
  ...UNNAMED,
  several: 'lost by several messages',
  rare: 'rarely solved by this team',
  won: 'returned more than the team does on average',
};

function describeLostProblem(lost: LostProblem | null): string {
  if (lost === null) {
    return 'not searched';
  }
  return lost.role === null
    ? DESCRIBED[lost.verdict]
    : `lost by ${showInvisibleControls(lost.role)}: the chance of success fell by ${Math.round(-100 * (lost.drop ?? 0))} points`;
}

function createClassCell(found: ShownProblem['problemClass']): HTMLElement {
  if (found === null) {
    return createPlainCell('–', NOT_CLASSIFIED);
  }
  return h(
    'span',
    { class: 'class-name', title: `${found.name}: ${count(found.cases)} of ${count(found.of)} classified buckets` },
    found.name,
  );
}
