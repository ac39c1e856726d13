/** Reads the trees of transcripts: their shape and their returns, without the texts. */

import { BY_HAND } from '../../domain/episode.ts';
import { IN_TREE, PROBLEM_NUMBER } from '../conditions.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { requireParentBefore } from '../rows.ts';
import { EPISODES } from '../tables/episodeNotes.ts';
import { buildTree } from '../tree.ts';
import type { LeafEpisode, Tree, TreeRow } from '../tree.ts';
import type { StoreReader, TreeGroup } from '../types.ts';

/** A tree and a text that changes with every append to its group. */
export interface GroupTree extends Tree {
  readonly state: string;
}

export type ReadTree = (group: TreeGroup) => GroupTree;

/** Number of cached trees. Rows never change, so a tree is stale only if rows were added. */
const KEPT_TREES = 8;

/** Reads the tree of a group, or returns it from the cache. */
export function treeReader(session: Session): ReadTree {
  const { db } = session;
  const rows = db.prepare<[TreeGroup], TreeRow>(
    `SELECT id, parent, sibling_index AS siblingIndex FROM decision WHERE ${IN_TREE}`,
  );
  const stages = db.prepare<[TreeGroup], { readonly stage: number; readonly first: number }>(
    `SELECT stage, first_decision AS first FROM stage
     WHERE run = @run AND iteration = @iteration AND @phase = 'train' ORDER BY stage DESC`,
  );
  const episodes = db.prepare<[TreeGroup], LeafEpisode>(
    `SELECT leaf, return, rule = '${BY_HAND}' AS byHand, evaluator_calls AS evaluatorCalls
    FROM ${EPISODES} WHERE ${IN_TREE} ORDER BY id`,
  );
  const newest = db
    .prepare<[TreeGroup], string>(
      `
    SELECT (SELECT coalesce(max(id), 0) FROM decision WHERE ${IN_TREE}) || ' ' ||
      (SELECT coalesce(max(id), 0) FROM episode WHERE ${IN_TREE}) || ' ' ||
      (SELECT coalesce(max(id), 0) FROM episode_note WHERE run = @run)`,
    )
    .pluck();
  // Within a run a committed id is never reused, so the newest ids identify the state of a group.
  const kept = new Map<string, GroupTree>();

  const rowsOf = (asked: TreeGroup): TreeRow[] => {
    const found = rows.all(asked).map((row) => requireParentBefore(session, row));
    const later = stages.all(asked);
    return later.length === 0
      ? found
      : found.map((row) => ({ ...row, stage: later.find(({ first }) => first <= row.id)?.stage ?? 0 }));
  };

  return ({ run, phase, iteration, problem }) => {
    const asked = { run, phase, iteration, problem };
    const state = newest.get(asked) ?? '';
    const name = JSON.stringify([run, phase, iteration, problem, state]);
    const tree = kept.get(name) ?? { ...buildTree(rowsOf(asked), episodes.all(asked)), state };
    if (db.inTransaction) {
      return tree;
    }
    kept.delete(name);
    kept.set(name, tree);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_TREES && oldest !== undefined) {
      kept.delete(oldest);
    }
    return tree;
  };
}

export function outlineReaders(session: Session, treeOf: ReadTree): Pick<StoreReader, 'outline' | 'version'> {
  const { db } = session;
  const newestCredit = db
    .prepare<[TreeGroup], number>(
      `
    SELECT coalesce(max((SELECT max(id) FROM credit WHERE credit.bucket = own.bucket)), 0)
    FROM (SELECT DISTINCT bucket FROM decision WHERE ${IN_TREE}) AS own`,
    )
    .pluck();
  // Headlines also change when a replay is added in another bucket of the same pool.
  const newestHeadline = db
    .prepare<[TreeGroup], number>(
      `
    SELECT max(
      (SELECT coalesce(max(newest), 0) FROM (SELECT DISTINCT bucket FROM decision WHERE ${IN_TREE}) AS own
       CROSS JOIN bucket_pool ON bucket_pool.bucket = own.bucket),
      (SELECT coalesce(max(newest), 0) FROM bucket CROSS JOIN bucket_pool ON bucket_pool.bucket = bucket.id
       WHERE run = @run AND origin IN ('request', 'diagnostic') AND instance = ${PROBLEM_NUMBER}))`,
    )
    .pluck();
  // The commits of other connections, and the changes of this one.
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const ownChanges = db.prepare<[], number>('SELECT total_changes()').pluck();

  return {
    outline: withStoreErrors(session, ({ run, phase, iteration, problem }) => {
      const { entries, state } = treeOf({ run, phase, iteration, problem });
      const group = { run, phase, iteration, problem };
      return {
        version: `${state} ${String(newestCredit.get(group))} ${String(newestHeadline.get(group))}`,
        messages: entries,
      };
    }),
    version: withStoreErrors(session, () => `${String(dataVersion.get())} ${String(ownChanges.get())}`),
  };
}
