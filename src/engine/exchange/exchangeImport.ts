/**
 * `c3 import`: a file of the C3 authors' buckets as a separate run, to be browsed, measured and written again
 * (reference section 8.1).
 */
import { createHash, randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { readRegular } from '../../files/regularFile.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import type { RunSummary, Sampling } from '../../shared/records/records.ts';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import type { StoreWriter } from '../../store/types.ts';
import { contextKey } from '../../team/contextKey.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { configSchema } from '../../training/config.ts';
import { isObject, readBucketLine, type ExchangedBucket } from './exchangeBucket.ts';
import { OWN_KEY } from './exchangeExport.ts';
import { canonicalJson, JsonNumber, jsonOf, plainOf } from './exchangeJson.ts';

/**
 * Bounds of one file. `compared`: alternatives times returns of one context, since the credit of each is measured
 * against all.
 */
export const IMPORT_LIMITS = { bytes: 2 ** 28, buckets: 100_000, compared: 1_000_000 } as const;

/** Largest count that a file may name. */
const MOST = 1e9;

/** What weights, environments and methods are called that a file does not tell. */
const IMPORTED = 'imported';

export interface ImportReport {
  readonly run: string;
  readonly buckets: number;
  readonly alternatives: number;
  readonly evaluatorCalls: number;
}

const count = z.int().min(0).max(MOST);

const ownSchema = z.object({
  context: z.string(),
  answer: z.string(),
  credited: count,
  value_from: count,
  value_count: count,
  real: count.nullable(),
  alternatives: z.array(
    z.object({
      text: z.string(),
      finish: z.enum(['end', 'length', 'typed']),
      original: z.boolean(),
      returns: z.array(z.number().refine(isReturn, `must be ${RETURN_WORDS}`).nullable()),
      next: z.array(z.string()),
      evaluator_calls: count,
    }),
  ),
});
type OwnPart = z.infer<typeof ownSchema>;

/** A line as it is stored. */
interface Imported
  extends
    Omit<ExchangedBucket, 'candidates' | 'credited' | 'valueFrom' | 'valueCount' | 'real'>,
    Omit<OwnPart, 'value_from' | 'value_count'> {
  readonly valueFrom: number;
  readonly valueCount: number;
}

/**
 * Stores every bucket of a file, all or none. What a file does not tell is marked as imported: weights, environment,
 * tokens; so its messages can be measured and not be replayed. Blank lines and lines starting with # are skipped.
 * @param now ISO 8601
 * @throws C3Error('input') naming file, line and key
 */
export async function importBuckets(store: StoreWriter, path: string, now: string): Promise<ImportReport> {
  const bytes = await readRegular(
    path,
    IMPORT_LIMITS.bytes,
    'give the path of a readable bucket file',
    'input',
    'split it into smaller files',
  );
  const buckets = readBuckets(bytes, path);
  const protocolText = protocolFor(buckets, path);
  const protocol = parseProtocol(protocolText, path);
  const run = `${IMPORTED}-${randomUUID().slice(0, 8)}`;
  const title = `Imported from ${basename(path)}`.slice(0, 200);
  const config = {
    config: configSchema.parse({ title, steps: 0, evaluation: { instances: 0 } }),
    folder: dirname(path),
    modelFolder: `the model of ${basename(path)}, which was not imported`,
    protocolText,
    protocolSource: path,
    fingerprint: null,
  };
  return store.transaction(() => {
    store.insertRun({
      id: run,
      method: IMPORTED,
      seed: 0,
      title,
      config: JSON.stringify(config),
      plannedSteps: 0,
      createdAt: now,
    });
    store.insertSnapshot({ id: IMPORTED, run, iteration: 0, base: basename(path), file: null });
    const environment = store.environmentId({
      runtime: IMPORTED,
      provider: 'none',
      device: 'none',
      threads: 1,
      platform: 'unknown',
    });
    const sample = store.insertDiagnosticSample(
      run,
      JSON.stringify({ imported: basename(path), sha256: createHash('sha256').update(bytes).digest('hex') }),
    );
    const decisions = new Map<string, number>();
    const count = { buckets: buckets.length, alternatives: 0, evaluatorCalls: 0 };
    for (const [index, bucket] of buckets.entries()) {
      const writer = new BucketImport(
        store,
        { run, environment, iteration: index + 1, roles: protocol.occurrences.map(({ role }) => role) },
        bucket,
        decisions,
      );
      writer.store(sample);
      count.alternatives += bucket.alternatives.length;
      count.evaluatorCalls += bucket.alternatives.reduce((sum, one) => sum + one.evaluator_calls, 0);
    }
    const summary: RunSummary = {
      run,
      method: IMPORTED,
      seed: 0,
      steps: 0,
      evaluatorCalls: count.evaluatorCalls,
      tokens: { prompt: 0, reused: 0, completion: 0 },
      decisions: Object.fromEntries(decisions),
      accuracy: { before: null, after: null, difference: null },
      passAt1: { before: null, after: null, difference: null },
      seconds: 0,
      store: store.path,
    };
    store.updateRunStatus(run, 'done', now, summary);
    return { run, ...count };
  });
}

function readBuckets(bytes: Buffer, path: string): Imported[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const buckets: Imported[] = [];
  let number = 0;
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    const line = bytes.subarray(start, end === -1 ? bytes.length : end);
    start = end === -1 ? bytes.length : end + 1;
    number++;
    const place = `${path}:${String(number)}`;
    let text: string;
    try {
      text = decoder.decode(line).trim();
    } catch (error) {
      throw new C3Error('input', `${place}: the line is not UTF-8; save the file as UTF-8.`, { cause: error });
    }
    if (text === '' || text.startsWith('#')) {
      continue;
    }
    if (buckets.length === IMPORT_LIMITS.buckets) {
      throw new C3Error(
        'input',
        `${place}: the file has more than ${String(IMPORT_LIMITS.buckets)} buckets; split it into smaller files.`,
      );
    }
    buckets.push(withOwnPart(readBucketLine(text, place), place));
  }
  if (buckets.length === 0) {
    throw new C3Error('input', `${path} holds no buckets; give a file with one JSON object a line.`);
  }
  const [first] = buckets;
  const other = buckets.findIndex(({ roles }) => roles.join('\0') !== first?.roles.join('\0'));
  refuseLargeContexts(buckets, path);
  if (other !== -1) {
    throw new C3Error(
      'input',
      `${path}: restart.roles_topo of bucket ${String(other + 1)} differs from that of the first; import the two teams from files of their own.`,
    );
  }
  return buckets;
}

/** @throws C3Error('input') for a context of more alternatives and returns than can be compared soon */
function refuseLargeContexts(buckets: readonly Imported[], path: string): void {
  const contexts = new Map<string, { alternatives: number; returns: number }>();
  for (const { id, targetRole, context, alternatives } of buckets) {
    const name = `${targetRole} ${contextKey(context).key}`;
    const known = contexts.get(name) ?? { alternatives: 0, returns: 0 };
    known.alternatives += alternatives.length;
    known.returns += alternatives.reduce((sum, { returns }) => sum + returns.length, 0);
    contexts.set(name, known);
    if (known.alternatives * known.returns > IMPORT_LIMITS.compared) {
      throw new C3Error(
        'input',
        `${path}: bucket ${JSON.stringify(id.slice(0, 60))} brings its context to ${String(known.alternatives)} alternatives with ${String(known.returns)} returns; alternatives times returns are at most ${String(IMPORT_LIMITS.compared)}: leave some out.`,
      );
    }
  }
}

/** A line with what this product wrote beside the authors' keys, or with what follows from these where it did not. */
function withOwnPart(
  { candidates, credited, valueFrom, valueCount, real, ...bucket }: ExchangedBucket,
  place: string,
): Imported {
  const own = bucket.meta.get(OWN_KEY);
  if (own === undefined) {
    const alternatives = candidates.map(({ text, returns, next }, j) => ({
      text,
      finish: 'end' as const,
      original: j === real,
      returns: [...returns],
      next: [...next],
      evaluator_calls: returns.length,
    }));
    return { ...bucket, context: contextText(bucket), answer: '', credited, valueFrom, valueCount, real, alternatives };
  }
  const parsed = ownSchema.safeParse(plainOf(own));
  if (!parsed.success) {
    const what = parsed.error.issues
      .slice(0, 1)
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('');
    throw new C3Error('input', `${place}: meta.${OWN_KEY}.${what}; leave meta.${OWN_KEY} out, or as it was exported.`);
  }
  const { value_from, value_count, ...rest } = parsed.data;
  const kept = rest.alternatives.filter(({ returns }) => returns.some((value) => value !== null));
  const same =
    kept.length === candidates.length &&
    kept.every(
      ({ text, returns }, j) =>
        text === candidates[j]?.text &&
        returns.filter((value) => value !== null).join() === candidates[j].returns.join(),
    );
  if (!same) {
    throw new C3Error(
      'input',
      `${place}: meta.${OWN_KEY}.alternatives are not those of candidates; leave meta.${OWN_KEY} out where the bucket was changed.`,
    );
  }
  const context = contextKey(rest.context).key === bucket.contextHash ? rest.context : contextText(bucket);
  return { ...bucket, ...rest, context, valueFrom: value_from, valueCount: value_count };
}

/** What stands for a context whose bytes the file does not hold: all that it says of it. */
function contextText({
  contextHash,
  targetRole,
  questionId,
  question,
  prefix,
}: Pick<ExchangedBucket, 'contextHash' | 'targetRole' | 'questionId' | 'question' | 'prefix'>): string {
  return canonicalJson(
    jsonOf({
      ctx_hash: contextHash,
      target_role: targetRole,
      question_id: questionId,
      question,
      role_outputs_prefix: prefix,
    }),
  );
}

/** Roles in a chain, as their replay shows every earlier output; one more where the last of them has a next message. */
function protocolFor(buckets: readonly Imported[], path: string): string {
  const roles = [...(buckets[0]?.roles ?? [])];
  for (const { targetRole } of buckets) {
    if (!roles.includes(targetRole)) {
      roles.push(targetRole);
    }
  }
  const beyond = buckets.some(
    ({ targetRole, alternatives }) => roles.at(-1) === targetRole && alternatives.some(({ next }) => next.length > 0),
  );
  if (beyond) {
    roles.push(roles.includes('next') ? `next ${String(roles.length)}` : 'next');
  }
  const text = JSON.stringify({
    name: IMPORTED,
    roles: roles.map((role, index) => ({
      role,
      prompt: 'Imported without its prompt.',
      depends_on: roles.slice(0, index),
      with_answer: index === roles.length - 1,
    })),
  });
  try {
    parseProtocol(text, path);
  } catch (error) {
    throw new C3Error('input', `${path}: restart.roles_topo is no team: ${messageOf(error)}`, { cause: error });
  }
  return text;
}

interface Place {
  readonly run: string;
  readonly environment: number;
  readonly iteration: number;
  readonly roles: readonly string[];
}

/** Stores one bucket: the messages before it, its alternatives, and what followed them. */
class BucketImport {
  private readonly writer: StoreWriter;
  private readonly place: Place;
  private readonly bucket: Imported;
  private readonly decisions: Map<string, number>;
  private readonly instance: string;

  constructor(writer: StoreWriter, place: Place, bucket: Imported, decisions: Map<string, number>) {
    this.writer = writer;
    this.place = place;
    this.bucket = bucket;
    this.decisions = decisions;
    // Apart from instances that have a gold answer: a file does not tell it, and one question has one answer in a
    // store.
    this.instance = createHash('sha256')
      .update(JSON.stringify([IMPORTED, this.question, bucket.answer]))
      .digest('hex');
  }

  store(sample: number): void {
    const { writer, place, bucket } = this;
    const { answer, questionId, credited, valueFrom, valueCount, real, line } = bucket;
    writer.insertInstances([
      {
        uid: questionId.slice(0, 200),
        uidSha: this.instance,
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
        parent = this.decision({
          role,
          position: at,
          parent,
          bucket: null,
          sibling: 0,
          text,
          context: contextText({ ...bucket, targetRole: role, prefix: this.before(at) }),
        });
      }
    }
    const id = writer.insertBucket({
      run: place.run,
      origin: 'diagnostic',
      iteration: place.iteration,
      instance: this.instance,
      eventType: bucket.targetRole,
      turn: 0,
      contextKey: contextKey(bucket.context).key,
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
    const decision = this.decision({
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
      writer.insertAlternative(bucket, decision, index, true);
    }
    const follower = place.roles[position + 1];
    const replies =
      follower === undefined
        ? []
        : next.map((reply, m) =>
            this.decision({
              role: follower,
              position: position + 1,
              parent: decision,
              bucket: null,
              sibling: m,
              text: reply,
              context: contextText({
                ...this.bucket,
                targetRole: follower,
                prefix: new Map([...this.before(position), [this.bucket.targetRole, text]]),
              }),
            }),
          );
    for (const [m, value] of returns.entries()) {
      const leaf = replies[m] ?? decision;
      // The calls that the file counts, spread over its returns.
      const evaluatorCalls = Math.floor(calls / returns.length) + (m < calls % returns.length ? 1 : 0);
      if (leaf !== decision || returns.length === 1) {
        writer.insertEpisode({
          run: place.run,
          phase: 'replay',
          iteration: place.iteration,
          instance: this.instance,
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
        alternative: decision,
        replayIndex: m,
        leaf,
        return: value,
        evaluatorCalls,
        tokenHash,
        environment: place.environment,
      });
    }
  }

  private decision(of: {
    role: string;
    position: number;
    parent: number | null;
    bucket: number | null;
    sibling: number;
    text: string;
    context: string;
    finish?: 'end' | 'length' | 'typed';
  }): number {
    this.decisions.set(of.role, (this.decisions.get(of.role) ?? 0) + 1);
    return this.writer.insertDecision({
      run: this.place.run,
      phase: 'replay',
      iteration: this.place.iteration,
      instance: this.instance,
      snapshot: IMPORTED,
      environment: this.place.environment,
      eventType: of.role,
      turn: 0,
      position: of.position,
      parent: of.parent,
      bucket: of.bucket,
      siblingIndex: of.sibling,
      context: of.context,
      contextKey: contextKey(of.context).key,
      text: of.text,
      tokens: new Int32Array(),
      logprobs: new Float32Array(),
      streamKey: '',
      sampling: samplingOf(this.bucket),
      finish: of.finish ?? 'end',
      promptTokens: 0,
      reusedTokens: 0,
    });
  }
}

/** The decoding that the file names; 0 where it names none, or a number that no decoding has. */
function samplingOf({ meta }: Imported): Sampling {
  const decoding = meta.get('decoding');
  const number = (...keys: readonly string[]): number => {
    const found = isObject(decoding)
      ? keys.map((key) => decoding.get(key)).find((value) => value instanceof JsonNumber)
      : undefined;
    return found instanceof JsonNumber && Math.abs(found.value) <= MOST ? found.value : 0;
  };
  return {
    temperature: number('temperature'),
    topP: number('top_p'),
    topK: Math.trunc(number('top_k')),
    maxNewTokens: Math.trunc(number('max_new_tokens', 'max_new')),
  };
}
