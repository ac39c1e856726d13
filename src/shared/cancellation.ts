/** Waiting that a user can cancel: every job has one `AbortController`, whoever works for it gets its signal. */

import { CancelledError } from './errors.ts';

/** What a loop that computes looks at: an `AbortSignal`, or a flag that another thread sets. */
export type AbortFlag = Pick<AbortSignal, 'aborted'>;

/** A signal that never aborts. */
export const NEVER: AbortSignal = new AbortController().signal;

/** What each combined signal is made of, for as long as somebody has it. */
const parts = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * A signal that aborts as soon as one of several does.
 *
 * Node's own holds them weakly: where nobody listens to it, and the one that aborted is collected before anybody looks,
 * it never says so. This one keeps them.
 */
export function anyOf(...signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals]);
  parts.set(combined, signals);
  return combined;
}

/** @throws CancelledError where the signal has aborted */
export function throwIfAborted(signal: AbortFlag): void {
  if (signal.aborted) {
    throw new CancelledError();
  }
}

/**
 * Calls back once when the signal aborts, at once where it has.
 * @returns what takes the listener away again: signals of long jobs outlive what listens to them
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}

/** What a promise gives, unless the signal aborts before; the promise itself continues. @throws CancelledError */
export async function unlessCancelled<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const release = onAbort(signal, () => aborted.reject(new CancelledError()));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    release();
  }
}

/** Work under a controller of its own, which also aborts when the signal does. */
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
