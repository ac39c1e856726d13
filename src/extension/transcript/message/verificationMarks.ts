/**
 * Which marks a row of the transcript has: what re-executing the replays of its message showed, and what continued
 * it.
 */
import type { Message } from '../../../domain/message.ts';
import { continuationWords, type Bucket } from '../../../domain/replay.ts';
import { markOf, type VerificationMark } from '../../../domain/verification.ts';
import type { ReplayVerdict, StoreReader } from '../../../store/read/reader.ts';

/**
 * A reader that reads each message once: rows and their marks ask for the same ones. Only for as long as nothing new is
 * to be seen.
 */
export function remembering<Base extends Pick<StoreReader, 'message' | 'messages'>>(reader: Base): Base {
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

/** Answers for the rows of one window; every bucket is read once. */
export class VerificationMarks {
  private readonly reader: MarkReader;
  private readonly verdicts = new Map<number, readonly ReplayVerdict[]>();
  private readonly direct = new Map<number, VerdictsByMessage>();
  private readonly through = new Map<number, VerdictsByMessage>();
  /** The replay requests about each problem. */
  private readonly requests = new Map<string, readonly Bucket[]>();
  private readonly others = new Map<number, string | null>();

  constructor(reader: MarkReader) {
    this.reader = reader;
  }

  /**
   * The mark of a message over the replays that begin with it or run through it: those of its own bucket, or of the
   * request that sampled it.
   * @param branch whether a request sampled it: such a message says so too while nothing was verified; a run's own
   *   has a mark only once there is one
   */
  of(id: number, branch: boolean): VerificationMark | null {
    const message = this.reader.message(id);
    const bucket = this.bucketOf(message);
    if (bucket === null) {
      return null;
    }
    const verdicts = message.bucket === null ? this.throughOf(bucket, message) : this.ofAlternatives(bucket);
    const mark = markOf(verdicts.get(id) ?? []);
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
   * What continued a branch, in words, where that is another distribution than that of the message asked about; null
   * elsewhere.
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
    const words = found === null ? null : continuationWords(found);
    this.others.set(bucket, words);
    return words;
  }

  /** The bucket of an alternative, or of the request that a continuation belongs to. */
  private bucketOf(message: Message): number | null {
    return message.bucket ?? (message.phase === 'replay' ? this.requestOf(message) : null);
  }

  private verdictsOf(bucket: number): readonly ReplayVerdict[] {
    const known = this.verdicts.get(bucket) ?? this.reader.verdictsOfBucket(bucket);
    this.verdicts.set(bucket, known);
    return known;
  }

  /** The verdicts on the replays of a bucket, by the alternative that they begin with. */
  private ofAlternatives(bucket: number): VerdictsByMessage {
    const known = this.direct.get(bucket) ?? Map.groupBy(this.verdictsOf(bucket), ({ alternative }) => alternative);
    this.direct.set(bucket, known);
    return known;
  }

  /** The same by every message of the request that they run through. */
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
