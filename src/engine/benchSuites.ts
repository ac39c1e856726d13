/** The suites of `c3 bench` by name. Their code is a bundle of its own, src/bench, that this command alone loads. */
import type { DeviceRequest } from '../shared/devices.ts';

export const SUITE_NAMES = [
  'first-run',
  'generation',
  'train',
  'iteration',
  'replay',
  'store',
  'model',
  'sandbox',
  'blame',
  'named-messages',
  'activation',
  'paper-table',
  'rho-map',
  'team-drift',
] as const;

export type SuiteName = (typeof SUITE_NAMES)[number];

/** What `c3 bench` was asked for. A suite refuses the options that it does not have. */
export interface SuiteRequest {
  readonly json: boolean;
  readonly quick: boolean;
  readonly config: string | null;
  readonly device: DeviceRequest | null;
  readonly out: string | null;
  readonly from: string | null;
  /** The current folder, to which paths are relative. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Receives one line after each part of the work. */
  readonly note: (line: string) => void;
}

/** The bundle: its one function measures, and returns the report as JSON or as a table. */
export interface BenchBundle {
  readonly runBench: (name: string | undefined, request: SuiteRequest) => Promise<string>;
}
