/** Events of the transcript tree, for its panel. */

import type { Folding } from './folds.ts';

export interface TreeEvents {
  /** Requests rows. */
  ask(revision: number, offset: number): void;
  /** A message, or the question (null), was selected. */
  select(message: number | null): void;
  replay(message: number): void;
  verify(message: number): void;
  exportReport(message: number): void;
  copyLink(message: number): void;
  compare(message: number): void;
  tokens(message: number): void;
  /** A command of the panel, not of a message. */
  command(command: PanelCommand): void;
  /** The focus moved to another row. */
  moved(index: number): void;
  /** Other rows came into view. */
  scrolled(): void;
  /** The folded rows or the opened lanes changed. */
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
