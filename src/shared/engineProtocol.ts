/** The typed JSON-RPC messages between the extension and the engine process. */
import { NotificationType, RequestType, RequestType0 } from 'vscode-jsonrpc';
import type { BucketView, RunSummary, StepMetrics, TaxonomyClass } from './records.ts';

export interface InitializeParams {
  /** Absolute path of the store; created with its folder when the first run starts. */
  readonly store: string;
}

export interface InitializeResult {
  readonly version: string;
  /** Null when this engine holds the writer lock; otherwise one sentence naming the owner. */
  readonly readOnlyReason: string | null;
}

export interface StartRunParams {
  /** Absolute path of a *.c3.yaml, or null for the bundled team's defaults. */
  readonly config: string | null;
  /** `key.path=value`, as on the command line. */
  readonly overrides: readonly string[];
}

export type RunStage = 'load' | 'evaluate-before' | 'train' | 'evaluate-after';

export interface RunProgress {
  readonly run: string;
  readonly stage: RunStage;
  readonly done: number;
  readonly total: number;
  /** Metrics of the step that just ended; null elsewhere. */
  readonly metrics: StepMetrics | null;
  readonly message: string;
}

export interface ReplayParams {
  readonly message: number;
  /** Fresh samples from the frozen context. */
  readonly alternatives: number;
  /** Continuations of each alternative; a terminal role is scored once whatever this says. */
  readonly replays: number;
  /** A typed alternative, beside the sampled ones. */
  readonly text: string | null;
}

export interface ReplayProgress {
  readonly message: number;
  readonly bucket: BucketView;
  readonly done: number;
  readonly total: number;
}

export interface TaxonomyParams {
  readonly run: string;
}

export interface ProviderReport {
  readonly name: string;
  readonly available: boolean;
  readonly selfTest: string | null;
}

export interface DoctorReport {
  readonly providers: readonly ProviderReport[];
  readonly versions: Readonly<Record<string, string>>;
  readonly store: { readonly path: string; readonly state: string };
}

/** Requests; `run/start` and `replay/start` answer at the end of the work and honour JSON-RPC cancellation. */
export const InitializeRequest = new RequestType<InitializeParams, InitializeResult, void>('initialize');
export const StartRunRequest = new RequestType<StartRunParams, RunSummary, void>('run/start');
export const ReplayRequest = new RequestType<ReplayParams, BucketView, void>('replay/start');
export const TaxonomyRequest = new RequestType<TaxonomyParams, readonly TaxonomyClass[], void>('taxonomy');
export const DoctorRequest = new RequestType0<DoctorReport, void>('doctor');
export const ShutdownRequest = new RequestType0<null, void>('shutdown');

export const RunProgressNotification = new NotificationType<RunProgress>('run/progress');
export const ReplayProgressNotification = new NotificationType<ReplayProgress>('replay/progress');

/** JSON-RPC error codes of the engine: the user cancelled, or a C3Error whose kind stands in `data.kind`. */
export const CANCELLED_CODE = -32800;
export const FAILED_CODE = -32001;
