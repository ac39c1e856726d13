/** Whether long waits are waited for: somebody is asked once for each server and wait, whichever role asks it. */
import { Lanes } from '../../shared/lanes.ts';
import type { AskWait, LongWait } from '../../shared/longWait.ts';

/** Milliseconds that are waited without asking, unless something else is said. */
export const SILENT_WAIT = 120_000;
/** Milliseconds within which waits of a server end together: what is decided of one holds for the other. */
const TOGETHER = 60_000;

interface Decision {
  readonly isAgreed: boolean;
  readonly until: number;
}

export class LongWaits {
  /** Milliseconds that are waited without asking. */
  readonly silent: number;
  private readonly askWait: AskWait;
  private readonly decided = new Map<string, Decision>();
  /** One question at a time. */
  private readonly questions = new Lanes(1);

  constructor(askWait: AskWait, silent = SILENT_WAIT) {
    this.askWait = askWait;
    this.silent = silent;
  }

  /** What was decided of a wait; null where nobody was asked yet. */
  decision({ server, milliseconds }: LongWait): boolean | null {
    const known = this.decided.get(server);
    return known !== undefined && performance.now() + milliseconds <= known.until + TOGETHER ? known.isAgreed : null;
  }

  /** Asks, unless it was decided meanwhile. @throws CancelledError */
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

/** Nobody is asked: a long wait is refused. */
export const REFUSED_WAITS = new LongWaits(() => Promise.resolve(false));
