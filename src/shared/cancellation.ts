/** Waiting that a user can cancel: every job has one `AbortController`, and all work for it gets its signal. */

import { CancelledError } from './errors.ts';

/** The input of loops that compute: an `AbortSignal`, or a flag that another thread sets. */
export type AbortFlag = Pick<AbortSignal, 'aborted'>;

/** A signal that never aborts. */
export const NEVER: AbortSignal = new AbortController().signal;

/** The parts of each combined signal, kept alive as long as the combined signal. */
const parts = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * Returns a signal that aborts as soon as one of several does.
 *
 * Node holds the parts of its own combined signal weakly. If nobody listens and the aborted part is
 * collected first, the combined signal never aborts. This function keeps the parts alive.
 */
export function combineSignals(...signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals]);
  parts.set(combined, signals);
  return combined;
}

/** Throws if the signal has aborted. @throws CancelledError */
export function throwIfAborted(signal: AbortFlag): void {
  if (signal.aborted) {
    throw new CancelledError();
  }
}

/**
 * Calls `act` once when the signal aborts, or at once if it has aborted.
 * @returns a function that removes the listener: signals of long jobs outlive their listeners
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}

/**
 * Resolves like the promise unless the signal aborts first; the promise itself continues. @throws
 * CancelledError
 */
export async function unlessCancelled<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const release = onAbort(signal, () => aborted.reject(new CancelledError()));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    release();
  }
}

/** Runs work with its own controller, which also aborts when the signal does. */
export async function withController<Result>(
  signal: AbortSignal,
  work: (controller: AbortController) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const release = onAbort(signal, () => controller.abort());
  try {
    return await work(controller);
  } finally {
    release();
  }
}
