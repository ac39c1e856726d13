/** Cancels work at an exact point. */

/** Returns a signal that aborts at the first check for which the condition is true. */
export function makeSignalAbortedWhen(condition: () => boolean): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  let aborted = false;
  Object.defineProperty(signal, 'aborted', {
    get: () => {
      // Listeners get the usual abort event.
      if (!aborted && condition()) {
        aborted = true;
        controller.abort();
      }
      return aborted;
    },
  });
  return signal;
}
