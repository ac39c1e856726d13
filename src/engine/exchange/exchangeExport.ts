/** `c3 export --format buckets`: writes buckets in the C3 authors' format (reference section 8.1). */

import type { BucketOrigin } from '../../domain/replay.ts';
import { writeOut } from '../../files/outFile.ts';
import type { DiagnosticRow, StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { readOriginBuckets, type StoredBucket } from '../diagnose/diagnoseBuckets.ts';
import { computeBucketId } from './exchangeBucket.ts';
import { formatCanonicalJson, toPythonFloat, JsonNumber, toJsonValue, type JsonValue } from './exchangeJson.ts';

/** Key in a bucket's meta for the data that only this product knows. */
export const OWN_KEY = 'c3_replay';

export interface ExportReport {
  readonly out: string;
  readonly buckets: number;
  /** Number of buckets left out because they have no return, which the format cannot hold. */
  readonly leftOut: number;
  /** Number of buckets left out because the format cannot express their continuation distribution. */
  readonly others: number;
}

const ORIGINS: readonly BucketOrigin[] = ['training', 'request', 'diagnostic'];

/**
 * Writes every bucket of a run, one in each line. Imported buckets are written as their original
 * lines. Data that the format has no place for (masked returns, the rendered context) is put under
 * meta.c3_replay, so that an import restores it.
 * @throws C3Error as writeOut
 */
export function exportBuckets(store: StoreReader, run: string, protocol: Protocol, out: string): ExportReport {
  const { method, seed } = store.run(run);
  let [buckets, leftOut, others] = [0, 0, 0];
  writeOut(out, lines());
  return { out, buckets, leftOut, others };

  function* lines(): Generator<string, void, undefined> {
    for (const origin of ORIGINS) {
      for (const bucket of readOriginBuckets(store, run, origin, protocol)) {
        if (bucket.view.continuation !== null) {
          others++;
          continue;
        }
        const line =
          store.diagnosticBucket(bucket.view.id)?.source ?? formatBucketLine(store, bucket, protocol, { method, seed });
        if (line === null) {
          leftOut++;
        } else {
          yield `${line}\n`;
          buckets++;
        }
      }
    }
  }
}

/** Formats a stored bucket as a line. Returns null if no alternative has a return. */
function formatBucketLine(
  store: StoreReader,
  bucket: StoredBucket,
  protocol: Protocol,
  run: { readonly method: string; readonly seed: number },
): string | null {
  const { view, position } = bucket;
  const row = store.diagnosticBucket(view.id);
  const problem = store.problem(view.problem);
  const kept = bucket.alternatives.flatMap((alternative, index) =>
    alternative.returns.some((value) => value !== null) ? [{ ...alternative, index }] : [],
  );
  const [first] = view.alternatives;
  if (kept.length === 0 || first === undefined) {
    return null;
  }
  const said = store.fullMessage(first.message);
  const prefix = new Map(
    store
      .chain(first.message)
      .slice(0, -1)
      .map((message) => [findTurnName(protocol, message.position), message.text]),
  );
  const before = (end: number): number => kept.filter(({ index }) => index < end).length;
  const listener = protocol.occurrences.find(({ ancestors }) => ancestors.includes(position));
  const valueFrom = row?.valueFrom ?? bucket.alternatives.length;
  const real = row === null ? bucket.real : row.real;
  const fields: Record<string, unknown> = {
    ctx_hash: new JsonNumber(view.contextKey),
    target_role: findTurnName(protocol, position),
    question_id: problem.uid,
    restart: {
      roles_topo: protocol.occurrences.map(({ id }) => id),
      role_outputs_prefix: prefix,
      question: problem.question,
      question_id: problem.uid,
    },
    candidates: kept.map(({ text, returns, next }, j) => ({
      j,
      action_text: text,
      returns: returns.filter((value) => value !== null).map(toPythonFloat),
      next_actions: next,
    })),
    meta: {
      method: run.method,
      seed: run.seed,
      credit_n: before(row?.credited ?? bucket.alternatives.length),
      v_extra_start: before(valueFrom),
      v_extra_n: before(valueFrom + (row?.valueCount ?? 0)) - before(valueFrom),
      candidate_total_req: bucket.alternatives.length,
      candidate_total_got: kept.length,
      decoding: {
        temperature: toPythonFloat(said.sampling.temperature),
        top_p: toPythonFloat(said.sampling.topP),
        top_k: said.sampling.topK,
        max_new_tokens: said.sampling.maxNewTokens,
      },
      record_next_teammate: listener !== undefined,
      next_role: listener?.id,
      // The authors' tools need this key. If no candidate is the real message, the first one is named.
      real_j: real === null || !kept.some(({ index }) => index === real) ? 0 : before(real),
      include_real_as_j0: real === 0,
      [OWN_KEY]: buildOwnPart(bucket, row, said.context, problem.answer),
    },
  };
  const line = toJsonValue(fields);
  return line instanceof Map
    ? formatCanonicalJson(
        new Map<string, JsonValue>([
          ...(line as ReadonlyMap<string, JsonValue>),
          ['bucket_id', computeBucketId(line as ReadonlyMap<string, JsonValue>)],
        ]),
      )
    : null;
}

/** Returns the data that the authors' format has no place for. */
function buildOwnPart(
  { view, alternatives, real }: StoredBucket,
  row: DiagnosticRow | null,
  context: string,
  answer: string,
): object {
  return {
    run: view.run,
    origin: view.origin,
    iteration: view.iteration,
    snapshot: view.snapshot,
    context,
    answer,
    credited: row?.credited ?? alternatives.length,
    value_from: row?.valueFrom ?? alternatives.length,
    value_count: row?.valueCount ?? 0,
    real: row === null ? real : row.real,
    // All alternatives, in order. The authors' candidates leave out those whose evaluations all failed.
    alternatives: view.alternatives.map(({ text, finish, original }, index) => ({
      text,
      finish,
      original,
      returns: (alternatives[index]?.returns ?? []).map((value) => (value === null ? null : toPythonFloat(value))),
      next: alternatives[index]?.next ?? [],
      evaluator_calls: alternatives[index]?.evaluatorCalls ?? 0,
    })),
  };
}

function findTurnName(protocol: Protocol, position: number): string {
  return protocol.occurrences[position]?.id ?? String(position);
}
