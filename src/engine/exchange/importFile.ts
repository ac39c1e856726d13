/** Reads a file of buckets to import: its lines, this product's additions to them, and their team. */

import { z } from 'zod';
import { IMPORTED } from '../../domain/episode.ts';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { hashContext } from '../../team/contextKey.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { readBucketLine, type ExchangedBucket } from './exchangeBucket.ts';
import { OWN_KEY } from './exchangeExport.ts';
import { formatCanonicalJson, toJsonValue, toPlainData } from './exchangeJson.ts';

/**
 * Limits for one file. `compared` is the number of alternatives times the number of returns of one
 * context, since the credit of each alternative is measured against all.
 */
export const IMPORT_LIMITS = { bytes: 2 ** 28, buckets: 100_000, compared: 1_000_000 } as const;

/** Largest number that a file may contain as a count. */
export const MAX_FILE_COUNT = 1e9;

const count = z.int().min(0).max(MAX_FILE_COUNT);

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
export type OwnPart = z.infer<typeof ownSchema>;

/** A line in the form in which it is stored. */
export interface ImportedBucket
  extends
    Omit<ExchangedBucket, 'candidates' | 'credited' | 'valueFrom' | 'valueCount' | 'real'>,
    Omit<OwnPart, 'value_from' | 'value_count'> {
  readonly valueFrom: number;
  readonly valueCount: number;
}

export function readBuckets(bytes: Buffer, path: string): ImportedBucket[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const buckets: ImportedBucket[] = [];
  let number = 0;
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    const line = bytes.subarray(start, end === -1 ? bytes.length : end);
    start = end === -1 ? bytes.length : end + 1;
    number++;
    const place = `${path}:${number}`;
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
        `${place}: the file has more than ${IMPORT_LIMITS.buckets} buckets; split it into smaller files.`,
      );
    }
    buckets.push(addOwnPart(readBucketLine(text, place), place));
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
      `${path}: restart.roles_topo of bucket ${other + 1} differs from that of the first; import the two teams from files of their own.`,
    );
  }
  return buckets;
}

/** @throws C3Error('input') if the alternatives and returns of one context take too long to compare */
function refuseLargeContexts(buckets: readonly ImportedBucket[], path: string): void {
  const contexts = new Map<string, { alternatives: number; returns: number }>();
  for (const { id, targetRole, context, alternatives } of buckets) {
    const name = `${targetRole} ${hashContext(context).key}`;
    const known = contexts.get(name) ?? { alternatives: 0, returns: 0 };
    known.alternatives += alternatives.length;
    known.returns += alternatives.reduce((sum, { returns }) => sum + returns.length, 0);
    contexts.set(name, known);
    if (known.alternatives * known.returns > IMPORT_LIMITS.compared) {
      throw new C3Error(
        'input',
        `${path}: bucket ${JSON.stringify(id.slice(0, 60))} brings its context to ${known.alternatives} alternatives with ${known.returns} returns; alternatives times returns are at most ${IMPORT_LIMITS.compared}: leave some out.`,
      );
    }
  }
}

/** Adds the data that this product exported with a line, or derives it from the authors' keys. */
function addOwnPart(
  { candidates, credited, valueFrom, valueCount, real, ...bucket }: ExchangedBucket,
  place: string,
): ImportedBucket {
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
    return {
      ...bucket,
      context: describeUnknownContext(bucket),
      answer: '',
      credited,
      valueFrom,
      valueCount,
      real,
      alternatives,
    };
  }
  const parsed = ownSchema.safeParse(toPlainData(own));
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
  const context = hashContext(rest.context).key === bucket.contextHash ? rest.context : describeUnknownContext(bucket);
  return { ...bucket, ...rest, context, valueFrom: value_from, valueCount: value_count };
}

/** Returns all that a file says of a context, which replaces the missing bytes of the context. */
export function describeUnknownContext({
  contextHash,
  targetRole,
  questionId,
  question,
  prefix,
}: Pick<ExchangedBucket, 'contextHash' | 'targetRole' | 'questionId' | 'question' | 'prefix'>): string {
  return formatCanonicalJson(
    toJsonValue({
      ctx_hash: contextHash,
      target_role: targetRole,
      question_id: questionId,
      question,
      role_outputs_prefix: prefix,
    }),
  );
}

/**
 * Builds the protocol of imported buckets: a chain of roles, since a replay shows every earlier
 * output. If the last role has next messages, one more role follows.
 */
export function buildProtocolText(buckets: readonly ImportedBucket[], path: string): string {
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
    roles.push(roles.includes('next') ? `next ${roles.length}` : 'next');
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
    throw new C3Error('input', `${path}: restart.roles_topo is not a team: ${toErrorMessage(error)}`, { cause: error });
  }
  return text;
}
