/** The model of the view "Buckets": the buckets of one run by rank, and their messages, in pages. */

import {
  groupEqualAlternatives,
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
  /** The order of the view when the node was created. */
  readonly order: BucketOrder;
  /** The bucket and the message for commands. An empty bucket has no message. */
  readonly bucket: number;
  readonly message?: number;
}

export interface AlternativeNode {
  readonly kind: 'alternative';
  readonly id: string;
  /** The first message with its text, with the returns of all messages with that text. */
  readonly alternative: Alternative;
  /** Number of messages with the same text. */
  readonly copies: number;
  readonly bucket: number;
  readonly message: number;
}

export interface MoreBucketsNode {
  readonly kind: 'moreBuckets';
  readonly id: string;
  /** The list that the item extends. */
  readonly list: string;
  readonly parent: BucketNode | null;
  readonly left: number;
}

export type BucketsNode = BucketNode | AlternativeNode | MoreBucketsNode;

type Reader = Pick<StoreReader, 'rankedBuckets' | 'countRanked' | 'bucketView'>;

/** Returns the buckets of a run, or the messages of a bucket. */
export function listBucketNodes(
  reader: Reader,
  run: string,
  order: BucketOrder,
  node: BucketsNode | null,
  limits: Limits,
  filter: BucketFilter = ALL_BUCKETS,
): readonly BucketsNode[] {
  if (node === null) {
    return listTopBuckets(reader, run, order, limits, filter);
  }
  return node.kind === 'bucket' ? listAlternativeNodes(reader, node, limits) : [];
}

function listTopBuckets(
  reader: Reader,
  run: string,
  order: BucketOrder,
  limits: Limits,
  filter: BucketFilter,
): readonly BucketsNode[] {
  // Each order has its own length, since the pages of two orders differ.
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
  return appendMoreBuckets(shown, list, null, reader.countRanked(run, order, filter));
}

function listAlternativeNodes(reader: Reader, node: BucketNode, limits: Limits): readonly BucketsNode[] {
  const { alternatives } = reader.bucketView(node.bucket);
  const groups = groupEqualAlternatives(alternatives);
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
  return appendMoreBuckets(shown, node.id, node, groups.length);
}

function appendMoreBuckets(
  shown: readonly BucketsNode[],
  list: string,
  parent: BucketNode | null,
  total: number,
): readonly BucketsNode[] {
  const left = total - shown.length;
  return left <= 0 ? shown : [...shown, { kind: 'moreBuckets', id: `${list}/more`, list, parent, left }];
}
