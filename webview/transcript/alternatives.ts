/** The alternatives of one bucket: text, returns, leave-one-out credit, cost and whether re-execution gave the same bytes. */
import { continuationWords, ownWords } from '../../src/shared/continuation.ts';
import { DRAWS_WORDS, type Draws } from '../../src/shared/draws.ts';
import type { Alternative, BucketView } from '../../src/shared/records.ts';
import { beginning } from '../../src/shared/visible.ts';
import { creditCell } from '../common/creditBar.ts';
import { h, icon } from '../common/dom.ts';
import { bounds, count, NOT_MEASURED, returnText } from '../common/format.ts';
import { markOf } from '../common/returnMark.ts';
import { shownText } from '../common/shownText.ts';
import { verificationBadge } from '../common/verificationBadge.ts';
import { meanReturn } from './replayWords.ts';

/** Marks drawn one by one; more returns than this are only counted. */
const MARKS = 12;
/** Longest text shown before it must be unfolded. */
const CLAMP = 280;

/** Keeps one list on screen while alternatives arrive: what is there is not drawn again, so nothing moves under the reader. */
export class BucketList {
  readonly element: HTMLElement;
  private readonly list = h('ol', { class: 'alternatives' });
  private readonly note = h('span', { class: 'bucket-note' });
  private readonly other = h('p', { class: 'other-distribution' });
  private readonly items = new Map<number, { readonly drawn: string; readonly element: HTMLElement }>();
  private readonly unfolded = new Set<number>();
  private readonly message: number;
  private readonly replayed: boolean;
  private readonly open: (message: number) => void;
  private draws: Draws | null = null;

  constructor(bucket: BucketView, draws: Draws | null | undefined, message: number, open: (message: number) => void) {
    this.message = message;
    this.replayed = bucket.origin === 'request';
    this.open = open;
    const title = bucket.origin === 'training' ? 'Alternatives in the run' : 'Replayed alternatives';
    // Every figure carries its own words for a screen reader.
    const captions = h('div', { class: 'captions', 'aria-hidden': 'true' }, h('span', {}, 'Returns'), h('span', {}, 'Credit'));
    this.element = h('section', { class: 'bucket', 'aria-label': title }, h('h3', {}, title, ' ', this.note), this.other, captions, this.list);
    this.update(bucket, draws);
  }

  /** Shows what is new or changed in the bucket, in the bucket's order; what is not known of its random numbers stays as it was. */
  update(bucket: BucketView, draws?: Draws | null): void {
    if (draws !== undefined) this.draws = draws;
    const { continuation } = bucket;
    this.other.textContent = continuation === null ? '' : `${continuationWords(continuation)}. ${ownWords(continuation)}`;
    const calls = bucket.alternatives.reduce((sum, alternative) => sum + alternative.evaluatorCalls, 0);
    const { length } = bucket.alternatives;
    const further = bucket.omitted === undefined ? '' : ` of ${count(length + bucket.omitted)} shown, the others in the tree`;
    this.note.textContent = `${count(length)}${further} · ${count(calls)} evaluator ${calls === 1 ? 'call' : 'calls'}${this.draws === null ? '' : ` · ${DRAWS_WORDS[this.draws]}`}`;
    bucket.alternatives.forEach((alternative, place) => {
      const drawn = JSON.stringify(alternative);
      const present = this.items.get(alternative.decision);
      const element = present?.drawn === drawn ? present.element : renewed(present?.element, this.item(alternative));
      const there = this.list.children[place] ?? null;
      if (there !== element) this.list.insertBefore(element, there);
      this.items.set(alternative.decision, { drawn, element });
    });
  }

  private item(alternative: Alternative): HTMLElement {
    const own = alternative.decision === this.message;
    const tags = h(
      'span',
      { class: 'tags' },
      own ? h('span', { class: 'tag' }, 'this message') : null,
      alternative.original && !own ? h('span', { class: 'tag' }, 'original') : null,
      alternative.finish === 'typed' ? h('span', { class: 'tag' }, 'typed') : null,
      alternative.finish === 'length' ? h('span', { class: 'tag cut' }, 'cut off') : null,
    );
    return h(
      'li',
      { class: own ? 'alternative own' : 'alternative', 'aria-label': `Alternative ${String(alternative.index + 1)}` },
      h('span', { class: 'number' }, String(alternative.index + 1)),
      h('div', { class: 'alternative-body' }, h('div', { class: 'words' }, this.words(alternative), own ? null : this.opener(alternative.decision)), tags, figures(alternative, this.replayed)),
    );
  }

  private words(alternative: Alternative): HTMLElement {
    const { text, decision } = alternative;
    if (text.trim() === '') return h('p', { class: 'alternative-text empty' }, 'empty message');
    const long = text.length > CLAMP;
    const clamped = long && !this.unfolded.has(decision);
    const shown = h('p', { class: 'alternative-text' }, ...shownText(clamped ? beginning(text, CLAMP) : text), clamped ? '…' : null);
    if (!long) return shown;
    const toggle = h('button', { class: 'link', type: 'button', 'aria-expanded': String(this.unfolded.has(decision)) }, this.unfolded.has(decision) ? 'less' : 'more');
    toggle.addEventListener('click', () => {
      if (!this.unfolded.delete(decision)) this.unfolded.add(decision);
      const fresh = this.words(alternative);
      shown.replaceWith(fresh);
      fresh.querySelector('button')?.focus();
    });
    shown.append(' ', toggle);
    return shown;
  }

  private opener(decision: number): HTMLElement {
    const show = h('button', { class: 'link', type: 'button', title: 'Show this message in the tree' }, 'show');
    show.addEventListener('click', () => { this.open(decision); });
    return show;
  }
}

/** The item with its new tags and figures. Its words and buttons stay: one of them may have the keyboard, or be half pressed. */
function renewed(present: HTMLElement | undefined, fresh: HTMLElement): HTMLElement {
  for (const part of present === undefined ? [] : ['.tags', '.figures']) {
    const next = fresh.querySelector(part);
    if (next !== null) present?.querySelector(part)?.replaceWith(next);
  }
  return present ?? fresh;
}

/** Returns, credit and what stands behind them; the same columns in every alternative. */
function figures(alternative: Alternative, replayed: boolean): HTMLElement {
  const { credit, returns, evaluatorCalls, verification } = alternative;
  // A message of the run is verified when somebody asks for it; a replay always says where it stands.
  const mark = verification === null || (!replayed && verification.state === 'unverified') ? null : verification;
  const interval = credit === null ? 'credit not measured' : `${bounds(credit.low, credit.high) ?? 'no interval'}, n = ${count(credit.n)}`;
  const cost = `${count(evaluatorCalls)} evaluator ${evaluatorCalls === 1 ? 'call' : 'calls'}`;
  return h(
    'div',
    { class: 'figures' },
    h('span', { class: 'marks' }, ...marks(returns), h('span', { class: 'mean' }, returns.length === 0 ? NOT_MEASURED : returnText(meanReturn(returns)))),
    creditCell(credit),
    h('span', { class: 'muted behind' }, `${interval} · ${cost}`, mark === null ? null : ' · ', mark === null ? null : verificationBadge(mark)),
    mark?.state === 'different' || mark?.state === 'notComparable' ? h('span', { class: 'muted behind', 'aria-hidden': 'true' }, mark.detail) : null,
  );
}

function marks(returns: readonly (number | null)[]): readonly HTMLElement[] {
  if (returns.length > MARKS) return [h('span', { class: 'of' }, `mean of ${count(returns.length)}:`)];
  return returns.map((value) => {
    const mark = markOf(value, value === null);
    return h('span', { class: `tone-${mark.tone}`, title: `return ${mark.label}` }, mark.icon === null ? mark.label : icon(mark.icon));
  });
}
