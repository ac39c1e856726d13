/** The suites of `c3 bench`. Their code, src/bench, is a separate bundle that only this command loads. */

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

/** Options of `c3 bench`. A suite refuses the options that it does not have. */
export interface SuiteRequest {
  readonly json: boolean;
  readonly quick: boolean;
  readonly config: string | null;
  readonly device: DeviceRequest | null;
  readonly out: string | null;
  readonly from: string | null;
  /** The current folder, which relative paths start from. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Receives one line after each part of the work. */
  readonly note: (line: string) => void;
}

/** The bundle's only function, which measures and returns the report as JSON or as a table. */
export interface BenchBundle {
  readonly runBench: (name: string | undefined, request: SuiteRequest) => Promise<string>;
}
