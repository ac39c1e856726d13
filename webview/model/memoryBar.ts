/** The memory plan as a picture: what is needed, piece after piece, on a bar that is as long as what there is. */
import type { MemoryItem, MemoryTotal } from '../../src/shared/models.ts';
import { bytesWords } from '../../src/shared/text/sizes.ts';
import { h } from '../common/dom.ts';

/** One piece of the bar; places and widths in percent of the bar. */
export interface BarPiece {
  readonly name: string;
  readonly bytes: number;
  /** As in the table, from 1. */
  readonly number: number;
  readonly start: number;
  readonly width: number;
}

export interface BarLayout {
  readonly pieces: readonly BarPiece[];
  /** Where what there is ends; null where that is not known. */
  readonly limit: number | null;
}

/** An item with its number in the table. */
export interface NumberedItem extends MemoryItem {
  readonly number: number;
}

/** Colours that the pieces take in turn; their numbers distinguish them too. */
export const COLOURS = 12;
/** Narrower pieces have no room for their number, in percent. */
const ROOM = 4;

/** Lays the items of one place out, the whole bar being the larger of what they need and what there is. */
export function barLayout(items: readonly NumberedItem[], { available }: Pick<MemoryTotal, 'available'>): BarLayout {
  const needed = items.reduce((sum, item) => sum + item.bytes, 0);
  const scale = 100 / Math.max(1, needed, available ?? 0);
  let end = 0;
  const pieces = items.map(({ name, number, bytes: size }) => {
    const piece = { name, number, bytes: size, start: end * scale, width: size * scale };
    end += size;
    return piece;
  });
  return { pieces, limit: available === null ? null : available * scale };
}

/** The bar; hidden from screen readers, for its table is below it. */
export function memoryBar(items: readonly NumberedItem[], total: MemoryTotal): HTMLElement {
  const { pieces, limit } = barLayout(items, total);
  const bar = h('div', { class: 'stack' });
  for (const piece of pieces) {
    const element = h(
      'span',
      { class: `piece colour-${(piece.number - 1) % COLOURS}`, title: `${piece.name}: ${bytesWords(piece.bytes)}` },
      piece.width >= ROOM ? String(piece.number) : null,
    );
    element.style.left = `${piece.start}%`;
    element.style.width = `${piece.width}%`;
    bar.append(element);
  }
  if (limit !== null && limit < 100) {
    const beyond = h('span', { class: 'beyond', title: 'More than is available' });
    beyond.style.left = `${limit}%`;
    bar.append(beyond);
  }
  return h(
    'div',
    { class: 'stack-frame', 'aria-hidden': 'true' },
    bar,
    limit === null ? null : scaleLine(limit, total),
  );
}

/** Where what there is ends, below the bar. */
function scaleLine(limit: number, { available }: MemoryTotal): HTMLElement {
  const mark = h('span', { class: 'limit' }, `${bytesWords(available ?? 0)} available`);
  mark.style.width = `${limit}%`;
  return h('div', { class: 'scale' }, mark);
}
