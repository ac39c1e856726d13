/** Messages between the extension host and the model panel. */

import { DEFAULT_PROVIDER, DEVICE_REQUESTS } from '../devices.ts';
import { integer, literal, nullable, object, text, type Guarded } from '../guard.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../models.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** Longest path of a model folder, in UTF-16 units. */
const PATH_LIMIT = 4096;

/** The settings that the panel plans with, and that "Use for the next run" writes. */
export const isModelSettings = object({
  /** Rank of the trained adapter, or null if the whole model is trained. */
  adapterRank: nullable(integer(1, 4096)),
  device: literal(...DEVICE_REQUESTS),
});
export type ModelSettings = Guarded<typeof isModelSettings>;

/** The initial settings: the default adapter, on the device that every machine has. */
export const DEFAULT_MODEL_SETTINGS: ModelSettings = { adapterRank: 16, device: DEFAULT_PROVIDER };

/** Ranks that the panel offers. */
export const ADAPTER_RANKS: readonly number[] = [4, 8, 16, 32, 64, 128];

/** The state that the panel keeps across a reload. */
export const isModelState = object({ version: literal(1), folder: text(PATH_LIMIT), settings: isModelSettings });

/** A result of the engine. While it is requested again, the last value stays. */
export interface Asked<T> {
  readonly working: boolean;
  readonly value: T | null;
  /** The reason in one sentence why the last request failed. */
  readonly error: string | null;
}

export interface ModelTestState {
  readonly status: 'running' | 'done' | 'cancelled' | 'failed';
  /** Steps that have ended, in order. */
  readonly steps: readonly SelfTestStep[];
  /** Description of the current step in a few words, or null if there is none. */
  readonly current: string | null;
  /** Progress of the current step in [0, 1], or null if it is unknown. */
  readonly share: number | null;
  /** The reason why the whole test failed; null if its steps show it. */
  readonly error: string | null;
}

/** Everything that the panel shows; always complete, so that a hidden panel can skip snapshots. */
export interface ModelSnapshot {
  /** Absolute path. */
  readonly folder: string;
  readonly settings: ModelSettings;
  readonly facts: Asked<ModelFacts>;
  readonly plan: Asked<RunPlan>;
  /** Null before the first test of this folder. */
  readonly test: ModelTestState | null;
}

export type ModelFromHost = { readonly type: 'snapshot'; readonly snapshot: ModelSnapshot };

/** The events that the page sends. */
const MODEL_EVENTS = {
  ready: {},
  chooseFolder: {},
  readAgain: {},
  settings: { settings: isModelSettings },
  test: {},
  cancelTest: {},
  use: {},
} as const satisfies Events;

export const MODEL_PANEL = {
  view: 'c3.model',
  title: 'Model',
  bundle: 'model',
  icon: 'tab',
  events: MODEL_EVENTS,
  requests: {},
} as const satisfies Panel;

export type ModelToHost = ToHost<typeof MODEL_PANEL>;
