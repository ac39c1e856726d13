/** Decides when a newer layout is shown. Pure. */

import type { TranscriptLayout } from '../../src/shared/protocols/transcriptProtocol.ts';

export class Arrivals<Opened extends { readonly layout: Pick<TranscriptLayout, 'places' | 'near'> }> {
  /** A layout that waits until the places of rows that came into view since its request are known. */
  private waiting: Opened | null = null;

  /**
   * Takes a layout. It may lack the place of a row in view, because the tree was scrolled or the focus
   * moved after the request. The layout must then be requested again, but only once, so that continuous
   * scrolling does not keep new rows from being shown.
   * @param landmarks the messages whose places are needed
   * @returns the layout to show, or null if it must be requested again
   */
  take(opened: Opened, landmarks: readonly number[]): Opened | null {
    const placed = new Set([...opened.layout.places, ...opened.layout.near].map(({ message }) => message));
    const again = this.waiting === null && landmarks.some((message) => !placed.has(message));
    this.waiting = again ? opened : null;
    return again ? null : opened;
  }

  /** Returns the layout that waits, to show it as it is, or null if none waits. */
  release(): Opened | null {
    const { waiting } = this;
    this.waiting = null;
    return waiting;
  }
}
