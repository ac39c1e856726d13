/** When a newer layout is shown. Pure. */
import type { TranscriptLayout } from '../../src/shared/protocols/transcriptProtocol.ts';

export class Arrivals<Opened extends { readonly layout: Pick<TranscriptLayout, 'places' | 'near'> }> {
  /** A layout that waits for the places of what came into sight meanwhile. */
  private waiting: Opened | null = null;

  /**
   * Takes a layout. One that does not say where a row in sight went, because the tree was scrolled or the keyboard
   * moved since it was asked for, is to be asked for once more; no oftener, so that who scrolls on and on sees what is
   * new.
   * @param landmarks the messages whose places are needed
   * @returns the layout to be shown, or null where it is to be asked for again
   */
  take(opened: Opened, landmarks: readonly number[]): Opened | null {
    const placed = new Set([...opened.layout.places, ...opened.layout.near].map(({ message }) => message));
    const again = this.waiting === null && landmarks.some((message) => !placed.has(message));
    this.waiting = again ? opened : null;
    return again ? null : opened;
  }

  /** The layout that waits, to be shown as it is; null where none does. */
  release(): Opened | null {
    const { waiting } = this;
    this.waiting = null;
    return waiting;
  }
}
