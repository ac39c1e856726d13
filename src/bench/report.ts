/**
 * The report of a suite of `c3 bench`: its figures, each with the ceiling and the peer that were
 * measured in the same run, if there are any.
 */

import { cpus } from 'node:os';
import type { DeviceRequest } from '../shared/devices.ts';

export interface BenchFigure {
  readonly name: string;
  /** Null if it was not measured. */
  readonly value: number | null;
  readonly unit: string;
  /** The same work at the limit of this machine, in the same unit. */
  readonly ceiling: number | null;
  /** Value / ceiling. */
  readonly ratio: number | null;
  /** The same work by another program, in the same unit. */
  readonly peer: number | null;
  /** Factor by which the value is better than that of the peer. */
  readonly peerRatio: number | null;
}

export interface BenchReport {
  readonly suite: string;
  readonly figures: readonly BenchFigure[];
  readonly hardware: string;
  /** The peer programs. Null if no peer was measured, absent if the suite has none. */
  readonly peer?: string | null;
  /** Absent if the suite has no peer. */
  readonly peerStatus?: PeerStatus;
  /** The reason why no peer was measured, in one line, or null if one was measured. */
  readonly peerReason?: string | null;
}

export type PeerStatus = 'measured' | 'not-installed' | 'failed' | 'too-slow';

const PEER_WORDS: Readonly<Record<Exclude<PeerStatus, 'measured'>, string>> = {
  'not-installed': 'peer not installed',
  failed: 'the peer is installed and failed',
  'too-slow': 'the peer is installed and was given up',
};

/** Describes a missing peer, as in `peer not installed: python3 has no module torch`. */
export function describeMissingPeer({
  status,
  reason,
}: {
  readonly status: Exclude<PeerStatus, 'measured'>;
  readonly reason: string;
}): string {
  return `${PEER_WORDS[status]}: ${reason}`;
}

/** The options of every suite. */
export interface BenchOptions {
  /** True for a shorter form that measures the same figures less exactly. */
  readonly quick: boolean;
  /**
   * Checked between the parts of the work. On abort, a suite cleans up and throws CancelledError.
   */
  readonly signal: AbortSignal;
  /** Receives one line after each part of the work. */
  readonly note: (line: string) => void;
}

/** The options of the suites that run a team. */
export interface TeamBenchOptions extends BenchOptions {
  /** Path of a *.c3.yaml file, or null for the defaults of the bundled team. */
  readonly config: string | null;
  /** The current folder, which the path is relative to. */
  readonly folder: string;
}

/** The options of the suite that runs a model of a given shape. */
export interface ModelBenchOptions extends BenchOptions {
  /** Path of a model's config.json, or null for the built-in one. */
  readonly config: string | null;
  /** The current folder, which the path is relative to. */
  readonly folder: string;
  /** The device that the model runs on. The default is the CPU. */
  readonly device?: DeviceRequest | null;
}

/**
 * Creates a figure with its numbers rounded to five digits. Fields missing in `beside` become null.
 */
export function makeFigure(
  name: string,
  value: number | null,
  unit: string,
  beside: Partial<Pick<BenchFigure, 'ceiling' | 'ratio' | 'peer' | 'peerRatio'>> = {},
): BenchFigure {
  const { ceiling = null, ratio = null, peer = null, peerRatio = null } = beside;
  return {
    name,
    value: roundFigure(value),
    unit,
    ceiling: roundFigure(ceiling),
    ratio: roundFigure(ratio),
    peer: roundFigure(peer),
    peerRatio: roundFigure(peerRatio),
  };
}

/**
 * Returns the work per second in the difference of two times. Returns null if the work that should
 * be shorter took as long as the longer one, as happens on a busy machine.
 */
export const rateOfDifference = (work: number, longer: number, shorter: number): number | null =>
  longer > shorter ? work / (longer - shorter) : null;

/** Returns a value as a share of its ceiling, or null if the value was not measured. */
export const toShareOfCeiling = (value: number | null, ceiling: number): number | null =>
  value === null ? null : value / ceiling;

/** Names the processor, its number of cores, and further details that the figures depend on. */
export function describeHardware(...details: readonly string[]): string {
  const processors = cpus();
  return [processors[0]?.model.trim() ?? 'unknown processor', `${processors.length} cores`, ...details].join(', ');
}

/**
 * Returns the median, the upper of the two middle values for an even count, or null without values.
 */
export function takeMedian(values: readonly number[]): number | null {
  return takeQuantile(values, 0.5);
}

/** Returns a quantile of the values, or null without values. @param share from 0 to 1 */
export function takeQuantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

function roundFigure(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(5));
}
