/** Waiting for a condition that no event announces: asked again and again, never a fixed sleep. */

import { setTimeout as pause } from 'node:timers/promises';

const TIMEOUT = 90_000;
const BETWEEN = 100;

/**
 * Asks until the answer is neither undefined nor false.
 * @param what said in the error: "waited 60 s for ..."
 * @param ask throws or answers undefined or false while the time has not come
 * @returns the answer
 * @throws Error with what the last try threw as its cause, when time is up
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  timeout = TIMEOUT,
): Promise<T> {
  const end = performance.now() + timeout;
  let cause: unknown;
  do {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) {
        return answer;
      }
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await pause(BETWEEN);
  } while (performance.now() < end);
  throw new Error(`Waited ${timeout / 1000} s for ${what}.`, { cause });
}
