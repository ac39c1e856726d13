/** Messages between the extension host and the model panel. */
import { DEFAULT_PROVIDER, DEVICE_REQUESTS } from '../devices.ts';
import { integer, literal, nullable, object, text, type Guarded } from '../guard.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../models.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** Longest path of a model folder, in UTF-16 units. */
const PATH_LIMIT = 4096;

/** What the panel plans for, and what "Use for the next run" writes down. */
export const isModelSettings = object({
  /** Rank of the adapter that is trained; null where all of the model is. */
  adapterRank: nullable(integer(1, 4096)),
  device: literal(...DEVICE_REQUESTS),
});
export type ModelSettings = Guarded<typeof isModelSettings>;

/** What the panel starts with: the adapter of the configuration's defaults, on the device that is always there. */
export const DEFAULT_MODEL_SETTINGS: ModelSettings = { adapterRank: 16, device: DEFAULT_PROVIDER };

/** Ranks that the panel offers. */
export const ADAPTER_RANKS: readonly number[] = [4, 8, 16, 32, 64, 128];

/** What the panel keeps across a reload. */
export const isModelState = object({ version: literal(1), folder: text(PATH_LIMIT), settings: isModelSettings });

/** Something that the engine was asked for. While it is asked again, the last answer stays. */
export interface Asked<T> {
  readonly working: boolean;
  readonly value: T | null;
  /** Why the last try gave no answer, in one sentence. */
  readonly error: string | null;
}

export interface ModelTestState {
  readonly status: 'running' | 'done' | 'cancelled' | 'failed';
  /** Steps that have ended, in order. */
  readonly steps: readonly SelfTestStep[];
  /** What is in progress, in a few words; null where nothing does. */
  readonly current: string | null;
  /** How far that is, in [0, 1]; null where nobody knows. */
  readonly share: number | null;
  /** Why the test failed as a whole; null where its steps say all. */
  readonly error: string | null;
}

/** Everything that the panel shows; always whole, so that a hidden panel can skip any number of them. */
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

/** What the page sends. */
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
