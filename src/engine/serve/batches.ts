/** Puts the requests of many clients into batches. Requests that wait for a batch form the next one. */

import { setImmediate } from 'node:timers/promises';
import type { Completion, GenerationRequest } from '../../runtime/generate/generate.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { onAbort } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import { ServeError } from './serveError.ts';

/** Most rows of a batch, and most rows that may wait. */
const MOST_ROWS = 64;
const MOST_WAITING = 2048;
/** Seconds after which a refused client may try again. */
const RETRY_AFTER = 1;

class Row {
  readonly request: GenerationRequest;
  readonly onToken: OnToken | undefined;
  readonly answer = Promise.withResolvers<Completion>();
  /** True if no client waits for it anymore. */
  left = false;
  /** Called when the client leaves while the row is computed. */
  onLeft = (): void => undefined;

  constructor(request: GenerationRequest, onToken: OnToken | undefined) {
    this.request = request;
    this.onToken = onToken;
  }
}

/** Receives a token and its log-probability as soon as it is chosen. */
export type OnToken = (token: number, logprob: number) => void;

export class Batches {
  private readonly runtime: Pick<ModelRuntime, 'generate'>;
  private readonly snapshot: string;
  private readonly waiting: Row[] = [];
  private working = false;

  constructor(runtime: Pick<ModelRuntime, 'generate'>, snapshot: string) {
    this.runtime = runtime;
    this.snapshot = snapshot;
  }

  /** @throws ServeError if `rows` more rows cannot wait */
  checkRoom(rows: number): void {
    if (this.waiting.length + rows > MOST_WAITING) {
      throw new ServeError(
        429,
        `More than ${MOST_WAITING} answers are waiting already; ask again later.`,
        null,
        RETRY_AFTER,
      );
    }
  }

  /**
   * Answers one request. The answer does not depend on the other requests in the batch.
   * @param onToken receives each token of a request with `followed`
   * @throws CancelledError; errors of the runtime
   */
  async answer(request: GenerationRequest, signal: AbortSignal, onToken?: OnToken): Promise<Completion> {
    const row = new Row(request, onToken);
    this.waiting.push(row);
    const release = onAbort(signal, () => {
      row.left = true;
      row.answer.reject(new CancelledError());
      row.onLeft();
    });
    try {
      void this.work();
      return await row.answer.promise;
    } finally {
      release();
    }
  }

  private async work(): Promise<void> {
    if (this.working) {
      return;
    }
    this.working = true;
    try {
      while (this.waiting.length > 0) {
        // Requests that arrive together are answered together.
        await setImmediate();
        await this.batch(this.waiting.splice(0, MOST_ROWS).filter(({ left }) => !left));
      }
    } finally {
      this.working = false;
    }
  }

  private async batch(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) {
      return;
    }
    const stopping = new AbortController();
    const answered = new Set<Row>();
    const stopIfLeft = (): void => {
      if (rows.every((row) => row.left || answered.has(row))) {
        stopping.abort();
      }
    };
    for (const row of rows) {
      row.onLeft = stopIfLeft;
    }
    try {
      await this.runtime.generate(
        this.snapshot,
        rows.map(({ request }) => request),
        {
          signal: stopping.signal,
          onToken: (index, token, logprob) => rows[index]?.onToken?.(token, logprob),
          onCompletion: (index, completion) => {
            const row = rows[index];
            if (row !== undefined) {
              answered.add(row);
              row.answer.resolve(completion);
            }
          },
        },
      );
    } catch (error) {
      for (const row of rows) {
        row.answer.reject(error);
      }
    }
  }
}
