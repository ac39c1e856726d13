/**
 * What a suite of `c3 bench` reports: figures, each with the ceiling and the peer that were measured in the same run,
 * where there are any.
 */
import { cpus } from 'node:os';
import type { DeviceRequest } from '../shared/devices.ts';

export interface BenchFigure {
  readonly name: string;
  /** Null where it was not measured. */
  readonly value: number | null;
  readonly unit: string;
  /** The same work at the limit of what this machine can do, in the same unit, and value / ceiling. */
  readonly ceiling: number | null;
  readonly ratio: number | null;
  /** The same work by another program, in the same unit, and how many times better the value is. */
  readonly peer: number | null;
  readonly peerRatio: number | null;
}

export interface BenchReport {
  readonly suite: string;
  readonly figures: readonly BenchFigure[];
  readonly hardware: string;
  /** The programs that are the peer; null where none was measured, absent where the suite has none. */
  readonly peer?: string | null;
  /** What came of the peer; absent where the suite has none. */
  readonly peerStatus?: PeerStatus;
  /** Why no peer was measured, in one line; null where one was. */
  readonly peerReason?: string | null;
}

export type PeerStatus = 'measured' | 'not-installed' | 'failed' | 'too-slow';

const PEER_WORDS: Readonly<Record<Exclude<PeerStatus, 'measured'>, string>> = {
  'not-installed': 'peer not installed',
  failed: 'the peer is installed and failed',
  'too-slow': 'the peer is installed and was given up',
};

/** `peer not installed: python3 has no module torch`. */
export function peerWords({
  status,
  reason,
}: {
  readonly status: Exclude<PeerStatus, 'measured'>;
  readonly reason: string;
}): string {
  return `${PEER_WORDS[status]}: ${reason}`;
}

/** What every suite gets. */
export interface BenchOptions {
  /** A shorter form that shows the same figures less exactly. */
  readonly quick: boolean;
  /** Asked between the parts of the work; a suite that hears yes throws CancelledError and leaves nothing behind. */
  readonly signal: AbortSignal;
  /** Receives one line after each part of the work. */
  readonly note: (line: string) => void;
}

/** What the suites that run a team get besides. */
export interface TeamBenchOptions extends BenchOptions {
  /** A *.c3.yaml, or null for the bundled team's defaults. */
  readonly config: string | null;
  /** The current folder, which that path is relative to. */
  readonly folder: string;
}

/** What the suite that runs a model of a given shape gets besides. */
export interface ModelBenchOptions extends BenchOptions {
  /** A model's config.json, or null for the built-in one. */
  readonly config: string | null;
  /** The current folder, which that path is relative to. */
  readonly folder: string;
  /** Where it computes; the CPU unless given. */
  readonly device?: DeviceRequest | null;
}

/** A figure; what is left out of `beside` was not measured. Numbers are rounded to five digits. */
export function figure(
  name: string,
  value: number | null,
  unit: string,
  beside: Partial<Pick<BenchFigure, 'ceiling' | 'ratio' | 'peer' | 'peerRatio'>> = {},
): BenchFigure {
  const { ceiling = null, ratio = null, peer = null, peerRatio = null } = beside;
  return {
    name,
    value: rounded(value),
    unit,
    ceiling: rounded(ceiling),
    ratio: rounded(ratio),
    peer: rounded(peer),
    peerRatio: rounded(peerRatio),
  };
}

/**
 * Work per second in what one time is longer than another; null where a busy machine made the shorter work take as
 * long.
 */
export const rateBetween = (work: number, longer: number, shorter: number): number | null =>
  longer > shorter ? work / (longer - shorter) : null;

/** A value as a share of another; null where it was not measured. */
export const shareOf = (value: number | null, ceiling: number): number | null =>
  value === null ? null : value / ceiling;

/** The processor and its number of cores, and what else the figures depend on. */
export function hardwareName(...details: readonly string[]): string {
  const processors = cpus();
  return [processors[0]?.model.trim() ?? 'unknown processor', `${processors.length} cores`, ...details].join(', ');
}

/** The middle of the values, the upper one of two; null of none. */
export function medianOf(values: readonly number[]): number | null {
  return quantileOf(values, 0.5);
}

/** The value at this share of the way through the sorted values; null of none. @param share from 0 to 1 */
export function quantileOf(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(5));
}
