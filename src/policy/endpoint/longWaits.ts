/** Decides about long waits. The user is asked once for each server and wait, for all roles. */

import { Lanes } from '../../shared/lanes.ts';
import type { AskWait, LongWait } from '../../shared/longWait.ts';

/** The default limit in milliseconds for waits without asking. */
export const SILENT_WAIT = 120_000;
/** Milliseconds between the ends of a server's waits within which one decision covers both. */
const TOGETHER = 60_000;

interface Decision {
  readonly isAgreed: boolean;
  readonly until: number;
}

export class LongWaits {
  /** The limit in milliseconds for waits without asking. */
  readonly silent: number;
  private readonly askWait: AskWait;
  private readonly decided = new Map<string, Decision>();
  /** Allows one question at a time. */
  private readonly questions = new Lanes(1);

  constructor(askWait: AskWait, silent = SILENT_WAIT) {
    this.askWait = askWait;
    this.silent = silent;
  }

  /** Returns the decision on a wait, or null if there is none yet. */
  decision({ server, milliseconds }: LongWait): boolean | null {
    const known = this.decided.get(server);
    return known !== undefined && performance.now() + milliseconds <= known.until + TOGETHER ? known.isAgreed : null;
  }

  /**
   * Asks, unless there is a decision meanwhile.
   * @throws CancelledError
   */
  async ask(wait: LongWait, signal: AbortSignal): Promise<boolean> {
    const until = performance.now() + wait.milliseconds;
    return this.questions.within(signal, async () => {
      const known = this.decision({ ...wait, milliseconds: until - performance.now() });
      const isAgreed = known ?? (await this.askWait(wait, signal));
      this.decided.set(wait.server, { isAgreed, until });
      return isAgreed;
    });
  }
}

/** Refuses every long wait without asking. */
export const NO_LONG_WAITS = new LongWaits(() => Promise.resolve(false));
