/** Cancels at an exact point of the work. */

/** A signal that aborts as soon as it is looked at while the condition holds, and not before. */
export function abortedWhen(condition: () => boolean): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  let aborted = false;
  Object.defineProperty(signal, 'aborted', {
    get: () => {
      // What listens hears of it as of any other abort.
      if (!aborted && condition()) {
        aborted = true;
        controller.abort();
      }
      return aborted;
    },
  });
  return signal;
}
