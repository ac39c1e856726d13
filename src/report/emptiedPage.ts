/** The part of a run's page about held-out questions without what a role said. Pure: numbers in, text out. */
import { barsPicture } from './bars.ts';
import type { EmptiedEffect } from './emptied.ts';
import { bounds, figure, row, table } from './page.ts';
import { count, decimal, escaped, signed } from './words.ts';

/** Nothing where no message of an evaluation was emptied. */
export function emptiedSection(effects: readonly EmptiedEffect[] | undefined): string {
  return effects === undefined || effects.length === 0
    ? ''
    : `<section><h2>Held-out questions without a message</h2><div class="figures">${effects.map(effectFigure).join('')}</div></section>`;
}

function effectFigure(effect: EmptiedEffect, index: number): string {
  const { role, evaluation, replays } = effect;
  const title = `With and without what ${role.slice(0, 60)} says`;
  const rows = [
    ['with its message', effect.team],
    ['with an empty message', effect.without],
    ['difference', effect.difference],
  ] as const;
  const write = (value: number): string => signed(value);
  return figure(
    escaped(title),
    barsPicture(
      `emptied-${index}`,
      title,
      rows.map(([label, value]) => ({ label, value })),
      (value) => decimal(value, 3),
      'mean return',
    ),
    `${escaped(evaluation)}: ${count(effect.difference.n)} held-out questions, ${count(replays)} replays with the message and as many with an empty one in its place, whose heading stays; both draw the same random numbers. 95 % intervals over questions.`,
    table(
      `${title} in numbers`,
      ['', 'mean return', '95 % interval', 'questions'],
      rows.map(([label, value]) =>
        row(label, [
          label === 'difference' ? signed(value.value) : decimal(value.value, 3),
          bounds(value, write) ?? 'no interval',
          count(value.n),
        ]),
      ),
      'numbers',
    ),
  );
}
