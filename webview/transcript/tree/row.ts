/** The rows of the transcript tree. */

import { BY_HAND } from '../../../src/domain/episode.ts';
import { OTHER_DISTRIBUTION } from '../../../src/domain/replay.ts';
import type { MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { showInvisibleControls } from '../../../src/shared/text/visible.ts';
import type { ShownEvent } from '../../../src/shared/transcript/shownEvents.ts';
import { createCreditCell, createLearnedCell } from '../../common/creditBar.ts';
import { h, icon, setAttributes } from '../../common/dom.ts';
import { describeShownCredit, describeLearnedCredit, toSingleLine, formatReturnValue } from '../../common/format.ts';
import { createReturnCell } from '../../common/returnMark.ts';
import { createTextNodes } from '../../common/shownText.ts';
import { verificationBadge, describeVerificationMark } from '../../common/verificationBadge.ts';
import {
  createEventChip,
  describeEvent,
  STAGE_TITLE,
  nameStage,
  describeVoter,
  describeVoterBriefly,
} from '../events.ts';
import { splitByHits } from '../highlight.ts';
import { describeReplayCount } from '../replay/replayWords.ts';

/** Height of a row in pixels, as in the editor's own trees. The same value is in tree.css. */
export const ROW_HEIGHT = 22;

export interface RowState {
  readonly folded: boolean;
  readonly active: boolean;
  readonly selected: boolean;
  /** True if the message is selected to be compared with another. */
  readonly compared: boolean;
}

/** Returns the element id of a row, for aria-activedescendant. */
export function rowId(index: number): string {
  return `row-${index}`;
}

/** Returns the text of a row for screen readers. */
export function describeRow(row: MarkedRow): string {
  const text = showInvisibleControls(toSingleLine(row.text));
  if (row.message === null) {
    return `Question: ${text}`;
  }
  if (row.lane !== null) {
    return `${describeReplayCount(row.lane)} of ${row.role}: ${text === '' ? 'empty message' : text}`;
  }
  const place = row.siblings > 1 ? ` ${row.position} of ${row.siblings}` : '';
  const stage = row.stage === undefined ? '' : `, ${nameStage(row.stage)}`;
  const said = (events: readonly ShownEvent[] = []): string =>
    events.map((event) => `, ${describeEvent(event)}`).join('');
  const voted = row.vote === undefined ? '' : `, ${describeVoterBriefly(row.vote)}`;
  const credit =
    row.learned === undefined ? describeShownCredit(row.credit) : describeLearnedCredit(row.learned, row.credit);
  return [
    `${row.role}${place}${voted}${stage}${row.branch ? ', replayed' : ''}`,
    row.other === null ? '' : `, ${OTHER_DISTRIBUTION}`,
    `${said(row.events?.before)}: ${text === '' ? 'empty message' : text}${said(row.events?.after)}`,
    `; return ${formatReturnValue(row.return)}${row.byHand === true ? `, ${BY_HAND}` : ''}; ${credit}`,
    row.verification === null ? '' : `; ${describeVerificationMark(row.verification)}`,
  ].join('');
}

/** Creates a row whose data is here. */
export function rowElement(row: MarkedRow, state: RowState, query: string): HTMLElement {
  const element = shell(row.index);
  setAttributes(element, {
    'aria-level': row.depth + 1,
    'aria-posinset': row.position,
    'aria-setsize': row.siblings,
    'aria-expanded': row.descendants === 0 ? null : String(!state.folded),
    'aria-label': describeRow(row),
  });
  showRowState(element, state);
  const name = h('span', { class: 'row-name' }, twistie(row, state.folded), ...createRowNameParts(row, query));
  name.style.paddingInlineStart = `${4 + 12 * row.depth}px`;
  element.append(name);
  element.classList.toggle('lane', row.lane !== null);
  if (row.message !== null && row.lane === null) {
    element.dataset['vscodeContext'] = JSON.stringify({
      webviewSection: 'message',
      message: row.message,
      preventDefaultContextMenuItems: true,
    });
    element.classList.toggle('passed', !row.match);
    element.append(createReturnCell(row.return, row.outcome, row.byHand), createRowCredit(row));
  }
  return element;
}

/** Creates the credit of a row with its verdict, or the credit that training gave if the row has that. */
function createRowCredit({ credit, learned }: MarkedRow): HTMLElement {
  if (learned !== undefined) {
    const cell = createLearnedCell(learned, credit);
    cell.append(h('span', { class: 'row-verdict' }, 'training'));
    return cell;
  }
  const cell = createCreditCell(credit);
  if (credit !== null && credit.verdict !== 'alone') {
    cell.append(h('span', { class: `row-verdict verdict-${credit.verdict}` }, credit.verdict));
  }
  return cell;
}

/** Creates the placeholder of a row whose data is not here yet. */
export function waitingElement(index: number): HTMLElement {
  const element = shell(index);
  setAttributes(element, { 'aria-busy': 'true', 'aria-label': 'Loading' });
  element.append(h('span', { class: 'row-name waiting' }, '…'));
  return element;
}

/** Updates the state of a row: focused, shown in the detail pane, or selected to compare. */
export function showRowState(element: HTMLElement, state: Pick<RowState, 'active' | 'selected' | 'compared'>): void {
  element.classList.toggle('active', state.active);
  element.classList.toggle('selected', state.selected);
  element.classList.toggle('compared', state.compared);
  element.setAttribute('aria-selected', String(state.selected));
  if (state.compared) {
    element.setAttribute('aria-description', 'selected to compare');
  } else {
    element.removeAttribute('aria-description');
  }
}

function shell(index: number): HTMLElement {
  return h('div', { class: 'row', role: 'treeitem', id: rowId(index) });
}

/** Creates the nodes of a text with the words of a search marked. */
function createMarkedText(text: string, query: string): readonly (HTMLElement | string)[] {
  return splitByHits(text, query).flatMap((stretch) =>
    stretch.hit ? [h('mark', {}, ...createTextNodes(stretch.text))] : createTextNodes(stretch.text),
  );
}

function twistie(row: MarkedRow, folded: boolean): HTMLElement {
  if (row.descendants === 0 || row.key === null) {
    return h('span', { class: 'twistie' });
  }
  return h('span', { class: folded ? 'twistie foldable' : 'twistie foldable open' }, icon('chevron'));
}

function createRowNameParts(row: MarkedRow, query: string): readonly (HTMLElement | null)[] {
  const text = toSingleLine(row.text);
  if (row.message === null) {
    return [h('span', { class: 'role' }, 'question'), h('span', { class: 'row-text' }, ...createTextNodes(text))];
  }
  if (row.lane !== null) {
    return [
      h('span', { class: 'branch' }, icon('branch')),
      h('span', { class: 'lane-words' }, describeReplayCount(row.lane)),
    ];
  }
  const place = row.siblings > 1 ? h('span', { class: 'place' }, `${row.position}/${row.siblings}`) : null;
  return [
    ...(row.events?.before ?? []).map(createEventChip),
    h('span', { class: 'role' }, row.role),
    place,
    row.vote === undefined
      ? null
      : h(
          'span',
          { class: row.vote.pivotal ? 'voted pivotal' : 'voted', title: describeVoter(row.vote) },
          describeVoterBriefly(row.vote),
        ),
    row.stage === undefined || row.depth > 1
      ? null
      : h('span', { class: 'place', title: STAGE_TITLE }, nameStage(row.stage)),
    row.branch
      ? h(
          'span',
          {
            class: 'branch',
            title:
              row.other === null
                ? 'Sampled by a replay request; not part of the run itself'
                : `Sampled by a replay request under ${row.other}`,
          },
          icon('branch'),
        )
      : null,
    row.other === null ? null : h('span', { class: 'other', title: row.other }, 'other'),
    h(
      'span',
      { class: text === '' ? 'row-text empty' : 'row-text' },
      ...(text === '' ? ['empty message'] : createMarkedText(text, query)),
    ),
    ...(row.events?.after ?? []).map(createEventChip),
    h('span', { class: 'compare-mark' }, 'to compare'),
    row.finish === 'length' ? h('span', { class: 'cut', title: 'Ended by the length limit' }, 'cut off') : null,
    row.verification === null ? null : verificationBadge(row.verification),
  ];
}
