/** Writes the part of a run's page about credit by removal. Pure: a report in, text out. */

import { formatNumberedModels, type OutcomeCredits, type Spread } from '../domain/stepRows.ts';
import { axis, picture, point, round, tickDigits, WIDTH } from './axis.ts';
import { barsPicture } from './bars.ts';
import { curvePicture } from './curves.ts';
import { formatBounds, figure, row, table } from './page.ts';
import type { RemovalReport, WithAndWithout } from './removal.ts';
import { count, decimal, escapeText, NOT_MEASURED, signed } from './words.ts';

/** Returns an empty text if the run has another kind of credit. */
export function removalSection(report: RemovalReport | undefined): string {
  return report === undefined
    ? ''
    : `<section><h2>Credit by removal</h2><div class="figures">${thinkerFigure(report)}${outcomesFigure(report)}${contributionsFigure(report)}${pairingsFigure(report)}</div></section>`;
}

const formatOutcome = ({ joint, solo }: OutcomeCredits): string => `(${joint}, ${solo})`;

function outcomesFigure({ outcomes, rollouts, others }: RemovalReport): string {
  if (outcomes.length === 0) {
    return '';
  }
  const rows = outcomes.flatMap((one): BoxRow[] => [
    { label: `${one.role} ${formatOutcome(one)}`, spread: one.credits, place: 0 },
    { label: 'shared', spread: one.shared, place: 1 },
  ]);
  const lines = outcomes.flatMap((one) =>
    ([one.credits, one.shared] as const).map((spread, index) => {
      const head = `<th scope="row">${escapeText(one.role, 60)} ${formatOutcome(one)}${index === 0 ? '' : ', shared'}</th>`;
      return spread === null
        ? `<tr>${head}<td>0</td><td colspan="5" class="none">${NOT_MEASURED}</td></tr>`
        : `<tr>${head}<td>${count(spread.n)}</td>${[spread.low, spread.lower, spread.middle, spread.upper, spread.high].map((value) => `<td>${signed(value)}</td>`).join('')}</tr>`;
    }),
  );
  const numbers = table(
    'Credit by outcome in numbers',
    ['role (with, without the thinker)', 'n', 'lowest', 'lower quartile', 'median', 'upper quartile', 'highest'],
    lines,
    'numbers',
  );
  const left = others === 0 ? '' : ` ${count(others)} with other returns than 0 and 1 are left out.`;
  return figure(
    'Credit by outcome with and without the thinker',
    boxesPicture('outcomes', 'Credit by outcome with and without the thinker', rows, 'training credit'),
    `Of ${count(rollouts)} rollouts, by the result of the episode and of the solo rollout with its number. Upper box of each pair: the credit that training used; lower: the shared return, scaled within the question. Boxes span the quartiles, with the median; lines reach the extremes.${left}`,
    numbers,
  );
}

function describeOverhead({ rollouts, tokens, soloTokens, seconds }: WithAndWithout['overhead']): string {
  const share = soloTokens / Math.max(1, tokens + soloTokens);
  return `The ${count(rollouts)} solo rollouts took ${count(soloTokens)} of ${count(tokens + soloTokens)} sampled tokens (${decimal(100 * share, 1)} %), and by that share about ${decimal(share * seconds, 1)} of ${decimal(seconds, 1)} s of sampling; nothing is learned from them.`;
}

function thinkerFigure({ thinker }: RemovalReport): string {
  if (thinker === null) {
    return '';
  }
  const rows = [
    ['with the thinker', thinker.team],
    ['without its text', thinker.without],
    ['difference', thinker.difference],
  ] as const;
  const write = (value: number): string => signed(value);
  return figure(
    'The team with and without the thinker',
    barsPicture(
      'thinker',
      'The team with and without the thinker',
      rows.map(([label, value]) => ({ label, value })),
      (value) => decimal(value, 3),
      'mean return',
    ),
    `Of the rollouts of training and the solo rollouts of their questions, with the weights of each step. The difference is one of pairs. 95 % intervals over questions. ${describeOverhead(thinker.overhead)}`,
    table(
      'The team with and without the thinker in numbers',
      ['', 'mean return', '95 % interval', 'questions'],
      rows.map(
        ([label, value]) =>
          `<tr><th scope="row">${label}</th><td>${label === 'difference' ? signed(value.value) : decimal(value.value, 3)}</td><td>${formatBounds(value, write) ?? 'no interval'}</td><td>${count(value.n)}</td></tr>`,
      ),
      'numbers',
    ),
  );
}

function contributionsFigure({ contributions }: RemovalReport): string {
  const curves = contributions.map(({ role, points }, place) => ({
    label: role,
    place,
    points: points.map(({ step, mean }) => ({ x: step, y: { value: mean, low: null, high: null, n: 0 } })),
  }));
  const lines = contributions.flatMap(({ role, points }) =>
    points.map(
      ({ step, mean, deviation }) =>
        `<tr><th scope="row">${escapeText(role, 60)}</th><td>${count(step)}</td><td>${signed(mean)}</td><td>${decimal(deviation, 3)}</td></tr>`,
    ),
  );
  return figure(
    'Contribution by role',
    curvePicture('contributions', 'Contribution by role', curves, {
      x: 'step',
      y: 'running mean of the contribution',
      unit: 'steps',
    }),
    'The return with the role less that without it: the running mean that the method keeps.',
    table('Contribution by role in numbers', ['role', 'step', 'mean', 'deviation'], lines, 'numbers'),
  );
}

function pairingsFigure({ pairings }: RemovalReport): string {
  if (pairings === undefined) {
    return '';
  }
  const { models, steps, runs, contributions } = pairings;
  const write = (value: number): string => signed(value);
  return figure(
    'Contribution by pairing of models',
    barsPicture(
      'pairings',
      'Contribution by pairing of models',
      contributions.map(({ pairing, role, contribution }) => ({ label: `${pairing}: ${role}`, value: contribution })),
      (value) => decimal(value, 3),
      'running mean of the contribution',
    ),
    `Models: ${escapeText(formatNumberedModels(models), 400)}; a row names those of all roles in their order, and ` +
      `one role. Of ${count(runs)} runs of this store that differ in models and seed alone, after step ` +
      `${count(steps)}; 95 % intervals over runs of one pairing.`,
    table(
      'Contribution by pairing of models in numbers',
      ['pairing', 'role', 'model', 'contribution', '95 % interval', 'runs'],
      contributions.map(({ pairing, role, model, contribution }) =>
        row(escapeText(pairing), [
          escapeText(role, 60),
          escapeText(model, 60),
          signed(contribution.value),
          formatBounds(contribution, write) ?? 'no interval',
          count(contribution.n),
        ]),
      ),
      'numbers',
    ),
  );
}

// Draws boxes of five numbers, one for each row: quartiles, median and extremes. Pure: numbers in,
// SVG text out.

interface BoxRow {
  readonly label: string;
  /** Null if there is no value. */
  readonly spread: Spread | null;
  /** The index of one of two colors. */
  readonly place: 0 | 1;
}

const LEFT = 196;
const RIGHT = WIDTH - 68;
const ROW = 22;
const HEAD = 6;

/**
 * Returns the picture, or null if no row has a value.
 * @param id unique among the pictures of the page
 * @param words the name of the axis
 */
export function boxesPicture(id: string, name: string, rows: readonly BoxRow[], words: string): string | null {
  const values = rows.flatMap(({ spread }) => (spread === null ? [] : [spread.low, spread.high]));
  if (values.length === 0 || !values.every(Number.isFinite)) {
    return null;
  }
  const x = axis(Math.min(0, ...values), Math.max(0, ...values), LEFT, RIGHT);
  const bottom = HEAD + ROW * rows.length;
  const digits = tickDigits(x);
  const grid = x.ticks.map(
    (tick) =>
      `<path class="grid" d="M${point(x.at(tick), HEAD)}V${round(bottom)}"/><text class="tick" x="${round(x.at(tick))}" y="${round(bottom + 16)}" text-anchor="middle">${decimal(tick, digits)}</text>`,
  );
  const drawn = rows.map(({ label, spread, place }, index) => {
    const middle = HEAD + ROW * (index + 0.5);
    const text = `<text class="row" x="${LEFT - 8}" y="${round(middle + 4)}" text-anchor="end">${escapeText(label, 30)}</text>`;
    if (spread === null) {
      return `${text}<text class="tick" x="${round(x.at(0) + 6)}" y="${round(middle + 4)}">${NOT_MEASURED}</text>`;
    }
    const [low, lower, mid, upper, high] = [spread.low, spread.lower, spread.middle, spread.upper, spread.high].map(
      x.at,
    );
    const [from = 0, to = 0] = [lower, upper];
    const whisker = `<path class="whisker" d="M${point(low ?? 0, middle)}H${round(from)}M${point(to, middle)}H${round(high ?? 0)}"/>`;
    const box = `<rect class="fill ${place === 0 ? 'above' : 'below'}" x="${round(from)}" y="${round(middle - 6)}" width="${round(Math.max(1, to - from))}" height="12"/>`;
    const median = `<path class="whisker" d="M${point(mid ?? 0, middle - 8)}v16"/>`;
    return `${text}${whisker}${box}${median}<text class="value" x="${WIDTH - 2}" y="${round(middle + 4)}" text-anchor="end">${decimal(spread.middle, 2)}</text>`;
  });
  const zero = `<path class="axis" d="M${point(x.at(0), HEAD)}V${round(bottom)}"/>`;
  const title = `<text class="name" x="${round((LEFT + RIGHT) / 2)}" y="${round(bottom + 32)}" text-anchor="middle">${escapeText(words, 80)}</text>`;
  const description = `${rows.map(({ label, spread }) => `${label}: ${spread === null ? NOT_MEASURED : `median ${decimal(spread.middle, 2)}`}`).join('; ')}.`;
  return picture(id, name, description, `${grid.join('')}${zero}${drawn.join('')}${title}`, bottom + 40);
}
