/**
 * The failure taxonomy of a run: the classes under adjustable thresholds, the agreement with the
 * user's labels, the findings, and all cases.
 */

import {
  LABEL_FILTERS,
  describeLeftOut,
  NO_FILTER,
  type TaxonomyFilter,
  type TaxonomyThresholds,
  type TaxonomyView,
  VERDICTS,
  type DetectorReport,
} from '../../src/domain/taxonomy.ts';
import {
  CASES_SHOWN,
  isTaxonomyState,
  TAXONOMY_REQUESTS,
  type LabelDraft,
  type TaxonomyFromHost,
  type TaxonomyToHost,
} from '../../src/shared/protocols/taxonomyProtocol.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { h, linkButton, replace } from '../common/dom.ts';
import { count, NOT_MEASURED, toSingleLine, plural } from '../common/format.ts';
import type { Host, MessageHandlers } from '../common/host.ts';
import { RequestSender } from '../common/requests.ts';
import { createTextNodes } from '../common/shownText.ts';
import { button, progressRing } from '../common/toolkit.ts';
import { CaseList } from './cases.ts';
import { ClassTable } from './classTable.ts';
import { ThresholdForm } from './thresholdForm.ts';
import { describeLabelAgreement, countDisagreements } from './words.ts';

/** The value of a dropdown without a filter. No role has an empty name. */
const ANY = '';
const LABEL_WORDS = {
  all: 'Labeled or not',
  labelled: 'Labeled',
  unlabelled: 'Not labeled',
  disagreement: 'Disagreement',
} as const;

export class TaxonomyPanel {
  private readonly host: Host<TaxonomyToHost>;
  private readonly requests: RequestSender<typeof TAXONOMY_REQUESTS>;
  private readonly title = h('h1', {});
  private readonly subtitle = h('span', { class: 'muted' });
  private readonly grown = h('span', { class: 'muted', role: 'status' });
  private readonly status = h('div', { class: 'working', role: 'status' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly table = new ClassTable((name) =>
    this.choose({ verdict: this.filter.verdict === name ? null : name }),
  );
  private readonly form = new ThresholdForm((thresholds) => {
    this.thresholds = thresholds;
    this.ask();
  });
  private readonly agreement = h('p', {});
  private readonly disagreeing = button('', () => this.choose({ verdict: null, role: null, labels: 'disagreement' }));
  private readonly classChooser = new Chooser(
    'Class',
    (value) => this.choose({ verdict: VERDICTS.find((name) => name === value) ?? null }),
    { choices: [[ANY, 'All classes'], ...VERDICTS.map((name): Choice => [name, name])] },
  );
  private readonly roleChooser = new Chooser('Role', (value) => this.choose({ role: value === ANY ? null : value }));
  private readonly labelChooser = new Chooser(
    'Labels',
    (value) => this.choose({ labels: LABEL_FILTERS.find((name) => name === value) ?? 'all' }),
    { choices: LABEL_FILTERS.map((name) => [name, LABEL_WORDS[name]]) },
  );
  private readonly all = button('All cases', () => this.choose(NO_FILTER));
  private readonly findings: Findings;
  private readonly cases: CaseList;
  private readonly body: HTMLElement;
  private readonly leftOut = h('p', { class: 'muted' });
  private readonly empty = h(
    'div',
    { class: 'welcome' },
    h('h2', {}, 'No cases yet'),
    h(
      'p',
      { class: 'muted' },
      'Cases come from contexts with several alternatives, in training and in diagnostic samples. Train for a few steps, or run c3 diagnose --sample, then refresh.',
    ),
    this.leftOut,
  );
  private run: string | null = null;
  private view: TaxonomyView | null = null;
  /** Null until the thresholds of the workspace are known. */
  private thresholds: TaxonomyThresholds | null = null;
  private filter: TaxonomyFilter = NO_FILTER;
  private limit = CASES_SHOWN;
  private unfolded: number | null = null;
  private finding: string | null = null;
  private draft: LabelDraft | null = null;
  /** Scroll position before the editor discarded the page; null once it is restored. */
  private scroll: number | null = null;

  private readonly received: MessageHandlers<TaxonomyFromHost> = {
    opened: (message) => {
      this.run = message.run;
      this.title.textContent = message.title;
      this.subtitle.textContent = message.subtitle;
      this.keep();
    },
    working: () => {
      this.banner.textContent = '';
      replace(this.status, progressRing('Reading'), h('span', {}, 'Reading the buckets of the run'));
    },
    failed: (message) => {
      replace(this.status);
      this.banner.textContent = message.message;
    },
    view: (message) => this.show(message.view),
    reply: (message) => this.requests.receive(message),
    grown: (message) => {
      const more = this.view === null ? 0 : message.buckets - this.view.buckets - this.view.leftOut.otherDistribution;
      this.grown.textContent = more > 0 ? `${count(more)} new ${more === 1 ? 'bucket' : 'buckets'}` : '';
    },
  };

  constructor(root: HTMLElement, host: Host<TaxonomyToHost>) {
    this.host = host;
    this.requests = new RequestSender(TAXONOMY_REQUESTS, (message) => host.post(message));
    const state = host.getState();
    if (isTaxonomyState(state)) {
      ({
        filter: this.filter,
        limit: this.limit,
        opened: this.unfolded,
        finding: this.finding,
        draft: this.draft,
        scroll: this.scroll,
      } = state);
    }
    const open = (message: number): void => host.post({ type: 'open', message });
    this.findings = new Findings(this.finding, open, (name) => {
      this.finding = name;
      this.keep();
    });
    this.cases = new CaseList(this.unfolded, this.draft, {
      open,
      label: (bucket, name, note) => {
        this.requests.ask('label', { bucket, name, note }, (refusal) => this.labeled(bucket, refusal));
      },
      draft: (draft) => {
        this.draft = draft;
        this.keep();
      },
      unfold: (bucket) => this.unfold(bucket),
      more: (limit) => {
        this.limit = limit;
        this.ask();
      },
    });
    const filters = h(
      'div',
      { class: 'filters', role: 'group', 'aria-label': 'Filters' },
      this.classChooser.element,
      this.roleChooser.element,
      this.labelChooser.element,
      this.all,
    );
    this.body = h(
      'div',
      { class: 'taxonomy' },
      h(
        'section',
        { class: 'overview', 'aria-label': 'Classes' },
        this.table.element,
        h(
          'div',
          { class: 'beside' },
          this.form.element,
          h(
            'section',
            { class: 'agreement', 'aria-label': 'Agreement with your labels' },
            h('h2', {}, 'Your labels'),
            this.agreement,
            this.disagreeing,
          ),
        ),
      ),
      this.findings.element,
      h('section', { 'aria-label': 'Cases' }, h('h2', {}, 'Cases'), filters, this.cases.element),
    );
    this.body.hidden = true;
    this.empty.hidden = true;
    const again = button('Refresh', () => host.post({ type: 'readAgain' }), {
      title: 'Read the buckets of the run again',
    });
    replace(
      root,
      h(
        'header',
        { class: 'panel-head' },
        this.title,
        this.subtitle,
        h('span', { class: 'push actions' }, this.grown, again),
      ),
      this.banner,
      this.status,
      this.empty,
      this.body,
    );
    host.listen(this.received);
    window.addEventListener(
      'scroll',
      () => {
        if (this.scroll === null) {
          this.keep();
        }
      },
      { passive: true },
    );
    host.post({ type: 'ready', filter: this.filter, limit: this.limit });
  }

  /** @param refusal the reason why the label was not written; null if it was */
  private labeled(bucket: number, refusal: string | null): void {
    if (refusal === null) {
      this.banner.textContent = '';
      this.cases.labelled(bucket);
      this.read(bucket);
      // The counts may have changed.
      this.ask();
    } else if (!this.cases.refused(bucket, refusal)) {
      this.banner.textContent = refusal;
    }
  }

  /** Requests the stored data of a case. */
  private read(bucket: number): void {
    this.requests.ask('case', { bucket }, (detail) => {
      this.cases.show(detail);
      this.scrollBack();
    });
  }

  private show(view: TaxonomyView): void {
    this.view = view;
    replace(this.status);
    this.banner.textContent = '';
    this.grown.textContent = '';
    this.empty.hidden = view.buckets > 0;
    this.leftOut.textContent = (view.buckets > 0 ? null : describeLeftOut(view.leftOut)) ?? '';
    this.body.hidden = view.buckets === 0;
    if (this.thresholds === null) {
      this.thresholds = view.thresholds;
      this.form.set(view.thresholds);
    }
    this.table.update(view, this.filter.verdict);
    this.agreement.textContent = describeLabelAgreement(view.agreement);
    const apart = countDisagreements(view.agreement);
    this.disagreeing.hidden = apart === 0;
    this.disagreeing.textContent = `Show the ${count(apart)} that ${apart === 1 ? 'disagrees' : 'disagree'}`;
    this.roleChooser.choices = [[ANY, 'All roles'], ...view.roles.map((role): Choice => [role, role])];
    this.markFilter();
    this.findings.update(view);
    this.cases.update(view);
    if (this.unfolded === null || !view.rows.some(({ bucket }) => bucket === this.unfolded)) {
      this.scrollBack();
    }
  }

  private choose(change: Partial<TaxonomyFilter>): void {
    this.filter = { ...this.filter, ...change };
    this.limit = CASES_SHOWN;
    this.markFilter();
    this.ask();
  }

  private markFilter(): void {
    const { verdict, role, labels } = this.filter;
    this.classChooser.value = verdict ?? ANY;
    this.roleChooser.value = role ?? ANY;
    this.labelChooser.value = labels;
    this.all.toggleAttribute('disabled', verdict === null && role === null && labels === 'all');
  }

  private ask(): void {
    this.keep();
    if (this.thresholds !== null) {
      this.host.post({ type: 'show', thresholds: this.thresholds, filter: this.filter, limit: this.limit });
    }
  }

  private unfold(bucket: number | null): void {
    this.unfolded = bucket;
    this.keep();
    if (bucket !== null) {
      this.read(bucket);
    }
  }

  private scrollBack(): void {
    if (this.scroll === null) {
      return;
    }
    window.scrollTo(0, this.scroll);
    this.scroll = null;
  }

  private keep(): void {
    if (this.run === null) {
      return;
    }
    this.host.setState({
      version: 2,
      run: this.run,
      filter: this.filter,
      limit: this.limit,
      opened: this.unfolded,
      finding: this.finding,
      draft: this.draft,
      scroll: this.scroll ?? Math.round(window.scrollY),
    });
  }
}

/** The findings of the detectors in the run's last episodes. Each finding expands to its cases. */
class Findings {
  readonly element = h('section', { class: 'findings', 'aria-label': 'Findings in episodes' });
  private readonly open: (message: number) => void;
  private readonly onUnfold: (name: string | null) => void;
  private drawn = '';
  private unfolded: string | null;

  /**
   * @param open shows a message in its transcript
   * @param onUnfold receives the name of the expanded finding, or null
   */
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
      `${plural(episodes, 'episode')} of the last evaluation, or of the last training step where there was none`,
    );
    const table = h(
      'table',
      { class: 'stacked' },
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
    const toggle = linkButton(
      () => {
        this.unfolded = unfolded ? null : name;
        this.onUnfold(this.unfolded);
        redraw();
        this.element.querySelector<HTMLElement>(`[data-finding="${CSS.escape(name)}"]`)?.focus();
      },
      { 'aria-expanded': String(unfolded), 'data-finding': name },
      name,
    );
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
    const link = linkButton(
      () => this.open(message),
      { title: 'Open the transcript at this message' },
      ...createTextNodes(toSingleLine(question)),
    );
    return h('li', {}, link, h('p', { class: 'muted evidence' }, evidence));
  }
}
