/** The pane beside the tree: one message in full, its alternatives, and the form to replay it. */

import { ESTIMATE_WORDS, type EstimateName, type MessageEstimate } from '../../../src/domain/credit.ts';
import { BY_HAND } from '../../../src/domain/episode.ts';
import type { StoredEpisodeNote } from '../../../src/domain/episodeNote.ts';
import { learnedFrom } from '../../../src/domain/message.ts';
import type { Draws, BucketView } from '../../../src/domain/replay.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';
import type { Headline } from '../../../src/shared/credit/headline.ts';
import { toOutcome, type ReturnScale } from '../../../src/shared/credit/returns.ts';
import type {
  MessageDetail,
  ReplayDefaults,
  ReplayState,
  TranscriptHeader,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost } from '../../../src/shared/transcript/whyLost.ts';
import { createCreditCell } from '../../common/creditBar.ts';
import { focusedIn, h, linkButton, replace, type Child } from '../../common/dom.ts';
import { count, bounds, NOT_MEASURED, signed, formatReturnValue } from '../../common/format.ts';
import { createReturnCell } from '../../common/returnMark.ts';
import { copyAsWritten, createTextNodes } from '../../common/shownText.ts';
import { term } from '../../common/term.ts';
import { divider } from '../../common/toolkit.ts';
import { createEventBlock, createMessagePlace } from '../events.ts';
import { findShownKey } from '../keys.ts';
import type { ReplayFields } from '../replay/drafts.ts';
import { ReplayForm, type ReplayFormEvents } from '../replay/replayForm.ts';
import { SettleControl } from '../replay/settle.ts';
import { BucketList } from './alternatives.ts';
import { CreditFact } from './creditFact.ts';
import { createFact } from './fact.ts';
import type { WithMathematics } from './formulas.ts';
import { MessageText, type TextLook } from './messageText.ts';
import { createVoteView } from './vote.ts';
import { WhyView } from './why.ts';

export interface DetailEvents extends ReplayFormEvents {
  /** Replays a message until its credit is decided or the replays are spent. */
  settle(message: number, replays: number): void;
  findLost(message: number): void;
  /** Shows the model input token by token. */
  tokens(message: number): void;
  /** Shows another message in the tree. */
  open(message: number): void;
  /** The display of texts changed, or a section was opened or closed. */
  arranged(): void;
  /** The pane was scrolled. */
  scrolled(): void;
}

export class DetailPane {
  readonly element = h('section', { class: 'detail', 'aria-label': 'Message', tabindex: -1 });
  private readonly events: DetailEvents;
  private readonly body = h('div', { class: 'detail-body' });
  private readonly whyView: WhyView;
  private form: ReplayForm | null = null;
  private shown: number | null = null;
  private readonly returned = h('span', {});
  private readonly noted = h('dl', { class: 'facts noted' });
  private credit: CreditFact | null = null;
  private settle: SettleControl | null = null;
  private scale: ReturnScale | null = null;
  /** The credit of the message on screen. */
  private headline: Headline | null = null;
  private readonly keys: KeysAndHashes;
  private estimates: EstimatesView | null = null;
  private lists = h('div', { class: 'buckets' });
  private readonly buckets = new Map<number, BucketList>();
  private readonly mathematics: WithMathematics;
  private readonly asWritten = h(
    'button',
    {
      class: 'toggle',
      type: 'button',
      'aria-pressed': 'false',
      title: `The exact text, in a monospace font (${findShownKey('written')})`,
    },
    'As written',
  );
  private text: MessageText | null = null;
  private look: TextLook = { asWritten: false, query: '' };

  constructor(events: DetailEvents, mathematics: WithMathematics) {
    this.events = events;
    this.mathematics = mathematics;
    this.whyView = new WhyView({
      open: (message) => events.open(message),
      settle: (message, replays) => events.settle(message, replays),
      findLost: (message) => events.findLost(message),
      cancelReplay: () => events.cancelReplay(),
      toggled: () => events.arranged(),
    });
    this.element.append(this.whyView.element, this.body);
    this.keys = new KeysAndHashes(() => events.arranged());
    copyAsWritten(this.element);
    this.asWritten.addEventListener('click', () => this.toggleWritten());
    this.element.addEventListener('scroll', () => events.scrolled());
  }

  /**
   * Marks the pane as busy while another message is on its way. The pane stays busy until the answer to
   * why the episode was lost is here too.
   * @param message the message that is awaited; null if none is
   */
  expect(message: number | null): void {
    this.element.setAttribute('aria-busy', String(message !== null && message !== this.shown));
  }

  /** Shows the question in full. */
  question(header: TranscriptHeader): void {
    this.leave();
    replace(
      this.body,
      h('div', { class: 'text-head' }, h('h2', {}, 'Question'), this.asWritten),
      this.textOf(header.question, false),
      h(
        'dl',
        { class: 'facts' },
        ...createFact('Expected answer', ...createTextNodes(header.answer)),
        ...createFact('Source', ...createTextNodes(header.source)),
      ),
    );
  }

  /**
   * Shows a message. Rebuilds the pane only for another message, so that nothing moves while the user
   * reads.
   * @param draft the unsent fields of its replay form
   */
  message(
    detail: MessageDetail,
    defaults: ReplayDefaults,
    replay: ReplayState | null,
    draft: ReplayFields | undefined,
  ): void {
    const { message } = detail;
    if (this.shown !== message.id) {
      this.build(detail, defaults);
      if (draft !== undefined) {
        this.form?.restore(draft);
      }
    }
    this.headline = message.credit;
    this.scale = detail.scale;
    replace(
      this.returned,
      createReturnCell(
        message.return,
        message.return === null ? null : toOutcome(message.return, detail.scale),
        message.byHand,
      ),
      message.leaves > 1 ? h('span', { class: 'muted' }, ` mean of ${count(message.leaves)}`) : null,
      message.byHand === true ? h('span', { class: 'muted' }, ` ${BY_HAND}`) : null,
    );
    replace(this.noted, ...createNotedFacts(detail.noted));
    this.credit?.update(message.credit, learnedFrom(message));
    this.keys.show(detail);
    this.estimates?.update(detail.estimates);
    for (const bucket of detail.buckets) {
      this.bucket(bucket, bucket.draws);
    }
    if (replay === null) {
      this.settle?.show(message.credit, null, false);
    } else {
      this.replay(replay);
    }
  }

  /** Shows the progress of a replay and the alternatives that have arrived. */
  replay(state: ReplayState): void {
    const here = state.message === this.shown;
    this.form?.show(state, here);
    this.settle?.show(this.headline, state, here);
    this.whyView.replay(state);
    if (here && state.bucket !== null) {
      this.bucket(state.bucket);
    }
  }

  /** Shows why the episode was lost; null if it was not. @param possible true if replays can be requested */
  why(why: WhyLost | null, replay: ReplayState | null, possible: boolean): void {
    this.whyView.show(why, replay, possible);
    this.expect(null);
  }

  /** True if the summary of a lost episode is open, not folded to one line. Kept across a reload. */
  get whyOpen(): boolean {
    return this.whyView.element.open;
  }

  set whyOpen(open: boolean) {
    this.whyView.element.open = open;
  }

  /** Starts the replay that the fields describe. */
  startReplay(): void {
    this.form?.submit();
  }

  /** Sets the model folder that was chosen. */
  setModel(folder: string): void {
    this.form?.setModel(folder);
  }

  /** Returns true if this message is on screen. */
  shows(message: number): boolean {
    return this.shown === message;
  }

  /** True if texts are shown as written. Kept across a reload. */
  get written(): boolean {
    return this.look.asWritten;
  }

  /** Changes the look of texts or the highlighted search. Redraws only if something changed. */
  show(change: Partial<TextLook>): void {
    const look = { ...this.look, ...change };
    if (look.asWritten === this.look.asWritten && look.query === this.look.query) {
      return;
    }
    this.look = look;
    this.asWritten.setAttribute('aria-pressed', String(look.asWritten));
    this.text?.show(look);
  }

  /** Toggles between texts as written and formatted texts. */
  toggleWritten(): void {
    this.show({ asWritten: !this.look.asWritten });
    this.events.arranged();
  }

  /** True if keys and hashes are open. Kept across a reload. */
  get keysOpen(): boolean {
    return this.keys.element.open;
  }

  set keysOpen(open: boolean) {
    this.keys.element.open = open;
  }

  /** Scrolls the first search hit in the text into view. */
  seekHit(): void {
    this.text?.seekHit();
  }

  private textOf(text: string, code: boolean): HTMLElement {
    this.text = new MessageText(text, code, this.look, this.mathematics);
    return this.text.element;
  }

  private leave(): void {
    this.shown = null;
    this.headline = null;
    this.credit = null;
    this.settle = null;
    this.text = null;
    this.form = null;
    this.estimates = null;
    this.buckets.clear();
  }

  private build(detail: MessageDetail, defaults: ReplayDefaults): void {
    this.leave();
    const { message, context, policy } = detail;
    this.shown = message.id;
    const samples = policy?.capabilities.samples ?? true;
    const form = new ReplayForm(samples ? defaults : { ...defaults, alternatives: 0 }, detail, this.events);
    this.form = form;
    this.settle = new SettleControl(
      { settle: (replays) => this.events.settle(message.id, replays), cancel: () => this.events.cancelReplay() },
      defaults.unavailable === null && samples,
    );
    this.credit = new CreditFact(this.settle.element);
    this.estimates = new EstimatesView({
      measure:
        defaults.unavailable === null
          ? (name) => {
              if (name === 'remove') {
                form.removeMessage();
              } else {
                form.submitAsRecorded();
              }
            }
          : null,
    });
    this.lists = h('div', { class: 'buckets' });
    const empty = message.text === '';
    replace(
      this.body,
      createEventBlock(detail.events.before, 'Before the message'),
      h(
        'div',
        { class: 'text-head' },
        h('h2', {}, message.role, createMessagePlace(detail)),
        empty ? null : this.asWritten,
      ),
      empty ? h('p', { class: 'empty' }, 'empty message') : this.textOf(message.text, detail.code),
      createEventBlock(detail.events.after, 'After the message'),
      createVoteView(detail.vote, message.id, (other) => this.events.open(other)),
      h(
        'dl',
        { class: 'facts' },
        ...(detail.judge === null ? [] : createFact('Judge', detail.judge)),
        ...createFact(term('return', 'Return'), this.returned),
        ...createFact(term('credit', 'Credit'), this.credit.element),
        // The rows of voters show it, as they have no other credit in common.
        ...(detail.vote === null || message.trainingCredit === null || learnedFrom(message) !== null
          ? []
          : createFact('Training credit', formatRecordedCredit(message.trainingCredit))),
        ...(policy === null
          ? []
          : createFact('Policy', policy.name, h('span', { class: 'muted' }, ` ${policy.words}`))),
        ...detail.measured.flatMap(([name, words]) => createFact(name, ...createTextNodes(words))),
        ...(message.finish === 'length' ? createFact('Cut off', 'by the length limit') : []),
      ),
      this.noted,
      context === null
        ? null
        : h(
            'details',
            { class: 'context' },
            h('summary', {}, policy === null ? 'Model input, exactly as the model saw it' : 'Context that it answered'),
            h('pre', { class: 'message-text', tabindex: 0 }, ...createTextNodes(context)),
            policy?.capabilities.tokens === false ? null : this.tokens(message.id),
          ),
      this.keys.element,
      divider(),
      form.element,
      this.estimates.element,
      this.lists,
    );
    this.element.scrollTop = 0;
  }

  private tokens(message: number): HTMLElement {
    return linkButton(
      () => this.events.tokens(message),
      { title: 'Bytes, token boundaries and invisible characters, in an editor (T)' },
      'Show tokens and bytes',
    );
  }

  /** @param draws how random numbers were drawn for the bucket's continuations; undefined while not known */
  private bucket(bucket: BucketView, draws?: Draws | null): void {
    this.form?.allowVerification();
    const present = this.buckets.get(bucket.id);
    if (present !== undefined) {
      present.update(bucket, draws);
      return;
    }
    const own = bucket.origin === 'training';
    const list = new BucketList(bucket, {
      scale: this.scale,
      draws,
      place: 1 + [...this.buckets.values()].filter((other) => other.own === own).length,
      message: this.shown ?? -1,
      open: (message) => this.events.open(message),
    });
    this.buckets.set(bucket.id, list);
    const newest = bucket.origin === 'request' ? [...this.buckets.keys()].every((id) => id <= bucket.id) : false;
    if (newest) {
      this.lists.prepend(list.element);
    } else {
      this.lists.append(list.element);
    }
  }
}

// The credit by each estimator. A missing one shows the reason and a button to measure it.

interface EstimateEvents {
  /** Measures an estimate; null if replays cannot be requested. */
  readonly measure: ((name: EstimateName) => void) | null;
}

class EstimatesView {
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
    // If the focused button is removed, the focus stays in the table.
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
      h('td', {}, createCreditCell(credit)),
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
    return linkButton(() => measure(name), {}, action);
  }
}

/** The section "Details": ids, keys and hashes of a message, and the credit in each bucket. */
class KeysAndHashes {
  readonly element: HTMLDetailsElement;
  private readonly facts = h('dl', { class: 'facts' });

  /** @param toggled called when the section is opened or closed */
  constructor(toggled: () => void) {
    this.element = h('details', { class: 'keys-and-hashes' }, h('summary', {}, 'Details'), this.facts);
    this.element.addEventListener('toggle', toggled);
  }

  show({ message, buckets, streamKey, tokenHash }: MessageDetail): void {
    const named = (name: Child, value: string): readonly HTMLElement[] => createFact(name, h('code', {}, value));
    replace(
      this.facts,
      ...named('Message', String(message.id)),
      ...(message.bucket === null ? [] : named(term('bucket', 'Bucket'), String(message.bucket))),
      ...named(term('snapshot', 'Snapshot'), message.snapshot),
      ...named('Context key', message.contextKey),
      ...named(term('stream', 'Stream key'), streamKey === '' ? 'none' : streamKey),
      ...named('Token hash', tokenHash),
      ...(message.trainingCredit === null
        ? []
        : createFact('Training credit', formatRecordedCredit(message.trainingCredit))),
      ...buckets.flatMap((bucket) => createRecordFact(bucket, message.id)),
    );
  }
}

/** Creates the fact with the credit that a bucket recorded for the message; empty if it recorded none. */
function createRecordFact(
  { id, origin, iteration, alternatives }: BucketView,
  message: number,
): readonly HTMLElement[] {
  const credit = alternatives.find(({ message: one }) => one === message)?.bucketCredit ?? null;
  const where = origin === 'request' ? `replay request ${iteration}` : `${origin}, step ${iteration}`;
  return credit === null ? [] : createFact(`Bucket ${id}`, `${formatRecordedCredit(credit)} (${where})`);
}

function formatRecordedCredit({ value, low, high, n, estimator, interval }: Credit): string {
  const within = bounds(low, high);
  return `${signed(value)}${within === null ? ', no interval' : ` ${within} (${interval})`}, n = ${count(n)}, ${estimator}`;
}

/** Creates the facts that the user noted on the episode: score, tags and note, if given. */
function createNotedFacts(noted: StoredEpisodeNote | null): readonly HTMLElement[] {
  if (noted === null) {
    return [];
  }
  const { score, tags, note, isReturn } = noted;
  const counts = isReturn ? 'the return of the episode' : 'beside its return';
  return [
    ...(score === null ? [] : createFact('By hand', `${formatReturnValue(score)}, ${counts}`)),
    ...(tags.length === 0 ? [] : createFact('Tags', ...createTextNodes(tags.join(', ')))),
    ...(note === '' ? [] : createFact('Note', ...createTextNodes(note))),
  ];
}
