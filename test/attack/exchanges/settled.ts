/** Waits for what comes within a moment, without an end where it never does. */

import { setTimeout as delay } from 'node:timers/promises';

/** Looks after which something is said never to come: a minute, and more on a machine that lets this process wait. */
const MOST_LOOKS = 30_000;
const LOOK_EVERY = 2;

/** Resolves to whether something holds by then. */
export async function settled(holds: () => boolean): Promise<boolean> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    if (holds()) {
      return true;
    }
    await delay(LOOK_EVERY);
  }
  return false;
}
