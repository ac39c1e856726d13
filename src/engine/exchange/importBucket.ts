import { createHash } from 'node:crypto';
import { IMPORTED } from '../../domain/episode.ts';
import type { Sampling } from '../../domain/message.ts';
import type { StoreWriter } from '../../store/types.ts';
import { hashContext } from '../../team/contextKey.ts';
import { isObject } from './exchangeBucket.ts';
import { JsonNumber } from './exchangeJson.ts';
import { describeUnknownContext, MAX_FILE_COUNT, type ImportedBucket, type OwnPart } from './importFile.ts';

interface ImportedBucketPlace {
  readonly run: string;
  readonly environment: number;
  readonly iteration: number;
  readonly roles: readonly string[];
}

/** Stores one bucket: the messages before it, its alternatives, and what followed them. */
export class BucketImport {
  private readonly writer: StoreWriter;
  private readonly place: ImportedBucketPlace;
  private readonly bucket: ImportedBucket;
  private readonly spoken: Map<string, number>;
  private readonly problem: string;

  constructor(writer: StoreWriter, place: ImportedBucketPlace, bucket: ImportedBucket, spoken: Map<string, number>) {
    this.writer = writer;
    this.place = place;
    this.bucket = bucket;
    this.spoken = spoken;
    // A separate problem from one that has a gold answer: the file does not contain the answer, and one
    // question has one answer in a store.
    this.problem = createHash('sha256')
      .update(JSON.stringify([IMPORTED, this.question, bucket.answer]))
      .digest('hex');
  }

  store(sample: number): void {
    const { writer, place, bucket } = this;
    const { answer, questionId, credited, valueFrom, valueCount, real, line } = bucket;
    writer.insertProblems([
      {
        uid: questionId.slice(0, 200),
        uidSha: this.problem,
        question: this.question,
        answer,
        source: IMPORTED,
        level: null,
      },
    ]);
    const position = place.roles.indexOf(bucket.targetRole);
    let parent: number | null = null;
    for (const [at, role] of place.roles.slice(0, position).entries()) {
      const text = bucket.prefix.get(role);
      if (text !== undefined) {
        parent = this.message({
          role,
          position: at,
          parent,
          bucket: null,
          sibling: 0,
          text,
          context: describeUnknownContext({ ...bucket, targetRole: role, prefix: this.before(at) }),
        });
      }
    }
    const id = writer.insertBucket({
      run: place.run,
      origin: 'diagnostic',
      iteration: place.iteration,
      problem: this.problem,
      role: bucket.targetRole,
      turn: 0,
      contextKey: hashContext(bucket.context).key,
      snapshot: IMPORTED,
      message: null,
    });
    for (const [index, alternative] of bucket.alternatives.entries()) {
      this.alternative(id, index, alternative, position, parent);
    }
    writer.insertDiagnosticBucket({
      bucket: id,
      sample,
      credited,
      valueFrom,
      valueCount,
      real,
      seconds: null,
      joules: null,
      source: line,
    });
  }

  private get question(): string {
    return this.bucket.question ?? `Question ${this.bucket.questionId}`;
  }

  private before(position: number): Map<string, string> {
    const earlier = this.place.roles.slice(0, position);
    return new Map([...this.bucket.prefix].filter(([role]) => earlier.includes(role)));
  }

  private alternative(
    bucket: number,
    index: number,
    { text, original, returns, next, evaluator_calls: calls, finish }: OwnPart['alternatives'][number],
    position: number,
    parent: number | null,
  ): void {
    const { writer, place } = this;
    const message = this.message({
      role: this.bucket.targetRole,
      position,
      parent,
      bucket,
      sibling: index,
      text,
      context: this.bucket.context,
      finish,
    });
    if (original) {
      writer.insertAlternative(bucket, message, index, true);
    }
    const follower = place.roles[position + 1];
    const replies =
      follower === undefined
        ? []
        : next.map((reply, m) =>
            this.message({
              role: follower,
              position: position + 1,
              parent: message,
              bucket: null,
              sibling: m,
              text: reply,
              context: describeUnknownContext({
                ...this.bucket,
                targetRole: follower,
                prefix: new Map([...this.before(position), [this.bucket.targetRole, text]]),
              }),
            }),
          );
    for (const [m, value] of returns.entries()) {
      const leaf = replies[m] ?? message;
      // The evaluator calls that the file counts, spread over its returns.
      const evaluatorCalls = Math.floor(calls / returns.length) + (m < calls % returns.length ? 1 : 0);
      if (leaf !== message || returns.length === 1) {
        writer.insertEpisode({
          run: place.run,
          phase: 'replay',
          iteration: place.iteration,
          problem: this.problem,
          leaf,
          return: value,
          rule: IMPORTED,
          evaluatorCalls,
        });
      }
      const tokenHash = createHash('sha256')
        .update(JSON.stringify([IMPORTED, text, next[m] ?? null, value]))
        .digest('hex');
      writer.insertReplay({
        bucket,
        alternative: message,
        replayIndex: m,
        leaf,
        return: value,
        evaluatorCalls,
        tokenHash,
        environment: place.environment,
      });
    }
  }

  private message(of: {
    role: string;
    position: number;
    parent: number | null;
    bucket: number | null;
    sibling: number;
    text: string;
    context: string;
    finish?: 'end' | 'length' | 'typed';
  }): number {
    this.spoken.set(of.role, (this.spoken.get(of.role) ?? 0) + 1);
    return this.writer.insertMessage({
      run: this.place.run,
      phase: 'replay',
      iteration: this.place.iteration,
      problem: this.problem,
      snapshot: IMPORTED,
      environment: this.place.environment,
      role: of.role,
      turn: 0,
      position: of.position,
      parent: of.parent,
      bucket: of.bucket,
      siblingIndex: of.sibling,
      context: of.context,
      contextKey: hashContext(of.context).key,
      text: of.text,
      tokens: new Int32Array(),
      logprobs: new Float32Array(),
      streamKey: '',
      sampling: readImportedSampling(this.bucket),
      finish: of.finish ?? 'end',
      promptTokens: 0,
      reusedTokens: 0,
    });
  }
}

/** Returns the decoding that the file names; 0 for numbers that are missing or out of range. */
function readImportedSampling({ meta }: ImportedBucket): Sampling {
  const decoding = meta.get('decoding');
  const number = (...keys: readonly string[]): number => {
    const found = isObject(decoding)
      ? keys.map((key) => decoding.get(key)).find((value) => value instanceof JsonNumber)
      : undefined;
    return found instanceof JsonNumber && Math.abs(found.value) <= MAX_FILE_COUNT ? found.value : 0;
  };
  return {
    temperature: number('temperature'),
    topP: number('top_p'),
    topK: Math.trunc(number('top_k')),
    maxNewTokens: Math.trunc(number('max_new_tokens', 'max_new')),
  };
}
