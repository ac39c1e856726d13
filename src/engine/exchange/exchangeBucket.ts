/** Reads, checks and writes one line of the C3 authors' bucket file (reference section 8.1). */

import { blake2b } from '@noble/hashes/blake2.js';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { formatCanonicalJson, isList, JsonNumber, parseJson, type JsonValue } from './exchangeJson.ts';

export interface ExchangedCandidate {
  readonly text: string;
  readonly returns: readonly number[];
  readonly next: readonly string[];
}

export interface ExchangedBucket {
  readonly id: string;
  /** Context key of the authors, as a decimal number. */
  readonly contextHash: string;
  readonly targetRole: string;
  readonly questionId: string;
  /** In topological order. */
  readonly roles: readonly string[];
  readonly prefix: ReadonlyMap<string, string>;
  readonly question: string | null;
  /** In the order of j. */
  readonly candidates: readonly ExchangedCandidate[];
  readonly credited: number;
  readonly valueFrom: number;
  readonly valueCount: number;
  /** Index of the real candidate, or null if it is not among the credited candidates. */
  readonly real: number | null;
  readonly meta: JsonObject;
  /** The line to write again: the original line, unless a missing key was filled in. */
  readonly line: string;
}

type JsonObject = ReadonlyMap<string, JsonValue>;

/** Limits for one bucket. */
export const EXCHANGE_LIMITS = { candidates: 4096, returns: 4096, roles: 256 } as const;

/**
 * Reads one line. Candidates are sorted by j. A missing j, bucket_id, question_id or meta is filled in
 * as the authors' writer does.
 * @param place name of the line in error messages
 * @throws C3Error('input') naming the place and the wrong key
 */
export function readBucketLine(line: string, place: string): ExchangedBucket {
  const fail = (key: string, must: string): C3Error => new C3Error('input', `${place}: ${key} ${must}.`);
  let parsed: JsonValue;
  try {
    parsed = parseJson(line);
  } catch (error) {
    throw new C3Error('input', `${place}: ${toErrorMessage(error)}; write one bucket as a JSON object on each line.`, {
      cause: error,
    });
  }
  if (!isObject(parsed)) {
    throw fail('the line', 'must be a JSON object, one bucket');
  }
  const bucket = fillMissingKeys(parsed);
  const restart = bucket.get('restart');
  if (!isObject(restart)) {
    throw fail('restart', 'must be an object');
  }
  const meta = bucket.get('meta');
  if (!isObject(meta)) {
    throw fail('meta', 'must be an object');
  }
  const contextHash = toPlainText(bucket.get('ctx_hash'));
  if (!/^(?:0|[1-9]\d{0,18})$/u.test(contextHash) || BigInt(contextHash) >= 1n << 63n) {
    throw fail('ctx_hash', 'must be a whole number in [0, 2^63)');
  }
  const targetRole = bucket.get('target_role');
  if (typeof targetRole !== 'string' || targetRole.trim() === '') {
    throw fail('target_role', 'must be a text that is not blank');
  }
  const questionId = bucket.get('question_id');
  if (
    !(typeof questionId === 'string'
      ? questionId !== ''
      : questionId instanceof JsonNumber && /^-?\d+$/u.test(questionId.text))
  ) {
    throw fail('question_id', 'must be a text or a whole number');
  }
  const candidates = readCandidates(bucket.get('candidates'), fail);
  const segments = readSegments(meta, candidates.length);
  const question = restart.get('question');
  const id = bucket.get('bucket_id');
  if (typeof id !== 'string' || id.trim() === '') {
    throw fail('bucket_id', 'must be a text that is not blank');
  }
  return {
    id,
    contextHash,
    targetRole,
    questionId: toPlainText(questionId),
    roles: readRoles(restart.get('roles_topo'), fail),
    prefix: readPrefix(restart.get('role_outputs_prefix'), fail),
    question: typeof question === 'string' && question.trim() !== '' ? question : null,
    candidates,
    ...segments,
    meta,
    line: bucket === parsed ? line : formatCanonicalJson(bucket),
  };
}

/** Returns the authors' name of a bucket: BLAKE2b-64 of canonical JSON of its identity, without returns. */
export function computeBucketId(bucket: JsonObject): string {
  const meta = bucket.get('meta');
  const candidates = bucket.get('candidates');
  const identity = new Map<string, JsonValue>([
    ['ctx_hash', bucket.get('ctx_hash') ?? null],
    ['question_id', bucket.get('question_id') ?? null],
    ['target_role', bucket.get('target_role') ?? null],
    ['seed', (isObject(meta) ? meta.get('seed') : undefined) ?? null],
    [
      'actions',
      (isList(candidates) ? candidates : []).flatMap((candidate) =>
        isObject(candidate) ? [candidate.get('action_text') ?? null] : [],
      ),
    ],
  ]);
  const digest = blake2b(new TextEncoder().encode(formatCanonicalJson(identity)), { dkLen: 8 });
  return `bkt_${Buffer.from(digest).toString('hex')}`;
}

/** Fills in missing keys. If none is missing, returns the same object, so that its line stays as it is. */
function fillMissingKeys(bucket: JsonObject): JsonObject {
  const missing = new Map<string, JsonValue>();
  const restart = bucket.get('restart');
  if (!bucket.has('question_id')) {
    const found =
      (isObject(restart) ? restart.get('question_id') : undefined) ?? bucket.get('qid') ?? bucket.get('instance_id');
    if (found !== undefined) {
      missing.set('question_id', found);
    }
  }
  const meta = bucket.get('meta');
  if (meta === undefined || meta === null) {
    missing.set('meta', new Map());
  } else if (!isObject(meta)) {
    missing.set('meta', new Map([['meta_raw', meta]]));
  }
  const role = isObject(meta) ? meta.get('target_role') : undefined;
  if (!bucket.has('target_role') && role !== undefined) {
    missing.set('target_role', role);
  }
  const candidates = bucket.get('candidates');
  if (isList(candidates) && candidates.some((one) => isObject(one) && (!one.has('j') || !one.has('next_actions')))) {
    missing.set(
      'candidates',
      candidates.map((one, index) =>
        isObject(one)
          ? new Map<string, JsonValue>([['j', new JsonNumber(String(index))], ['next_actions', []], ...one])
          : one,
      ),
    );
  }
  const whole = new Map<string, JsonValue>([...bucket, ...missing]);
  const id = bucket.get('bucket_id');
  if (id !== undefined && id !== null && id !== '') {
    return missing.size === 0 ? bucket : whole;
  }
  return whole.set('bucket_id', computeBucketId(whole));
}

type Fail = (key: string, must: string) => C3Error;

function readCandidates(value: JsonValue | undefined, fail: Fail): ExchangedCandidate[] {
  if (!isList(value) || value.length === 0 || value.length > EXCHANGE_LIMITS.candidates) {
    throw fail('candidates', `must be a list of 1 to ${EXCHANGE_LIMITS.candidates}`);
  }
  const found = new Map<number, ExchangedCandidate>();
  for (const [index, candidate] of value.entries()) {
    const key = `candidates[${index}]`;
    if (!isObject(candidate)) {
      throw fail(key, 'must be an object');
    }
    const j = candidate.get('j');
    const place = j instanceof JsonNumber && /^\d{1,9}$/u.test(j.text) ? j.value : -1;
    if (place < 0 || place >= value.length || found.has(place)) {
      throw fail(`${key}.j`, `must be each whole number from 0 to ${value.length - 1} once`);
    }
    const text = candidate.get('action_text');
    if (typeof text !== 'string') {
      throw fail(`${key}.action_text`, 'must be a text');
    }
    found.set(place, {
      text,
      returns: readReturns(candidate.get('returns'), key, fail),
      next: readNext(candidate.get('next_actions'), key, fail),
    });
  }
  return [...found].sort(([a], [b]) => a - b).map(([, candidate]) => candidate);
}

function readReturns(value: JsonValue | undefined, key: string, fail: Fail): number[] {
  if (!isList(value) || value.length === 0 || value.length > EXCHANGE_LIMITS.returns) {
    throw fail(`${key}.returns`, `must be a list of 1 to ${EXCHANGE_LIMITS.returns} numbers`);
  }
  return value.map((item, index) => {
    const number = item instanceof JsonNumber ? item.value : typeof item === 'boolean' ? Number(item) : NaN;
    if (!isReturn(number)) {
      throw fail(`${key}.returns[${index}]`, `must be ${RETURN_WORDS}`);
    }
    return number;
  });
}

function readNext(value: JsonValue | undefined, key: string, fail: Fail): string[] {
  if (!isList(value) || value.length > EXCHANGE_LIMITS.returns) {
    throw fail(`${key}.next_actions`, `must be a list of at most ${EXCHANGE_LIMITS.returns} texts, or left out`);
  }
  return value.map((item, index) => {
    if (typeof item !== 'string') {
      throw fail(`${key}.next_actions[${index}]`, 'must be a text');
    }
    return item;
  });
}

function readRoles(value: JsonValue | undefined, fail: Fail): string[] {
  const roles = isList(value) ? value.filter((role) => typeof role === 'string' && role !== '').map(toPlainText) : [];
  if (
    !isList(value) ||
    roles.length !== value.length ||
    roles.length > EXCHANGE_LIMITS.roles ||
    new Set(roles).size !== roles.length
  ) {
    throw fail('restart.roles_topo', `must be a list of at most ${EXCHANGE_LIMITS.roles} different names`);
  }
  return roles;
}

function readPrefix(value: JsonValue | undefined, fail: Fail): Map<string, string> {
  if (!isObject(value) || value.size > EXCHANGE_LIMITS.roles) {
    throw fail('restart.role_outputs_prefix', 'must be an object of the earlier roles');
  }
  const prefix = new Map<string, string>();
  for (const [role, text] of value) {
    if (role === '' || typeof text !== 'string') {
      throw fail(`restart.role_outputs_prefix.${role.slice(0, 40)}`, 'must be a named text');
    }
    prefix.set(role, text);
  }
  return prefix;
}

/** Reads which candidates are credited and which only count for the value, clipped as by the authors. */
function readSegments(
  meta: JsonObject,
  count: number,
): Pick<ExchangedBucket, 'credited' | 'valueFrom' | 'valueCount' | 'real'> {
  const whole = (key: string, fallback: number): number => {
    const value = meta.get(key);
    const number =
      value instanceof JsonNumber
        ? Math.trunc(value.value)
        : typeof value === 'string' && /^\s*[-+]?\d+\s*$/u.test(value)
          ? Number(value)
          : NaN;
    return Number.isFinite(number) ? number : fallback;
  };
  const clipped = (key: string, fallback: number): number => Math.max(0, Math.min(count, whole(key, fallback)));
  const credited = clipped('credit_n', count);
  const valueFrom = clipped('v_extra_start', count);
  const real = whole('real_j', 0);
  return {
    credited,
    valueFrom,
    valueCount: Math.min(count - valueFrom, clipped('v_extra_n', 0)),
    real: real >= 0 && real < credited ? real : null,
  };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

function toPlainText(value: JsonValue | undefined): string {
  return value instanceof JsonNumber ? value.text : typeof value === 'string' ? value : '';
}
