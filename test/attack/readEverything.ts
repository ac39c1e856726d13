/**
 * Reads a store as the editor and the command line do, through every kind of question:
 * node test/attack/readEverything.ts STORE [write]
 * It prints what it read, or the kind and the message of the error that refused.
 */

import { diagnose } from '../../src/engine/diagnose/diagnose.ts';
import { HEADLINE_RULE } from '../../src/engine/recipe/headlines.ts';
import { parseRecipe, parseRecipeProtocol, readRunProtocol } from '../../src/engine/recipe/recipe.ts';
import { parseThresholds, createTaxonomyReport } from '../../src/engine/taxonomy/taxonomyReport.ts';
import { readBuckets } from '../../src/engine/taxonomy/taxonomyView.ts';
import { runReport } from '../../src/report/report.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { openStoreForReading, type StoreReader } from '../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { getContextEstimator } from '../../src/training/methods/methods.ts';

const PAGE = { offset: 0, limit: 50 };

/** The numbers that are shown of a run: diagnosis, taxonomy and report. @throws C3Error */
export async function answersOf(store: StoreReader, run: string): Promise<string> {
  const recipe = parseRecipe(store.runConfig(run), run);
  const diagnosis = diagnose(store, run, {
    origin: null,
    estimator: getContextEstimator(recipe.config),
    protocol: parseRecipeProtocol(recipe),
  });
  const taxonomy = await createTaxonomyReport(
    store,
    run,
    await readBuckets(store, run, readRunProtocol(store, run)),
    parseThresholds([]),
  );
  return JSON.stringify({ diagnosis, taxonomy, report: runReport(store, run) });
}

/** Asks the readers behind lists, trees and transcripts. @returns how many values came back */
export function browse(store: StoreReader): number {
  let values = Object.values(store.counts()).length;
  const count = (found: unknown): void => {
    values += Array.isArray(found) ? found.length : 1;
  };
  for (const { id: run } of store.runs(0, 50)) {
    for (const found of [
      store.run(run),
      store.steps(run, 0, 50),
      store.latestLedger(run),
      store.snapshotsOfRun(run),
      store.evaluations(run),
      store.costs(run),
      store.replayCosts(run),
      store.account(run),
    ]) {
      count(found);
    }
    for (const found of [
      store.bucketKinds(run),
      store.problemFacets(run),
      store.clearestMessages(run, 20),
      store.lowestMessages(run, 20),
      store.labelsOfRun(run),
      store.labelNames(run),
      store.replaysOfRun(run, 0, 50),
      store.creditsOfRun(run, 0, 50),
    ]) {
      count(found);
    }
    const episodes = [0, 1].flatMap((iteration) =>
      (['train', 'evaluate'] as const).flatMap((phase) => store.episodes({ run, phase, iteration, ...PAGE })),
    );
    for (const { leaf, phase, iteration, problem } of episodes.slice(0, 5)) {
      const group = { run, phase, iteration, problem };
      for (const found of [
        store.chain(leaf),
        store.transcript({ ...group, ...PAGE }).messages,
        store.outline(group).messages,
        store.costliestOf(group),
        store.costliestThrough(leaf),
        store.fullMessage(leaf),
        store.children(leaf),
        store.facts(group),
      ]) {
        count(found);
      }
      count(store.problem(problem));
    }
    for (const bucket of store.bucketsOfRun({ run, offset: 0, limit: 10 })) {
      for (const found of [
        store.bucketView(bucket.id),
        store.credits(bucket.id),
        store.replaysOfBucket(bucket.id),
        store.labelsOfBucket(bucket.id),
      ]) {
        count(found);
      }
    }
    count(store.searchMessages({ run, query: 'a', ...PAGE }));
  }
  return values;
}

function main(path: string, writes: boolean): unknown {
  try {
    const store = writes ? openStoreForWriting(path, { headlines: HEADLINE_RULE }) : openStoreForReading(path);
    try {
      return { values: browse(store) };
    } finally {
      store.close();
    }
  } catch (error) {
    return error instanceof C3Error ? { refused: error.message } : { untyped: String(error) };
  }
}

const [, script, path, mode] = process.argv;
if (script === import.meta.filename && path !== undefined) {
  console.log(JSON.stringify(main(path, mode === 'write')));
}
