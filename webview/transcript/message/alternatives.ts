/**
 * Lists the alternatives of a bucket, equal ones only once: text, returns, credit, cost, and whether
 * re-execution gave the same bytes.
 */

import {
  describeOtherContinuation,
  describeOwnContinuation,
  DRAWS_WORDS,
  groupEqualAlternatives,
  sortByInterest,
  worstMark,
  type Draws,
  type Alternative,
  type BucketView,
  type EqualAlternatives,
} from '../../../src/domain/replay.ts';
import { toOutcome, type ReturnScale } from '../../../src/shared/credit/returns.ts';
import { takeBeginning } from '../../../src/shared/text/visible.ts';
import { createCreditCell, createVerdict } from '../../common/creditBar.ts';
import { h, icon, linkButton } from '../../common/dom.ts';
import { count, NOT_MEASURED, plural, formatReturnValue } from '../../common/format.ts';
import { chooseReturnMark } from '../../common/returnMark.ts';
import { createTextNodes } from '../../common/shownText.ts';
import { term } from '../../common/term.ts';
import { verificationBadge } from '../../common/verificationBadge.ts';
import { computeScoredMean } from '../replay/replayWords.ts';
import { createCreditBasis } from './creditFact.ts';

/** Largest number of returns that are drawn one by one. More returns are only counted. */
const MARKS = 12;
/** Number of characters of a text that are shown until it is unfolded. */
const CLAMP = 280;

/** The place of a list in the pane, and what it needs from there. */
interface BucketPlace {
  /** Scale of the returns of the run; null if its evaluator is not known. */
  readonly scale: ReturnScale | null;
  readonly draws: Draws | null | undefined;
  /** Number of the list among those of the run or of replays, from 1. Makes its label unique. */
  readonly place: number;
  /** The message whose alternatives are listed. */
  readonly message: number;
  readonly open: (message: number) => void;
}

/** Keeps a list on screen while alternatives arrive. Does not redraw items that are there. */
export class BucketList {
  readonly element: HTMLElement;
  private readonly list = h('ol', { class: 'alternatives' });
  private readonly note = h('span', { class: 'bucket-note' });
  private readonly other = h('p', { class: 'other-distribution' });
  private readonly items = new Map<string, { readonly drawn: string; readonly element: HTMLElement }>();
  private readonly unfolded = new Set<number>();
  private readonly message: number;
  private readonly scale: ReturnScale | null;
  /** True if the run itself sampled the alternatives. */
  readonly own: boolean;
  private readonly replayed: boolean;
  private readonly open: (message: number) => void;
  private draws: Draws | null = null;

  constructor(bucket: BucketView, { scale, draws, place, message, open }: BucketPlace) {
    this.scale = scale;
    this.message = message;
    this.replayed = bucket.origin === 'request';
    this.open = open;
    this.own = bucket.origin === 'training';
    const title = this.own ? 'Alternatives in the run' : 'Replayed alternatives';
    const captions = h(
      'div',
      { class: 'captions' },
      h('span', {}, term('return', 'Returns')),
      h('span', {}, term('credit', 'Credit')),
    );
    const heading = h(
      'h3',
      {},
      this.replayed ? term('replay', 'Replayed') : 'Alternatives',
      this.replayed ? ' alternatives ' : ' in the run ',
      this.note,
    );
    this.element = h(
      'section',
      { class: 'bucket', 'aria-label': place === 1 ? title : `${title} ${place}` },
      heading,
      this.other,
      captions,
      this.list,
    );
    this.update(bucket, draws);
  }

  /**
   * Shows what is new or changed in the bucket. Messages of the run and typed ones come before sampled
   * ones.
   * @param draws how the random numbers were drawn; undefined to keep the last known value
   */
  update(bucket: BucketView, draws?: Draws | null): void {
    if (draws !== undefined) {
      this.draws = draws;
    }
    const { continuation } = bucket;
    this.other.textContent =
      continuation === null
        ? ''
        : `${describeOtherContinuation(continuation)}. ${describeOwnContinuation(continuation)}`;
    const calls = bucket.alternatives.reduce((sum, alternative) => sum + alternative.evaluatorCalls, 0);
    const { length } = bucket.alternatives;
    const groups = sortByInterest(groupEqualAlternatives(bucket.alternatives));
    const different =
      groups.length === length ? count(length) : `${count(groups.length)} different of ${count(length)}`;
    const further =
      bucket.omitted === undefined ? '' : ` of ${count(length + bucket.omitted)} shown, the others in the tree`;
    const drawn = this.draws === null ? '' : ` · ${DRAWS_WORDS[this.draws]}`;
    this.note.textContent = `${different}${further} · ${plural(calls, 'evaluator call')}${drawn}`;
    groups.forEach((group, place) => {
      const { key } = group;
      const state = JSON.stringify([place, group.all]);
      const present = this.items.get(key);
      const element =
        present?.drawn === state ? present.element : renewItem(present?.element, this.item(group, place + 1));
      const there = this.list.children[place] ?? null;
      if (there !== element) {
        this.list.insertBefore(element, there);
      }
      this.items.set(key, { drawn: state, element });
    });
  }

  private item(group: EqualAlternatives, number: number): HTMLElement {
    const { first, all } = group;
    const own = all.some(({ message }) => message === this.message);
    const tags = h(
      'span',
      { class: 'tags' },
      all.length > 1
        ? h('span', { class: 'tag copies', title: `Sampled ${count(all.length)} times` }, `×${count(all.length)}`)
        : null,
      own ? h('span', { class: 'tag' }, 'this message') : null,
      !own && all.some(({ original }) => original) ? h('span', { class: 'tag' }, 'original') : null,
      first.finish === 'typed' ? h('span', { class: 'tag' }, 'typed') : null,
      first.finish === 'length' ? h('span', { class: 'tag cut' }, 'cut off') : null,
    );
    return h(
      'li',
      { class: own ? 'alternative own' : 'alternative', 'aria-label': `Alternative ${number}` },
      h('span', { class: 'number' }, String(number)),
      h(
        'div',
        { class: 'alternative-body' },
        h('div', { class: 'words' }, this.words(first), own ? null : this.opener(first.message)),
        tags,
        createFigures(group, this.scale, this.replayed),
      ),
    );
  }

  private words(alternative: Alternative): HTMLElement {
    const { text, message } = alternative;
    if (text.trim() === '') {
      return h('p', { class: 'alternative-text empty' }, 'empty message');
    }
    const long = text.length > CLAMP;
    const clamped = long && !this.unfolded.has(message);
    const shown = h(
      'p',
      { class: 'alternative-text' },
      ...createTextNodes(clamped ? takeBeginning(text, CLAMP) : text),
      clamped ? '…' : null,
    );
    if (!long) {
      return shown;
    }
    const toggle = linkButton(
      () => {
        if (!this.unfolded.delete(message)) {
          this.unfolded.add(message);
        }
        const fresh = this.words(alternative);
        shown.replaceWith(fresh);
        fresh.querySelector('button')?.focus();
      },
      { 'aria-expanded': String(this.unfolded.has(message)) },
      this.unfolded.has(message) ? 'less' : 'more',
    );
    shown.append(' ', toggle);
    return shown;
  }

  private opener(message: number): HTMLElement {
    return linkButton(() => this.open(message), { title: 'Show this message in the tree' }, 'show');
  }
}

/**
 * Returns the item with new tags and figures. Its text and buttons stay, because one of them may have
 * the focus or be pressed.
 */
function renewItem(present: HTMLElement | undefined, fresh: HTMLElement): HTMLElement {
  for (const part of present === undefined ? [] : ['.number', '.tags', '.figures']) {
    const next = fresh.querySelector(part);
    if (next !== null) {
      present?.querySelector(part)?.replaceWith(next);
    }
  }
  present?.setAttribute('aria-label', fresh.getAttribute('aria-label') ?? '');
  return present ?? fresh;
}

/** Creates the returns, the credit and its basis, in the same columns for every alternative. */
function createFigures(group: EqualAlternatives, scale: ReturnScale | null, replayed: boolean): HTMLElement {
  const { credit } = group.first;
  const returns = group.all.flatMap((alternative) => alternative.returns);
  const calls = group.all.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);
  const worst = worstMark(group);
  // A message of the run is verified only on request, so "unverified" says nothing. A replay always
  // shows its state.
  const mark = worst === null || (!replayed && worst.state === 'unverified') ? null : worst;
  const measured = credit !== null && credit.verdict !== 'alone';
  return h(
    'div',
    { class: 'figures' },
    h(
      'span',
      { class: 'marks' },
      ...createReturnMarks(returns, scale),
      h('span', { class: 'mean' }, returns.length === 0 ? NOT_MEASURED : formatReturnValue(computeScoredMean(returns))),
    ),
    createCreditCell(credit),
    credit === null
      ? h('span', { class: 'behind muted' }, 'credit not measured')
      : h('span', { class: 'behind' }, createVerdict(credit)),
    h(
      'span',
      { class: 'muted behind' },
      ...(measured
        ? [...createCreditBasis(credit, false), `, ${count(calls)} here`]
        : [plural(calls, 'evaluator call')]),
      mark === null ? null : ' · ',
      mark === null ? null : verificationBadge(mark),
    ),
    mark?.state === 'different' || mark?.state === 'notComparable'
      ? h('span', { class: 'muted behind', 'aria-hidden': 'true' }, mark.detail)
      : null,
  );
}

function createReturnMarks(returns: readonly (number | null)[], scale: ReturnScale | null): readonly HTMLElement[] {
  if (returns.length > MARKS) {
    return [h('span', { class: 'of' }, `mean of ${count(returns.length)}:`)];
  }
  return returns.map((value) => {
    const mark = chooseReturnMark(value, value === null ? 'masked' : toOutcome(value, scale));
    return h(
      'span',
      { class: `tone-${mark.tone}`, title: `return ${mark.label}` },
      mark.icon === null ? mark.label : icon(mark.icon),
    );
  });
}
