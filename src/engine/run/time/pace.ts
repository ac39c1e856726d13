/** How often progress is reported: what is few one by one, what is many at a pace that whoever shows it can follow. */

/** Reports that go out as they come. */
const AT_ONCE = 32;
/** Milliseconds between later ones. */
const BETWEEN = 100;

/** @param now a clock in milliseconds @returns whether a report is due now; one that is counts as made */
export function paced(now: () => number = () => performance.now()): () => boolean {
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
