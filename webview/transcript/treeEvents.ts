/** What the transcript tree tells the panel around it. */

export interface TreeEvents {
  /** Rows are needed. */
  ask(revision: number, offset: number): void;
  /** A message, or the question (null), was chosen. */
  select(message: number | null): void;
  replay(message: number): void;
  verify(message: number): void;
  exportReport(message: number): void;
  copyLink(message: number): void;
  compare(message: number): void;
  tokens(message: number): void;
  /** A key that is about the panel, not about a message. */
  command(command: PanelCommand): void;
  /** The keyboard moved to another row. */
  moved(index: number): void;
  /** Other rows came into sight. */
  scrolled(): void;
  /** The set of folded messages changed. */
  arranged(folded: readonly number[]): void;
}

export type PanelCommand = 'difference' | 'costliest' | 'written' | 'search' | 'nextHit' | 'previousHit' | 'filter' | 'keys';
