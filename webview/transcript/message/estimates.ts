/**
 * What a message was worth by each estimator, side by side; what was not measured says why and offers what measures it.
 */
import { ESTIMATE_WORDS, type EstimateName, type MessageEstimate } from '../../../src/domain/credit.ts';
import { creditCell } from '../../common/creditBar.ts';
import { focusedIn, h, replace } from '../../common/dom.ts';
import { bounds, count, NOT_MEASURED } from '../../common/format.ts';
import { term } from '../../common/term.ts';

export interface EstimateEvents {
  /** Measure an estimate; null where replays cannot be asked for. */
  readonly measure: ((name: EstimateName) => void) | null;
}

export class EstimatesView {
  readonly element: HTMLElement;
  private readonly body = h('tbody', {});
  private readonly events: EstimateEvents;
  private drawn = '';

  constructor(events: EstimateEvents) {
    this.events = events;
    const heads = ['Estimator', 'Worth', term('interval', '95 % interval'), term('n'), 'Calls'].map((name) =>
      h('th', { scope: 'col' }, name),
    );
    this.element = h(
      'section',
      { class: 'estimates', 'aria-label': 'What it was worth' },
      h('h3', {}, 'What it was worth ', h('span', { class: 'bucket-note' }, 'as recorded')),
      h('table', {}, h('thead', {}, h('tr', {}, ...heads)), this.body),
    );
  }

  update(estimates: readonly MessageEstimate[]): void {
    const drawn = JSON.stringify(estimates);
    if (drawn === this.drawn) {
      return;
    }
    this.drawn = drawn;
    // Whoever is on a button that goes stays in the table.
    const held = focusedIn(this.body) !== null;
    replace(this.body, ...estimates.map((estimate) => this.row(estimate)));
    if (held) {
      this.body.querySelector<HTMLElement>('button')?.focus();
    }
  }

  private row({ name, credit, bucket, reason, measurable }: MessageEstimate): HTMLElement {
    const { label, detail, action } = ESTIMATE_WORDS[name];
    const head = h('th', { scope: 'row', title: detail }, label);
    if (credit === null) {
      return h(
        'tr',
        {},
        head,
        h(
          'td',
          { colspan: 4, class: 'missing' },
          h('span', { class: 'muted' }, `${NOT_MEASURED}: ${reason ?? ''} `),
          measurable ? this.button(name, action) : null,
        ),
      );
    }
    return h(
      'tr',
      {
        title: `${bucket === null ? 'From this episode' : `From bucket ${bucket}`}, ${credit.interval === 'none' ? 'no interval' : `${credit.interval} interval`}`,
      },
      head,
      h('td', {}, creditCell(credit)),
      h('td', {}, bounds(credit.low, credit.high) ?? 'no interval'),
      h('td', { class: 'number' }, count(credit.n)),
      h('td', { class: 'number' }, count(credit.evaluatorCalls)),
    );
  }

  private button(name: EstimateName, action: string | null): HTMLElement | null {
    const { measure } = this.events;
    if (measure === null || action === null) {
      return null;
    }
    const button = h('button', { class: 'link', type: 'button' }, action);
    button.addEventListener('click', () => measure(name));
    return button;
  }
}
