/** The cases that match the filters. A case can be expanded, labeled and opened. */

import {
  VERDICT_MEANING,
  VERDICTS,
  isVerdictName,
  type TaxonomyRow,
  type TaxonomyView,
} from '../../src/domain/taxonomy.ts';
import {
  CASES_MOST,
  CASES_SHOWN,
  type CaseDetail,
  type LabelDraft,
} from '../../src/shared/protocols/taxonomyProtocol.ts';
import { takeBeginning, showInvisibleControls } from '../../src/shared/text/visible.ts';
import { arrange, badge, focusedIn, h, icon, linkButton } from '../common/dom.ts';
import { count, toSingleLine } from '../common/format.ts';
import { hasModifier, indexAfterKey } from '../common/keyBindings.ts';
import { createTextNodes } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';
import { CaseDetailView, type CaseActions } from './caseDetail.ts';
import { describeCaseOrigin } from './words.ts';

export interface CaseListActions extends CaseActions {
  /** Receives the case that is expanded. */
  unfold(bucket: number | null): void;
  more(limit: number): void;
}

interface Item {
  readonly element: HTMLElement;
  readonly toggle: HTMLButtonElement;
  readonly row: TaxonomyRow;
  readonly key: string;
}

export class CaseList {
  readonly element: HTMLElement;
  private readonly list = h('ul', { class: 'cases', 'aria-label': 'Cases' });
  private readonly summary = h('p', { class: 'muted', role: 'status' });
  private readonly actions: CaseListActions;
  private readonly more: HTMLElement;
  private items: readonly Item[] = [];
  private detail: CaseDetailView | null = null;
  private unfolded: number | null;
  private draft: LabelDraft | null;

  constructor(unfolded: number | null, draft: LabelDraft | null, actions: CaseListActions) {
    this.actions = actions;
    this.unfolded = unfolded;
    this.draft = draft;
    this.more = button('Show more', () => actions.more(Math.min(CASES_MOST, this.items.length + CASES_SHOWN)));
    this.list.addEventListener('keydown', (event) => this.key(event));
    const keys = h(
      'p',
      { class: 'muted keys' },
      'On a case: ',
      h('kbd', {}, 'Enter'),
      ' expands it, ',
      h('kbd', {}, 'o'),
      ' opens its transcript, ',
      h('kbd', {}, '\u2191'),
      ' ',
      h('kbd', {}, '\u2193'),
      ' move, ',
      ...VERDICTS.flatMap((name, index) => [
        h('kbd', {}, String(index + 1)),
        ` labels it ${name}${index === VERDICTS.length - 1 ? '.' : ', '}`,
      ]),
    );
    this.element = h('div', {}, this.summary, keys, this.list, this.more);
  }

  update({ rows, matching, buckets }: TaxonomyView): void {
    const focused = this.items.find(({ element }) => focusedIn(element) !== null);
    const known = new Map(this.items.map((item) => [item.row.bucket, item]));
    this.items = rows.map((row) => {
      const key = JSON.stringify(row);
      const before = known.get(row.bucket);
      return before?.key === key ? before : this.item(row, key);
    });
    const now = new Set(this.items);
    const same = known.size === this.items.length && [...known.values()].every((item) => now.has(item));
    if (!same) {
      const inDetail = this.detail === null ? null : focusedIn(this.detail.element);
      arrange(
        this.list,
        this.items.map(({ element }) => element),
      );
      this.unfold(this.unfolded, false);
      // Restores the focus, because its element was moved or recreated.
      if (inDetail instanceof HTMLElement && inDetail.isConnected) {
        inDetail.focus();
      } else if (focused !== undefined) {
        (this.items.find(({ row }) => row.bucket === focused.row.bucket) ?? this.items[0])?.toggle.focus();
      }
    }
    this.summary.textContent =
      matching === 0
        ? 'No case matches these filters.'
        : `${count(matching)} of ${count(buckets)} buckets${this.items.length < matching ? `, the first ${count(this.items.length)} are shown` : ''}`;
    this.more.hidden = this.items.length >= matching || this.items.length >= CASES_MOST;
  }

  show(detail: CaseDetail): void {
    if (this.detail?.bucket === detail.bucket) {
      this.detail.show(detail);
    }
  }

  labelled(bucket: number): void {
    if (this.detail?.bucket === bucket) {
      this.detail.saved();
    }
  }

  /** Shows why a label was refused. Returns false, for the caller to show it, if not expanded. */
  refused(bucket: number, message: string): boolean {
    if (this.detail?.bucket !== bucket) {
      return false;
    }
    this.detail.refused(message);
    return true;
  }

  private item(row: TaxonomyRow, key: string): Item {
    const { role, origin, iteration, question, verdict, published, evidence, label } = row;
    const disagrees = label !== null && isVerdictName(label.name) && label.name !== verdict;
    const toggle = h(
      'button',
      { class: 'case', type: 'button', 'aria-expanded': 'false' },
      icon('chevron'),
      h(
        'span',
        { class: 'case-class' },
        h('span', { title: VERDICT_MEANING[verdict] }, verdict),
        published === verdict ? null : h('span', { class: 'muted' }, `was ${published}`),
      ),
      h(
        'span',
        { class: 'case-role' },
        h('span', { class: 'role', title: role }, role),
        h('span', { class: 'muted' }, describeCaseOrigin(origin, iteration)),
      ),
      h(
        'span',
        { class: 'case-words' },
        h('span', { class: 'case-question' }, ...createTextNodes(toSingleLine(question))),
        h('span', { class: 'evidence muted' }, evidence),
      ),
      h(
        'span',
        { class: 'case-label' },
        label === null ? null : badge(label.name, 'plain', disagrees ? 'Your label differs' : 'Your label'),
        disagrees ? h('span', { class: 'muted' }, 'disagrees') : null,
      ),
    );
    toggle.addEventListener('click', () => this.unfold(this.unfolded === row.bucket ? null : row.bucket, true));
    const open = linkButton(
      () => {
        if (row.message !== null) {
          this.actions.open(row.message);
        }
      },
      {
        class: 'link case-open',
        title: 'Open the transcript at this message',
        'aria-label': `Open the transcript of the case: ${role}, ${showInvisibleControls(takeBeginning(toSingleLine(question), 80))}`,
      },
      'Open',
    );
    open.hidden = row.message === null;
    return {
      element: h('li', { 'data-bucket': row.bucket }, h('div', { class: 'case-head' }, toggle, open)),
      toggle,
      row,
      key,
    };
  }

  private unfold(bucket: number | null, byUser: boolean): void {
    this.unfolded = bucket;
    for (const { toggle, row } of this.items) {
      toggle.setAttribute('aria-expanded', String(row.bucket === bucket));
    }
    const item = this.items.find(({ row }) => row.bucket === bucket);
    if (item === undefined) {
      this.detail?.element.remove();
    } else {
      if (this.detail?.bucket !== item.row.bucket) {
        this.detail?.element.remove();
        const { bucket: of } = item.row;
        this.detail = new CaseDetailView(of, this.draft?.bucket === of ? this.draft : null, {
          ...this.actions,
          draft: (draft) => this.keepDraft(draft),
        });
      }
      if (this.detail.element.parentElement !== item.element) {
        item.element.append(this.detail.element);
      }
    }
    if (byUser || item !== undefined) {
      this.actions.unfold(bucket);
    }
  }

  private keepDraft(draft: LabelDraft | null): void {
    this.draft = draft;
    this.actions.draft(draft);
  }

  private key(event: KeyboardEvent): void {
    const at = this.items.findIndex(({ toggle }) => toggle === event.target);
    const item = this.items[at];
    if (item === undefined || hasModifier(event)) {
      return;
    }
    const verdict = VERDICTS[Number(event.key) - 1];
    const target = indexAfterKey(event.key, at, this.items.length, ['ArrowUp', 'ArrowDown']);
    if (target !== undefined) {
      this.items[target]?.toggle.focus();
    } else if (event.key === 'o' && item.row.message !== null) {
      this.actions.open(item.row.message);
    } else if (/^[1-9]$/u.test(event.key) && verdict !== undefined) {
      this.actions.label(item.row.bucket, verdict, item.row.label?.note ?? '');
    } else {
      return;
    }
    event.preventDefault();
  }
}
