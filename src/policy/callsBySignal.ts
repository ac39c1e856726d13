/** Calls under signals: one listener for all calls of one signal, gone with the last of them. */
import { onAbort } from '../shared/cancellation.ts';

interface Watch {
  calls: number;
  readonly stop: () => void;
}

export class CallsBySignal {
  private readonly watches = new Map<AbortSignal, Watch>();
  private readonly grace: number;
  private readonly late: (signal: AbortSignal) => void;

  /** @param late called where calls of a signal are still open `grace` milliseconds after its abort */
  constructor(grace: number, late: (signal: AbortSignal) => void) {
    this.grace = grace;
    this.late = late;
  }

  begin(signal: AbortSignal): void {
    const known = this.watches.get(signal);
    if (known !== undefined) {
      known.calls++;
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    const release = onAbort(signal, () => {
      timer = setTimeout(() => this.late(signal), this.grace);
    });
    const stop = (): void => {
      release();
      clearTimeout(timer);
    };
    this.watches.set(signal, { calls: 1, stop });
  }

  end(signal: AbortSignal): void {
    const watch = this.watches.get(signal);
    if (watch !== undefined && --watch.calls === 0) {
      watch.stop();
      this.watches.delete(signal);
    }
  }
}
