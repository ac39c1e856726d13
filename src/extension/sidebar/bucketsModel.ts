/**
 * What the tree view "Buckets" holds: the buckets of one run by rank, and the messages of a bucket, each list in pages.
 */
import type { Alternative } from '../../domain/records.ts';
import { ALL_BUCKETS, passes, type BucketFilter, type BucketOrder, type RankedBucket } from '../../domain/rankings.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { Limits } from './runsModel.ts';

export interface BucketNode {
  readonly kind: 'bucket';
  readonly id: string;
  readonly ranked: RankedBucket;
  /** What the view was ordered by when the node was made. */
  readonly order: BucketOrder;
  /** The bucket and the message that commands are about; without one in an empty bucket. */
  readonly bucket: number;
  readonly message?: number;
}

export interface AlternativeNode {
  readonly kind: 'alternative';
  readonly id: string;
  readonly alternative: Alternative;
  readonly bucket: number;
  readonly message: number;
}

export interface MoreBucketsNode {
  readonly kind: 'moreBuckets';
  readonly id: string;
  /** The list that grows. */
  readonly list: string;
  readonly parent: BucketNode | null;
  readonly left: number;
}

export type BucketsNode = BucketNode | AlternativeNode | MoreBucketsNode;

type Reader = Pick<StoreReader, 'rankedBuckets' | 'bucketKinds' | 'countBuckets' | 'bucketView'>;

/** The buckets of a run, or the messages of one of them. */
export function bucketsOf(
  reader: Reader,
  run: string,
  order: BucketOrder,
  node: BucketsNode | null,
  limits: Limits,
  filter: BucketFilter = ALL_BUCKETS,
): readonly BucketsNode[] {
  if (node === null) {
    return topOf(reader, run, order, limits, filter);
  }
  return node.kind === 'bucket' ? alternativesOf(reader, node, limits) : [];
}

function topOf(
  reader: Reader,
  run: string,
  order: BucketOrder,
  limits: Limits,
  filter: BucketFilter,
): readonly BucketsNode[] {
  // Each order has a length of its own: a page further down means something else in another order.
  const list = `${run}/${order}`;
  const shown = reader
    .rankedBuckets({ run, order, filter, offset: 0, limit: limits.of(list) })
    .map((ranked): BucketNode => ({
      kind: 'bucket',
      id: `${list}/${String(ranked.bucket)}`,
      ranked,
      order,
      bucket: ranked.bucket,
      ...(ranked.message === null ? {} : { message: ranked.message }),
    }));
  // Counting by kind looks at every bucket; counting them all does not.
  const total =
    filter === ALL_BUCKETS
      ? reader.countBuckets({ run })
      : reader.bucketKinds(run).reduce((sum, kind) => sum + (passes(filter, kind) ? kind.count : 0), 0);
  return withMore(shown, list, null, total);
}

function alternativesOf(reader: Reader, node: BucketNode, limits: Limits): readonly BucketsNode[] {
  const { alternatives } = reader.bucketView(node.bucket);
  const shown = alternatives
    .slice(0, limits.of(node.id))
    .map((alternative): AlternativeNode => ({
      kind: 'alternative',
      id: `${node.id}/${String(alternative.decision)}`,
      alternative,
      bucket: node.bucket,
      message: alternative.decision,
    }));
  return withMore(shown, node.id, node, alternatives.length);
}

function withMore(
  shown: readonly BucketsNode[],
  list: string,
  parent: BucketNode | null,
  total: number,
): readonly BucketsNode[] {
  const left = total - shown.length;
  return left <= 0 ? shown : [...shown, { kind: 'moreBuckets', id: `${list}/more`, list, parent, left }];
}
