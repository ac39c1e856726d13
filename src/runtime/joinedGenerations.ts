/** Joins calls that wait for the runtime, so that they share a batch. */

import { setImmediate } from 'node:timers/promises';
import { onAbort } from '../shared/cancellation.ts';
import { CancelledError } from '../shared/errors.ts';
import type { Completion, GenerationRequest } from './generate/generate.ts';
import type { ModelRuntime, RuntimeControl } from './modelRuntime.ts';

/** Most rows of a batch that answers several calls. */
const MOST_ROWS = 64;

class Call {
  readonly snapshot: string;
  readonly requests: readonly GenerationRequest[];
  readonly control: RuntimeControl;
  readonly answer = Promise.withResolvers<Completion[]>();
  readonly completions: Completion[] = [];
  /** Requests without a completion. */
  open: number;
  /** True if the caller does not wait for it anymore. */
  left = false;
  /** Called when the caller leaves. */
  onLeft = (): void => this.dismiss();
  private dismissed = false;

  constructor(snapshot: string, requests: readonly GenerationRequest[], control: RuntimeControl) {
    this.snapshot = snapshot;
    this.requests = requests;
    this.control = control;
    this.open = requests.length;
  }

  /** Ends the call before its batch ends. Its completions are dropped from here on. */
  dismiss(): void {
    this.dismissed = true;
    this.answer.reject(new CancelledError());
  }

  complete(index: number, completion: Completion): void {
    if (this.dismissed) {
      return;
    }
    this.completions[index] = completion;
    this.control.onCompletion?.(index, completion);
    this.open--;
    if (this.open === 0) {
      this.answer.resolve(this.completions);
    }
  }
}

export class JoinedGenerations {
  private readonly runtime: Pick<ModelRuntime, 'generate'>;
  private waiting: Call[] = [];
  private working = false;

  constructor(runtime: Pick<ModelRuntime, 'generate'>) {
    this.runtime = runtime;
  }

  /**
   * Answers the requests of one call. Calls that arrive in the same turn share a batch, and those that
   * arrive while the runtime generates form the next one; other calls to the runtime go ahead of them.
   * A completion does not depend on the other requests in its batch; its reused tokens do.
   * @throws CancelledError; errors of the runtime, which all calls of a batch get
   */
  async generate(
    snapshot: string,
    requests: readonly GenerationRequest[],
    control: RuntimeControl,
  ): Promise<Completion[]> {
    if (requests.length === 0) {
      return [];
    }
    const call = new Call(snapshot, requests, control);
    this.waiting.push(call);
    const release = onAbort(control.signal, () => {
      call.left = true;
      call.onLeft();
    });
    try {
      void this.work();
      return await call.answer.promise;
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
        // Calls that arrive together are answered together.
        await setImmediate();
        await this.answerTogether(this.takeBatch());
      }
    } finally {
      this.working = false;
    }
  }

  /** Takes the first waiting call, and those after it that have the same snapshot and fit. */
  private takeBatch(): Call[] {
    const [first, ...others] = this.waiting.filter(({ left }) => !left);
    if (first === undefined) {
      this.waiting = [];
      return [];
    }
    const taken = new Set([first]);
    let rows = first.requests.length;
    for (const call of others) {
      if (call.snapshot === first.snapshot && rows + call.requests.length <= MOST_ROWS) {
        taken.add(call);
        rows += call.requests.length;
      }
    }
    this.waiting = others.filter((call) => !taken.has(call));
    return [...taken];
  }

  private async answerTogether(calls: readonly Call[]): Promise<void> {
    const [first] = calls;
    if (first === undefined) {
      return;
    }
    const stopping = new AbortController();
    for (const call of calls) {
      call.onLeft = () => {
        if (calls.every(({ left, open }) => left || open === 0)) {
          // The callers wait for the end of the batch, so that nothing works for them after it.
          stopping.abort();
        } else {
          call.dismiss();
        }
      };
    }
    const rows = calls.flatMap((call) => call.requests.map((request, index) => ({ call, request, index })));
    try {
      await this.runtime.generate(
        first.snapshot,
        rows.map(({ request }) => request),
        {
          signal: stopping.signal,
          onToken: (row, token, logprob) => rows[row]?.call.control.onToken?.(rows[row].index, token, logprob),
          onCompletion: (row, completion) => rows[row]?.call.complete(rows[row].index, completion),
        },
      );
    } catch (error) {
      for (const { answer } of calls) {
        answer.reject(error);
      }
    }
  }
}
