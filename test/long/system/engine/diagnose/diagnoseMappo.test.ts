/**
 * A tiny run of MAPPO from the command line: what its stored credits are taken against, in this engine and in the next.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readMethodRun } from '../../../../../src/bench/experiments/paper/paperTable.ts';
import { readSampleBuckets } from '../../../../../src/engine/diagnose/diagnoseBuckets.ts';
import { parseRecipe, parseRecipeProtocol } from '../../../../../src/engine/recipe/recipe.ts';
import { createRenderer } from '../../../../../src/policy/rendering.ts';
import { loadTokenizer } from '../../../../../src/policy/tokenizer.ts';
import { ModelHost } from '../../../../../src/runtime/host.ts';
import { openStoreForReading, type StoreReader } from '../../../../../src/store/read/reader.ts';
import { restoreTraining } from '../../../../../src/training/state/restore.ts';
import { c3, copyOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

const STEPS = 3;
const OVERRIDES = [
  'method=mappo',
  `steps=${STEPS}`,
  `snapshot_every=${STEPS}`,
  'value_head.learning_rate=0.05',
  'evaluation.before=false',
].flatMap((override) => ['--override', override]);
const SAMPLE = [
  '--json',
  '--sample',
  '--contexts',
  '3',
  '--alternatives',
  '3',
  '--replays',
  '2',
  '--value-samples',
  '2',
];

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json', ...OVERRIDES])).stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/**
 * What the newest sample's credits were taken against, by context: V = mean return - credit, the same for each
 * alternative of it.
 */
function valuesOfSample(store: StoreReader): Map<string, number> {
  const sample = store.diagnosticSamples(run).at(-1)?.id ?? 0;
  const values = new Map<string, number>();
  for (const { view, credited } of readSampleBuckets(
    store,
    sample,
    parseRecipeProtocol(parseRecipe(store.runConfig(run), run)),
  )) {
    for (const [index, { returns, bucketCredit: credit }] of view.alternatives.entries()) {
      if (index >= credited) {
        assert.equal(credit, null);
      } else {
        assert.equal(credit?.estimator, 'mappo');
        const value = returns.reduce<number>((sum, one) => sum + (one ?? NaN), 0) / returns.length - credit.value;
        assert.ok(Math.abs(value - (values.get(view.contextKey) ?? value)) < 1e-12);
        values.set(view.contextKey, value);
      }
    }
  }
  assert.equal(values.size, 3);
  return values;
}

/** What the head says of the same contexts where training ended, by executing the training again. */
async function valuesOfTraining(folder: string): Promise<Map<string, number>> {
  const store = openStoreForReading(join(folder, '.c3', 'c3.sqlite'));
  const runtime = new ModelHost({ threads: 1 });
  try {
    const { config, ...recipe } = parseRecipe(store.runConfig(run), run);
    const {
      snapshot: base,
      config: { maxPositions },
    } = await runtime.load(join(folder, 'team'));
    const tokenizer = await loadTokenizer(join(folder, 'team'));
    const nowhere = join(folder, 'no checkpoints');
    await restoreTraining(
      {
        run,
        config,
        protocol: parseRecipeProtocol({ config, ...recipe }),
        render: createRenderer(recipe.rendering),
        maxPositions,
        store,
        runtime,
        tokenizer,
        base,
        snapshotFolder: nowhere,
        signal: new AbortController().signal,
        onStep: () => undefined,
      },
      STEPS,
    );
    const values = new Map<string, number>();
    for (const { contextKey, role, alternatives } of store.bucketsOfRun({
      run,
      origin: 'diagnostic',
      offset: 0,
      limit: 100,
    })) {
      // Both roles see all that was said before them: the state is what the message answered.
      const tokens = tokenizer.encode(store.fullMessage(alternatives[0]?.message ?? 0).context);
      const [value] = await runtime.values([{ role, tokens }], new AbortController().signal);
      values.set(contextKey, value ?? NaN);
    }
    return values;
  } finally {
    store.close();
    await runtime.close();
  }
}

function assertSame(actual: ReadonlyMap<string, number>, expected: ReadonlyMap<string, number>): void {
  for (const [context, value] of actual) {
    assert.ok(
      Math.abs(value - (expected.get(context) ?? NaN)) < 1e-6,
      `${value} is not ${String(expected.get(context))}`,
    );
  }
}

const headsOf = (folder: string): string[] =>
  readdirSync(join(folder, '.c3', 'snapshots')).filter((name) => name.startsWith('value-head-'));

describe('c3 diagnose --sample of a run of MAPPO', () => {
  it('takes its credits against the value head that the training ended with, also in a new engine and from a rebuilt head', async (t) => {
    const folder = copyOf(t, workspace);
    const sample = async (...more: readonly string[]): Promise<Record<string, unknown>> => {
      const { code, stdout, stderr } = await c3(folder, ['diagnose', '--run', run, ...SAMPLE, ...more]);
      assert.equal(code, 0, stderr);
      return parseLine(stdout);
    };
    const found = await sample();
    assert.deepEqual([found['origin'], found['estimator'], found['contexts']], ['diagnostic', 'mappo', 3]);
    const first = withStore(folder, valuesOfSample);
    assert.equal(new Set(first.values()).size, 3);
    assert.ok([...first.values()].every((value) => value !== 0));
    const measured = withStore(folder, (store) => readMethodRun(store, run, 'calls'));
    assert.deepEqual([measured.method, measured.contexts], ['mappo', 3]);
    assert.deepEqual(
      measured.fidelity,
      (found['fidelity'] as { readonly all: { readonly value: number } | null }).all?.value ?? null,
    );
    assert.deepEqual(measured.variance, (found['variance'] as { readonly value: number }).value);
    // Other alternatives, the same contexts: what they are measured against is the same.
    await sample();
    assertSame(withStore(folder, valuesOfSample), first);
    const [name = ''] = headsOf(folder);
    assert.deepEqual(headsOf(folder), [name]);
    const path = join(folder, '.c3', 'snapshots', name);
    const bytes = readFileSync(path);
    rmSync(path);
    await sample();
    assertSame(withStore(folder, valuesOfSample), first);
    assert.deepEqual(readFileSync(path), bytes);
    // Weights and head are rebuilt together.
    for (const file of readdirSync(join(folder, '.c3', 'snapshots'))) {
      rmSync(join(folder, '.c3', 'snapshots', file));
    }
    await sample('--role', 'actor');
    const ofActor = withStore(folder, valuesOfSample);
    assert.deepEqual(readFileSync(path), bytes);
    const trained = await valuesOfTraining(folder);
    assert.equal(trained.size, 6);
    assertSame(new Map([...first, ...ofActor]), trained);
  });

  it('refuses a damaged head in one line and stores nothing', async (t) => {
    const folder = copyOf(t, workspace);
    const path = join(folder, '.c3', 'snapshots', headsOf(folder)[0] ?? '');
    assert.ok(existsSync(path));
    writeFileSync(
      path,
      readFileSync(path).map((byte, index, all) => (index === all.length - 2 ? byte ^ 1 : byte)),
    );
    const refused = await c3(folder, ['diagnose', '--run', run, ...SAMPLE]);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      errorOf(refused),
      /^c3: The value head .* is damaged: its contents do not match its hash; delete it, and the training of its run is repeated to restore it\.$/,
    );
    assert.equal(
      withStore(folder, (store) => store.countBuckets({ run, origin: 'diagnostic' })),
      0,
    );
  });
});
