/** Messages between the extension host and the panel of a trial. */
import type { Trial } from '../../domain/trial.ts';
import { integer } from '../guard.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** A pair that flipped, without what was said: the editor's own diff shows that. */
export interface ShownCase {
  readonly question: string;
  readonly before: number;
  readonly after: number;
}

/** A trial, as the panel shows it. */
export interface ShownTrial extends Omit<Trial, 'cases' | 'run'> {
  /** The title of its run. */
  readonly run: string;
  /** What was changed, in a few words. */
  readonly change: string;
  readonly cases: readonly ShownCase[];
  /** The role whose prompt was changed; null where that is none. */
  readonly prompt: string | null;
  /** Whether more pairs may decide it. */
  readonly isOpen: boolean;
  /** Where the change was kept; null where it was not. */
  readonly kept: string | null;
}

export type TrialFromHost =
  | { readonly type: 'trial'; readonly trial: ShownTrial }
  | { readonly type: 'failed'; readonly message: string };

/** What the page sends. */
const TRIAL_EVENTS = {
  ready: {},
  /** Shows what both sides of a pair said, by its number in the list. */
  openCase: { index: integer() },
  /** Writes the change into a configuration that the user chooses. */
  keep: {},
  /** Tries it on twice as many pairs. */
  further: {},
  /** Opens the prompt, to be written anew. */
  edit: {},
} as const satisfies Events;

export const TRIAL_PANEL = {
  view: 'c3.trial',
  title: 'Trial',
  bundle: 'trial',
  icon: 'tab',
  events: TRIAL_EVENTS,
  requests: {},
} as const satisfies Panel;

export type TrialToHost = ToHost<typeof TRIAL_PANEL>;
