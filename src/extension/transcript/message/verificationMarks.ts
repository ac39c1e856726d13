/** Computes the marks of a transcript's rows: the result of re-executing replays, and the continuation. */

import type { Message } from '../../../domain/message.ts';
import { describeOtherContinuation, type Bucket } from '../../../domain/replay.ts';
import { summarizeVerdicts, type VerificationMark } from '../../../domain/verification.ts';
import type { ReplayVerdict, StoreReader } from '../../../store/read/reader.ts';

/**
 * Returns a reader that caches messages, since rows and their marks read the same ones. Use it for a
 * single request only: it does not see later changes.
 */
export function cacheMessages<Base extends Pick<StoreReader, 'message' | 'messages'>>(reader: Base): Base {
  const known = new Map<number, Message>();
  const keep = (message: Message): Message => {
    known.set(message.id, message);
    return message;
  };
  return {
    ...reader,
    message: (id: number) => known.get(id) ?? keep(reader.message(id)),
    messages: (ids: readonly number[]) => reader.messages(ids).map(keep),
  };
}

export type MarkReader = Pick<
  StoreReader,
  'message' | 'outline' | 'requestsOf' | 'verdictsOfBucket' | 'continuationOf'
>;

type VerdictsByMessage = ReadonlyMap<number, readonly ReplayVerdict[]>;

/** Computes the marks for one window of rows. Reads each bucket once. */
export class VerificationMarks {
  private readonly reader: MarkReader;
  private readonly verdicts = new Map<number, readonly ReplayVerdict[]>();
  private readonly direct = new Map<number, VerdictsByMessage>();
  private readonly through = new Map<number, VerdictsByMessage>();
  /** The replay requests of each problem, by run and problem. */
  private readonly requests = new Map<string, readonly Bucket[]>();
  private readonly others = new Map<number, string | null>();

  constructor(reader: MarkReader) {
    this.reader = reader;
  }

  /**
   * Returns the mark of a message over the replays that begin with it or run through it. They are those
   * of its own bucket, or of the request that sampled it.
   * @param branch true if a request sampled the message, which then has a mark even before a
   *   verification; a message of the run itself has one only after it
   */
  of(id: number, branch: boolean): VerificationMark | null {
    const message = this.reader.message(id);
    const bucket = this.bucketOf(message);
    if (bucket === null) {
      return null;
    }
    const verdicts = message.bucket === null ? this.throughOf(bucket, message) : this.ofAlternatives(bucket);
    const mark = summarizeVerdicts(verdicts.get(id) ?? []);
    if (branch) {
      return (
        mark ?? {
          state: 'unverified',
          label: 'not verified yet',
          detail: 'it was not continued to the end of the episode',
        }
      );
    }
    return mark?.state === 'unverified' ? null : mark;
  }

  /**
   * Describes the continuation of a branch if it had another distribution than the replayed message.
   * Otherwise returns null.
   */
  otherOf(id: number): string | null {
    const bucket = this.bucketOf(this.reader.message(id));
    if (bucket === null) {
      return null;
    }
    const known = this.others.get(bucket);
    if (known !== undefined) {
      return known;
    }
    const found = this.reader.continuationOf(bucket);
    const words = found === null ? null : describeOtherContinuation(found);
    this.others.set(bucket, words);
    return words;
  }

  /** Returns the bucket of an alternative, or of the request to which a continuation belongs. */
  private bucketOf(message: Message): number | null {
    return message.bucket ?? (message.phase === 'replay' ? this.requestOf(message) : null);
  }

  private verdictsOf(bucket: number): readonly ReplayVerdict[] {
    const known = this.verdicts.get(bucket) ?? this.reader.verdictsOfBucket(bucket);
    this.verdicts.set(bucket, known);
    return known;
  }

  /** Returns the verdicts on a bucket's replays, by the alternative with which they begin. */
  private ofAlternatives(bucket: number): VerdictsByMessage {
    const known = this.direct.get(bucket) ?? Map.groupBy(this.verdictsOf(bucket), ({ alternative }) => alternative);
    this.direct.set(bucket, known);
    return known;
  }

  /** Returns the verdicts on a bucket's replays, by each message of the request that they run through. */
  private throughOf(bucket: number, { run, phase, iteration, problem }: Message): VerdictsByMessage {
    const known = this.through.get(bucket);
    if (known !== undefined) {
      return known;
    }
    const parents = new Map(
      this.reader.outline({ run, phase, iteration, problem }).messages.map(({ id, parent }) => [id, parent]),
    );
    const ways: { readonly id: number; readonly verdict: ReplayVerdict }[] = [];
    for (const verdict of this.verdictsOf(bucket)) {
      for (let id: number | null = verdict.leaf; id !== null; id = parents.get(id) ?? null) {
        ways.push({ id, verdict });
      }
    }
    const read = new Map(
      [...Map.groupBy(ways, ({ id }) => id)].map(([id, steps]) => [id, steps.map(({ verdict }) => verdict)]),
    );
    this.through.set(bucket, read);
    return read;
  }

  private requestOf({ run, problem, iteration }: Message): number | null {
    const name = `${run} ${problem}`;
    const known = this.requests.get(name) ?? this.reader.requestsOf(run, problem);
    this.requests.set(name, known);
    return known.find((bucket) => bucket.iteration === iteration)?.id ?? null;
  }
}
