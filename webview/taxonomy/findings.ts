/** What the detectors found in the run's last episodes; each finding unfolds its cases. */
import type { DetectorReport, TaxonomyView } from '../../src/domain/taxonomy.ts';
import { h, replace } from '../common/dom.ts';
import { count, NOT_MEASURED, oneLine } from '../common/format.ts';
import { shownText } from '../common/shownText.ts';

export class Findings {
  readonly element = h('section', { class: 'findings', 'aria-label': 'Findings in episodes' });
  private readonly open: (message: number) => void;
  private readonly onUnfold: (name: string | null) => void;
  private drawn = '';
  private unfolded: string | null;

  /** @param open shows a message in its transcript @param onUnfold receives which finding is unfolded */
  constructor(unfolded: string | null, open: (message: number) => void, onUnfold: (name: string | null) => void) {
    this.unfolded = unfolded;
    this.open = open;
    this.onUnfold = onUnfold;
  }

  update({ detectors, episodes }: Pick<TaxonomyView, 'detectors' | 'episodes'>): void {
    const key = JSON.stringify([detectors, episodes, this.unfolded]);
    if (key === this.drawn) {
      return;
    }
    this.drawn = key;
    const head = h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, 'Finding'),
        ...['Present', 'Measured', 'Not measured'].map((name) => h('th', { scope: 'col', class: 'number' }, name)),
      ),
    );
    const caption = h(
      'caption',
      { class: 'counted' },
      `${count(episodes)} ${episodes === 1 ? 'episode' : 'episodes'} of the last evaluation, or of the last training step where there was none`,
    );
    const table = h(
      'table',
      {},
      caption,
      head,
      h(
        'tbody',
        {},
        ...detectors.flatMap((detector) => this.rows(detector, () => this.update({ detectors, episodes }))),
      ),
    );
    replace(this.element, h('h2', {}, 'Findings in episodes'), table);
  }

  private rows(detector: DetectorReport, redraw: () => void): HTMLElement[] {
    const { name, count: present, measured, notMeasured, cases, reason } = detector;
    const unfolded = this.unfolded === name;
    const toggle = h(
      'button',
      { class: 'link', type: 'button', 'aria-expanded': String(unfolded), 'data-finding': name },
      name,
    );
    toggle.addEventListener('click', () => {
      this.unfolded = unfolded ? null : name;
      this.onUnfold(this.unfolded);
      redraw();
      this.element.querySelector<HTMLElement>(`[data-finding="${CSS.escape(name)}"]`)?.focus();
    });
    const number = (text: string): HTMLElement => h('td', { class: 'number' }, text);
    const row = h(
      'tr',
      {},
      h('th', { scope: 'row' }, toggle),
      number(measured === 0 ? NOT_MEASURED : count(present)),
      number(count(measured)),
      number(count(notMeasured)),
    );
    if (!unfolded) {
      return [row];
    }
    const more = present - cases.length;
    const body = h(
      'td',
      { colspan: 4 },
      cases.length === 0
        ? h('p', { class: 'muted' }, measured === 0 ? '' : 'No case.')
        : h('ul', { class: 'finding-cases' }, ...cases.map((one) => this.item(one))),
      more > 0 ? h('p', { class: 'muted' }, `and ${count(more)} more.`) : null,
      notMeasured > 0 && reason !== null ? h('p', { class: 'muted' }, reason) : null,
    );
    return [row, h('tr', { class: 'finding-body' }, body)];
  }

  private item({ message, question, evidence }: DetectorReport['cases'][number]): HTMLElement {
    const link = h(
      'button',
      { class: 'link', type: 'button', title: 'Open the transcript at this message' },
      ...shownText(oneLine(question)),
    );
    link.addEventListener('click', () => this.open(message));
    return h('li', {}, link, h('p', { class: 'muted evidence' }, evidence));
  }
}
