/** Messages between the extension host and the panel of a trial. */

import type { Trial } from '../../domain/trial.ts';
import { integer } from '../guard.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** A pair whose success differs, without its messages, which the editor's diff shows. */
export interface ShownCase {
  readonly question: string;
  readonly before: number;
  readonly after: number;
}

/** A trial in the form of the panel. */
export interface ShownTrial extends Omit<Trial, 'cases' | 'run'> {
  /** The title of its run. */
  readonly run: string;
  /** The change in a few words. */
  readonly change: string;
  readonly cases: readonly ShownCase[];
  /** The role whose prompt was changed, or null if none was. */
  readonly prompt: string | null;
  /** True if it was tried only on the problems that the last evaluation lost. */
  readonly isOnLost: boolean;
  /** True if more pairs may decide it. */
  readonly isOpen: boolean;
  /** True if a configuration can have the change. */
  readonly canKeep: boolean;
  /** The file in which the change was kept, or null if it was not kept. */
  readonly kept: string | null;
}

export type TrialFromHost =
  | { readonly type: 'trial'; readonly trial: ShownTrial }
  | { readonly type: 'failed'; readonly message: string };

/** The events that the page sends. */
const TRIAL_EVENTS = {
  ready: {},
  /** Shows the messages of both sides of a pair, by its number in the list. */
  openCase: { index: integer() },
  /** Writes the change into a configuration that the user chooses. */
  keep: {},
  /** Tries it on twice as many pairs. */
  further: {},
  /** Tries it on the problems that the last evaluation lost. */
  lost: {},
  /** Opens the prompt for editing. */
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
