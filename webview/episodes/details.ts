/** Below the grid: the whole question of the row with the keyboard, what it is, and the way to each of its rounds. */
import { roundTitle } from '../../src/domain/evaluation.ts';
import type { ProblemRound } from '../../src/domain/problem.ts';
import type { ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import { disarmed } from '../../src/shared/text/visible.ts';
import { h, replace } from '../common/dom.ts';
import { count, creditText, oneLine, returnText } from '../common/format.ts';
import { copyAsWritten, shownText } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';
import { handWords } from './words.ts';

export interface DetailEvents {
  open(row: ShownProblem, round: ProblemRound | null): void;
}

export class Details {
  readonly element: HTMLElement;
  private readonly events: DetailEvents;
  private readonly question = h('p', { class: 'whole', tabindex: 0, 'aria-label': 'The whole question' });
  private readonly facts = h('p', { class: 'muted facts' });
  private readonly clearest = h('p', { class: 'facts' });
  private readonly rounds = h('ul', { class: 'rounds', 'aria-label': 'Rounds of this problem' });
  private readonly open = button(
    'Open transcript',
    () => {
      if (this.row !== null) {
        this.events.open(this.row, null);
      }
    },
    { primary: true, title: 'Open the transcript at the clearest message (Enter)' },
  );
  private row: ShownProblem | null = null;
  private shown = '';

  constructor(events: DetailEvents) {
    this.events = events;
    copyAsWritten(this.question);
    this.element = h(
      'section',
      { class: 'details', 'aria-label': 'Selected problem' },
      h('div', { class: 'details-text' }, this.question, this.facts, this.clearest, this.rounds),
      this.open,
    );
  }

  update(row: ShownProblem | null): void {
    this.row = row;
    const words = row === null ? '' : JSON.stringify(row);
    if (words === this.shown) {
      return;
    }
    this.shown = words;
    this.element.classList.toggle('nothing', row === null);
    this.open.toggleAttribute('disabled', row === null);
    if (row === null) {
      for (const part of [this.question, this.facts, this.clearest, this.rounds]) {
        replace(part);
      }
      return;
    }
    replace(this.question, ...shownText(row.question), row.cut ? '…' : null);
    this.facts.textContent = disarmed(
      oneLine(
        [
          `uid ${row.uid}`,
          row.source === '' ? '' : `source ${row.source}`,
          row.level === null ? '' : `level ${row.level}`,
          row.handScore === null ? '' : handWords(row),
          row.tags.length === 0 ? '' : `tags ${row.tags.join(', ')}`,
        ]
          .filter((part) => part !== '')
          .join(' · '),
      ),
    );
    const { clearest: found } = row;
    replace(
      this.clearest,
      ...(found === null
        ? ['No credit is measured for this problem.']
        : [`Clearest: ${found.role}, ${creditText(found.credit)}: `, ...shownText(oneLine(found.text))]),
    );
    this.clearest.classList.toggle('muted', found === null);
    replace(this.rounds, ...row.rounds.map((round) => this.roundItem(row, round)));
  }

  private roundItem(row: ShownProblem, round: ProblemRound): HTMLElement {
    const { phase, iteration, mean, episodes } = round;
    const outcome = mean === null ? 'masked' : returnText(mean);
    const link = h(
      'button',
      {
        class: 'link',
        type: 'button',
        title: `Open the transcript of this round: ${count(episodes)} ${episodes === 1 ? 'episode' : 'episodes'}`,
      },
      `${roundTitle(phase, iteration)}: ${outcome}${episodes > 1 ? ` (${count(episodes)})` : ''}`,
    );
    link.addEventListener('click', () => this.events.open(row, round));
    return h('li', {}, link);
  }
}
