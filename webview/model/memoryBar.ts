/** Draws a memory plan as a bar: the pieces that are needed, against the memory that is available. */

import type { MemoryItem, MemoryTotal } from '../../src/shared/models.ts';
import { formatBytes } from '../../src/shared/text/sizes.ts';
import { h } from '../common/dom.ts';

/** A piece of the bar. `start` and `width` are in percent of the bar. */
export interface BarPiece {
  readonly name: string;
  readonly bytes: number;
  /** Number in the table, from 1. */
  readonly number: number;
  readonly start: number;
  readonly width: number;
}

export interface BarLayout {
  readonly pieces: readonly BarPiece[];
  /** End of the available memory in percent of the bar; null if it is not known. */
  readonly limit: number | null;
}

/** An item with its number in the table. */
export interface NumberedItem extends MemoryItem {
  readonly number: number;
}

/** Number of colors, which the pieces take in turn. Their numbers distinguish them too. */
export const COLOR_COUNT = 12;
/** Minimum width of a piece that shows its number, in percent. */
const ROOM = 4;

/** Lays out the items of one place. The longer of needed and available memory fills the bar. */
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

/** Creates the bar. It is hidden from screen readers, because a table with its numbers is below it. */
export function memoryBar(items: readonly NumberedItem[], total: MemoryTotal): HTMLElement {
  const { pieces, limit } = barLayout(items, total);
  const bar = h('div', { class: 'stack' });
  for (const piece of pieces) {
    const element = h(
      'span',
      {
        class: `piece colour-${(piece.number - 1) % COLOR_COUNT}`,
        title: `${piece.name}: ${formatBytes(piece.bytes)}`,
      },
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

/** Creates the mark below the bar at the end of the available memory. */
function scaleLine(limit: number, { available }: MemoryTotal): HTMLElement {
  const mark = h('span', { class: 'limit' }, `${formatBytes(available ?? 0)} available`);
  mark.style.width = `${limit}%`;
  return h('div', { class: 'scale' }, mark);
}
