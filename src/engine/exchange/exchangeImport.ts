/**
 * `c3 import`: stores a file of the C3 authors' buckets as a separate run, which can be browsed,
 * measured and exported again (reference section 8.1).
 */

import { createHash, randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { IMPORTED } from '../../domain/episode.ts';
import type { RunSummary } from '../../domain/run.ts';
import { readRegular } from '../../files/regularFile.ts';
import type { StoreWriter } from '../../store/types.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { configSchema } from '../../training/config/config.ts';
import { BucketImport } from './importBucket.ts';
import { IMPORT_LIMITS, buildProtocolText, readBuckets } from './importFile.ts';

export interface ImportReport {
  readonly run: string;
  readonly buckets: number;
  readonly alternatives: number;
  readonly evaluatorCalls: number;
}

/** Returns true if a text begins as a bucket file does: with an object that has a `ctx_hash`. */
export function isBucketFile(text: string): boolean {
  const [first = ''] = /^(?!\s*(?:#|$)).*$/mu.exec(text) ?? [];
  return first.includes('"ctx_hash"');
}

/**
 * Stores every bucket of a file, all or none. Data that a file does not contain (weights, environment,
 * tokens) is marked as imported, so its messages can be measured but not replayed. Blank lines and
 * lines starting with # are skipped.
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
  const protocolText = buildProtocolText(buckets, path);
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
    const spoken = new Map<string, number>();
    const count = { buckets: buckets.length, alternatives: 0, evaluatorCalls: 0 };
    for (const [index, bucket] of buckets.entries()) {
      const writer = new BucketImport(
        store,
        { run, environment, iteration: index + 1, roles: protocol.occurrences.map(({ role }) => role) },
        bucket,
        spoken,
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
      decisions: Object.fromEntries(spoken),
      accuracy: { before: null, after: null, difference: null },
      passAt1: { before: null, after: null, difference: null },
      seconds: 0,
      store: store.path,
    };
    store.updateRunStatus(run, 'done', now, summary);
    return { run, ...count };
  });
}
