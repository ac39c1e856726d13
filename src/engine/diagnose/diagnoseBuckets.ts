/** Reads stored buckets for the diagnostics and the exchange, with returns and next messages. */

import { findEstimator } from '../../credit/estimators.ts';
import type { DiagnosticAlternative, DiagnosticBucket } from '../../diagnostics/bucket.ts';
import type { Message } from '../../domain/message.ts';
import type { BucketOrigin, BucketView } from '../../domain/replay.ts';
import type { DiagnosticRow, StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';

/** A bucket for diagnostics, with its rows in the store. */
export interface StoredBucket extends DiagnosticBucket {
  readonly view: BucketView;
  readonly row: DiagnosticRow | null;
  readonly position: number;
}

const PAGE = 200;

/** Reads the buckets of one origin of a run, oldest first, including other continuation distributions. */
export function* readOriginBuckets(
  store: StoreReader,
  run: string,
  origin: BucketOrigin,
  protocol: Protocol,
): Generator<StoredBucket, void, undefined> {
  for (let offset = 0; ; offset += PAGE) {
    const views = store.bucketsOfRun({ run, origin, offset, limit: PAGE });
    yield* toStoredBuckets(
      store,
      views.map((view) => [view, null]),
      protocol,
    );
    if (views.length < PAGE) {
      return;
    }
  }
}

/** Reads the complete buckets of a sample, oldest first, page by page. */
export function* readSampleBuckets(
  store: StoreReader,
  sample: number,
  protocol: Protocol,
): Generator<StoredBucket, void, undefined> {
  for (let offset = 0; ; offset += PAGE) {
    const rows = store.diagnosticBuckets(sample, offset, PAGE);
    yield* toStoredBuckets(
      store,
      rows.map((row) => [store.bucketView(row.bucket), row]),
      protocol,
    );
    if (rows.length < PAGE) {
      return;
    }
  }
}

function* toStoredBuckets(
  store: StoreReader,
  page: readonly (readonly [BucketView, DiagnosticRow | null])[],
  protocol: Protocol,
): Generator<StoredBucket, void, undefined> {
  const replies = readReplies(
    store,
    page.filter(([, row]) => row?.source === null || row === null).map(([view]) => view),
    protocol,
  );
  // An imported file may have more next messages than returns, so not all of them belong to a replay.
  for (const [view] of page.filter(([, row]) => row !== null && row.source !== null)) {
    for (const { message } of view.alternatives) {
      replies.set(
        message,
        store.children(message).map(({ text }) => text),
      );
    }
  }
  for (const [view, row] of page) {
    const alternatives = view.alternatives.map(
      ({ text, returns, message, evaluatorCalls, bucketCredit: credit }): DiagnosticAlternative => {
        return {
          text,
          returns,
          next: replies.get(message) ?? [],
          evaluatorCalls,
          credit: credit !== null && findEstimator(credit.estimator)?.diagnosed === 'stored' ? credit.value : null,
        };
      },
    );
    const original = view.alternatives.findIndex((alternative) => alternative.original);
    yield {
      id: String(view.id),
      role: view.role,
      alternatives,
      credited: row?.credited ?? alternatives.length,
      valueFrom: row?.valueFrom ?? alternatives.length,
      valueCount: row?.valueCount ?? 0,
      real: row === null ? (original === -1 ? null : original) : row.real,
      view,
      row,
      position: findBucketPosition(protocol, view),
    };
  }
}

/** Returns the position of a bucket's role and turn, or 0 if the protocol no longer has it. */
function findBucketPosition(protocol: Protocol, { role, turn }: BucketView): number {
  return protocol.occurrences.find((occurrence) => occurrence.role === role && occurrence.turn === turn)?.position ?? 0;
}

/** Returns the distinct replies of the first role that sees each alternative, in the order of replays. */
function readReplies(store: StoreReader, views: readonly BucketView[], protocol: Protocol): Map<number, string[]> {
  const replies = new Map<number, string[]>();
  const known = new Map<number, Message>();
  for (const view of views) {
    const position = findBucketPosition(protocol, view);
    const listener = protocol.occurrences.find(({ ancestors }) => ancestors.includes(position))?.position;
    if (listener === undefined) {
      continue;
    }
    const paths = store
      .replaysOfBucket(view.id)
      .filter(({ leaf, alternative }) => leaf !== alternative)
      .map(({ leaf, alternative }) => ({ at: leaf, alternative }));
    const found = new Map<number, Set<number>>();
    // Walk up from all leaves at once, with one query for each level of the protocol.
    for (let open = paths; open.length > 0;) {
      const missing = [...new Set(open.map(({ at }) => at))].filter((id) => !known.has(id));
      for (const message of store.messages(missing)) {
        known.set(message.id, message);
      }
      const above: typeof open = [];
      for (const { at, alternative } of open) {
        const message = known.get(at);
        if (message === undefined) {
          continue;
        }
        if (message.position === listener) {
          found.set(alternative, (found.get(alternative) ?? new Set()).add(at));
        } else if (message.position > listener && message.parent !== null) {
          above.push({ at: message.parent, alternative });
        }
      }
      open = above;
    }
    for (const [alternative, ids] of found) {
      replies.set(
        alternative,
        [...ids].map((id) => known.get(id)?.text ?? ''),
      );
    }
  }
  return replies;
}
