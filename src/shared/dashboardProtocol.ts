/** Messages between the extension host and the run dashboard. */
import type { RunStage } from './engineProtocol.ts';
import { anyOf, literal, nullable, object, text, type Guarded } from './guard.ts';
import type { RunRecord, Step } from './records.ts';
import type { ShownStatus } from './runStatus.ts';

/** What the panel keeps across a reload. */
export const isDashboardState = object({
  version: literal(1),
  run: nullable(text(200)),
  table: literal(true, false),
});
export type DashboardState = Guarded<typeof isDashboardState>;

/** One entry of the run chooser. */
export interface RunChoice {
  readonly id: string;
  readonly title: string;
}

/** Where a run stands that this window started. */
export interface LiveProgress {
  readonly stage: RunStage;
  readonly done: number;
  readonly total: number;
}

/** Everything that the dashboard shows; always whole, so that a hidden panel can skip any number of them. */
export interface DashboardSnapshot {
  readonly runs: readonly RunChoice[];
  readonly run: RunRecord;
  readonly status: ShownStatus;
  /** Training steps by iteration, at most STEPS_SHOWN: every `stride`-th and the last. */
  readonly steps: readonly Step[];
  readonly stride: number;
  readonly live: LiveProgress | null;
}

/** Most steps that one snapshot carries. */
export const STEPS_SHOWN = 500;

export type DashboardFromHost =
  | { readonly type: 'snapshot'; readonly snapshot: DashboardSnapshot }
  | { readonly type: 'empty' }
  | { readonly type: 'failed'; readonly message: string };

export const isDashboardToHost = anyOf(
  object({ type: literal('ready'), run: nullable(text(200)) }),
  object({ type: literal('choose'), run: text(200) }),
  object({ type: literal('startRun') }),
  object({ type: literal('resumeRun'), run: text(200) }),
  object({ type: literal('cancelRun') }),
  object({ type: literal('taxonomy'), run: text(200) }),
);
export type DashboardToHost = Guarded<typeof isDashboardToHost>;
