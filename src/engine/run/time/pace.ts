/** Limits the rate of progress reports. */

/** Number of first reports that are not delayed. */
const AT_ONCE = 32;
/** Least milliseconds between later reports. */
const BETWEEN = 100;

/**
 * Returns a function that tells if a report is due now. A due report counts as made.
 * @param now a clock in milliseconds
 */
export function createPacer(now: () => number = () => performance.now()): () => boolean {
  let made = 0;
  let last = 0;
  return () => {
    const time = now();
    if (made >= AT_ONCE && time - last < BETWEEN) {
      return false;
    }
    made++;
    last = time;
    return true;
  };
}
