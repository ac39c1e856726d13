/**
 * What the tree view "Buckets" holds: the buckets of one run by rank, and the messages of a bucket, each list in pages.
 */
import {
  equalAlternatives,
  ALL_BUCKETS,
  type Alternative,
  type BucketFilter,
  type BucketOrder,
  type RankedBucket,
} from '../../domain/replay.ts';
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
  /** The first of those with its text, with the returns of all. */
  readonly alternative: Alternative;
  /** How often it was said. */
  readonly copies: number;
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

type Reader = Pick<StoreReader, 'rankedBuckets' | 'countRanked' | 'bucketView'>;

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
      id: `${list}/${ranked.bucket}`,
      ranked,
      order,
      bucket: ranked.bucket,
      ...(ranked.message === null ? {} : { message: ranked.message }),
    }));
  return withMore(shown, list, null, reader.countRanked(run, order, filter));
}

function alternativesOf(reader: Reader, node: BucketNode, limits: Limits): readonly BucketsNode[] {
  const { alternatives } = reader.bucketView(node.bucket);
  const groups = equalAlternatives(alternatives);
  const shown = groups.slice(0, limits.of(node.id)).map(({ first, all }): AlternativeNode => {
    const original = all.find((one) => one.original) ?? first;
    return {
      kind: 'alternative',
      id: `${node.id}/${original.message}`,
      alternative: { ...original, returns: all.flatMap(({ returns }) => returns) },
      copies: all.length,
      bucket: node.bucket,
      message: original.message,
    };
  });
  return withMore(shown, node.id, node, groups.length);
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
