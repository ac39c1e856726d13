import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  c3,
  contentsOf,
  copyOf,
  finished,
  hears,
  makeWorkspace,
  parseLine,
  startC3,
  withStore,
  type Finished,
} from '../../../unit/engine/workspace.ts';
import { jsonl, makeTeam, sums } from '../../../unit/training/tinyTeam.ts';

let workspace = '';
/** A workspace with a run that was interrupted in training, and the summary of the same run uninterrupted. */
let interrupted = '';
let run = '';
let whole: Record<string, unknown> = {};

const OVERRIDES = ['steps=6', 'snapshot_every=4', 'checkpoint_every=2'].flatMap((override) => ['--override', override]);

/** Runs until a line and interrupts there. */
async function interrupt(folder: string, line: string, args: readonly string[]): Promise<Finished> {
  const child = startC3(folder, args);
  const done = finished(child);
  child.stdin.end();
  await hears(child, line);
  child.kill('SIGINT');
  return done;
}

before(async () => {
  workspace = await makeWorkspace();
  const copy = await makeWorkspace();
  whole = parseLine((await c3(copy, ['run', 'tiny.c3.yaml', '--json', ...OVERRIDES])).stdout);
  rmSync(copy, { recursive: true, force: true });
  interrupted = await makeWorkspace();
  await interrupt(interrupted, 'Step 3 of 6', ['run', 'tiny.c3.yaml', ...OVERRIDES]);
  run = withStore(interrupted, (store) => store.runs(0, 1)[0]?.id ?? '');
});
after(() => {
  for (const folder of [workspace, interrupted]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A copy whose run still names the files of the original: what it was made of is changed there and put back. */
const another = (t: TestContext): string => copyOf(t, interrupted);
const withoutPlace = ({ run: id, store, seconds, ...rest }: Record<string, unknown>): unknown => {
  assert.ok(typeof id === 'string' && typeof store === 'string' && typeof seconds === 'number' && seconds > 0);
  return rest;
};

describe('c3 run --resume', () => {
  it('takes a run that was interrupted to the end that it would have had, and says so of a finished one', async (t) => {
    const folder = copyOf(t, workspace);
    const { code, stdout, stderr } = await interrupt(folder, 'Evaluating sampled, before training: 4 of 4', [
      'run',
      'tiny.c3.yaml',
      ...OVERRIDES,
    ]);
    const id = withStore(folder, (store) => store.runs(0, 1)[0]?.id ?? '');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      new RegExp(`\nRun ${id} can be resumed: c3 run --resume ${id}\nCancelled; what was stored stays\\.\n$`),
    );
    const second = await interrupt(folder, 'Step 3 of 6', ['run', '--resume', id]);
    assert.equal(second.code, 1);
    const third = await c3(folder, ['run', '--resume', id, '--json']);
    assert.equal(third.code, 0, third.stderr);
    assert.match(third.stderr, /Executing step 3 of \d again(, .*)?\n/);
    const summary = parseLine(third.stdout);
    assert.deepEqual(withoutPlace({ ...summary, lostEvaluatorCalls: 0 }), withoutPlace(whole));
    assert.deepEqual([summary['run'], withStore(folder, (store) => store.countRuns())], [id, 1]);
    const stored = contentsOf(folder);
    const again = await c3(folder, ['run', '--resume', id, '--json']);
    assert.deepEqual(
      [again.code, again.stdout, again.stderr],
      [0, third.stdout, `Run ${id} is finished; there is nothing to resume.\n`],
    );
    assert.deepEqual(contentsOf(folder), stored);
    assert.match((await c3(folder, ['run', '--resume', id])).stdout, new RegExp(`^\nRun ${id} \\(c3, seed 0\\)\n`));
  });

  it('takes nothing beside the run, and no run that is not there', async (t) => {
    const folder = copyOf(t, workspace);
    const refusals: readonly (readonly [readonly string[], number, RegExp])[] = [
      [
        ['--resume', 'c3-0-1', 'tiny.c3.yaml'],
        2,
        /^c3: c3 run --resume "c3-0-1" continues with the configuration that the run began with; omit the configuration\.\n$/,
      ],
      [['--resume', 'c3-0-1', '--override', 'seed=1'], 2, /omit --override\.\n$/],
      [['--resume'], 2, /--resume/],
      [['--resume', 'c3-0-1'], 1, /^c3: There is no store at .*\n$/],
    ];
    for (const [args, code, message] of refusals) {
      const result = await c3(folder, ['run', ...args]);
      assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
      assert.match(result.stderr, message);
    }
    assert.ok(!existsSync(join(folder, '.c3')));
    const other = await c3(another(t), ['run', '--resume', 'c3-0-1']);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /^c3: There is no run c3-0-1 in the store .*\n$/);
  });

  it('refuses a run whose data, protocol, tokenizer or model have changed, and continues when they are back', async (t) => {
    const kept = copyOf(t, interrupted);
    const other = copyOf(t, workspace);
    await makeTeam(join(other, 'team'), { seed: 2, steps: 1 });
    const changes: readonly (readonly [file: string, content: Uint8Array | string, message: RegExp])[] = [
      [
        'train.jsonl',
        jsonl(sums(5)),
        /^c3: Run \S+ cannot be resumed: the training problems in train\.jsonl have changed since it began; put the old ones back, or start a new run\.\n$/,
      ],
      ['held.jsonl', jsonl(sums(6, 101)), /cannot be resumed: the evaluation problems in held\.jsonl have changed/],
      ['pair.json', readFileSync(join(kept, 'four.json')), /cannot be resumed: the protocol .*pair\.json has changed/],
      [
        'team/tokenizer.json',
        `${readFileSync(join(kept, 'team', 'tokenizer.json'), 'utf8')} `,
        /cannot be resumed: the tokenizer in .*team has changed/,
      ],
      [
        'team/model.safetensors',
        readFileSync(join(other, 'team', 'model.safetensors')),
        /cannot be resumed: the model in .*team is no longer the one that it began with; put its weights back, or start a new run\.\n$/,
      ],
    ];
    const status = (): unknown => withStore(interrupted, (store) => [store.run(run), store.counts()]);
    const before = status();
    for (const [file, content, message] of changes) {
      const path = join(interrupted, file);
      writeFileSync(path, content);
      const result = await c3(interrupted, ['run', '--resume', run, '--json']);
      cpSync(join(kept, file), path);
      assert.deepEqual([result.code, result.stdout], [2, ''], `${file}: ${result.stderr}`);
      assert.match(result.stderr, message);
      assert.deepEqual(status(), before, file);
    }
    const resumed = await c3(another(t), ['run', '--resume', run, '--json']);
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.deepEqual(withoutPlace({ ...parseLine(resumed.stdout), lostEvaluatorCalls: 0 }), withoutPlace(whole));
  });
});

describe('weights that were not kept', () => {
  it('are rebuilt when a replay or a verification needs them', async (t) => {
    const folder = another(t);
    assert.equal((await c3(folder, ['run', '--resume', run])).code, 0);
    const files = (): string[] =>
      readdirSync(join(folder, '.c3', 'snapshots')).filter((name) => /^[0-9a-f]{64}\.safetensors$/.test(name));
    // Kept in the place of the original: the copy's own folder holds what its resume wrote, steps 4 and 6 of six.
    const before = files();
    assert.equal(before.length, 2);
    // The interrupted run may have written the weights of step 4 just before it heard of the interrupt: they go in both
    // places.
    for (const name of before) {
      for (const place of [folder, interrupted]) {
        rmSync(join(place, '.c3', 'snapshots', name), { force: true });
      }
    }
    const verified = await c3(folder, ['verify', '--run', run, '--json']);
    assert.equal(verified.code, 0, verified.stderr);
    const { checked, identical, different, notComparable } = parseLine(verified.stdout);
    // Six steps of two problems: a bucket of two plans with four solutions each, and two of four solutions.
    assert.deepEqual([checked, identical, different, notComparable], [6 * 2 * 16, 6 * 2 * 16, 0, 0]);
    // The five snapshots that sampled after the beginning.
    assert.equal(files().length, 5);
    const message = withStore(
      folder,
      (store) =>
        store.bucketsOfRun({ run, offset: store.countBuckets({ run }) - 1, limit: 1 })[0]?.alternatives[0]?.message ??
        0,
    );
    rmSync(join(folder, '.c3', 'snapshots', files()[0] ?? ''));
    const replayed = await c3(folder, ['replay', String(message), '--json']);
    assert.equal(replayed.code, 0, replayed.stderr);
  });
});
