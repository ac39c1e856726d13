/** What the transcript tree reports to the panel around it. */
import type { Folding } from './folds.ts';

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
  /** What is folded or opened changed. */
  arranged(folding: Folding): void;
}

export type PanelCommand =
  | 'difference'
  | 'costliest'
  | 'written'
  | 'search'
  | 'nextHit'
  | 'previousHit'
  | 'filter'
  | 'keys';
