/**
 * What the command line says when it cannot do what it was asked: one clear line, the right exit code, and everything
 * as it was.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { sealPath } from '../../../../src/store/files/seal.ts';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { c3, c3Apart, CONFIG, contentsOf, copyOf, makeWorkspace, withStore } from '../../../unit/engine/workspace.ts';
import { jsonl, sums } from '../../../unit/training/tinyTeam.ts';
import { BROKEN_TEAMS, oldStore, refuses, refusesBesideStore, RUN } from './refusals.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('arguments', () => {
  it('names the nearest command and option', async () => {
    await refuses(workspace, ['repaly', '3'], { code: 2, says: /no command "repaly"; did you mean replay\?/ });
    await refuses(workspace, ['constructor'], { code: 2, says: /no command "constructor"; see `c3 help`/ });
    await refuses(workspace, ['run', '--overide', 'steps=1'], {
      code: 2,
      says: /c3 run has no option --overide; did you mean --override\?/,
    });
    await refuses(workspace, ['verify', '--everything'], {
      code: 2,
      says: /c3 verify has no option --everything; its options are --run, --sample, --store, --json/,
    });
    await refuses(workspace, ['doctor', '--toString'], { code: 2, says: /no option --toString/ });
    await refuses(workspace, ['doctor', '-j'], { code: 2, says: /-j/ });
  });

  it('refuses values that are missing, wrong or too many', async () => {
    await refuses(workspace, ['run', '--store'], {
      code: 2,
      says: /c3 run: Option '--store <value>' argument missing/,
    });
    await refuses(workspace, ['run', 'a', 'b'], { code: 2, says: /c3 run takes at most 1; "b" is one too many/ });
    await refuses(workspace, ['doctor', 'now'], { code: 2, says: /c3 doctor takes no argument/ });
    for (const wrong of [[], ['x'], ['0'], ['1.5'], ['1e1'], ['']]) {
      await refuses(workspace, ['replay', ...wrong], { code: 2, says: /c3 replay needs the number of a message/ });
    }
    await refuses(workspace, ['replay', '1', '--alternatives', 'four'], {
      code: 2,
      says: /--alternatives needs a whole number of at least 0, not "four"/,
    });
    await refuses(workspace, ['replay', '1', '--replays', '0'], {
      code: 2,
      says: /--replays needs a whole number of at least 1/,
    });
    await refuses(workspace, ['replay', '1', '--alternatives', '999'], {
      code: 2,
      says: /alternatives must be a whole number from 0 to 256/,
    });
    await refuses(workspace, ['verify', '--sample', '-3'], { code: 2, says: /--sample/ });
    await refuses(workspace, ['taxonomy'], { code: 2, says: /c3 taxonomy needs --run RUN/ });
    await refuses(workspace, ['credit'], { code: 2, says: /needs --estimator with one of loo, loo_two_level, / });
    await refuses(workspace, ['credit', '--estimator', 'lo'], {
      code: 2,
      says: /--estimator is loo, loo_two_level, full_mean, .*, not "lo"; did you mean loo\?/,
    });
    await refuses(workspace, ['bench', 'fist-run'], {
      code: 2,
      says: /has no suite "fist-run"; did you mean first-run\?/,
    });
  });

  it('helps', async () => {
    const help = await c3(workspace, ['help']);
    for (const name of ['run', 'replay', 'verify', 'taxonomy', 'credit', 'doctor', 'bench']) {
      assert.match(help.stdout, new RegExp(`^  ${name} `, 'm'));
    }
    assert.deepEqual([help.code, help.stderr], [0, '']);
    assert.match((await c3(workspace, ['run', '--help'])).stdout, /^Usage: c3 run \[CONFIG\]/);
    assert.deepEqual(await c3(workspace, ['help', 'run']), await c3(workspace, ['run', '--help']));
    await refuses(workspace, ['help', 'rum'], { code: 2, says: /no command "rum"; did you mean run\?/ });
    assert.match((await c3(workspace, ['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
    assert.deepEqual((await c3(workspace, [])).stdout, help.stdout);
  });
});

describe('credit lines', () => {
  it('are refused by number and reason', async () => {
    const credit = ['credit', '--estimator', 'loo'];
    await refuses(workspace, credit, {
      code: 2,
      stdin: '{"id": 1\n',
      says: /standard input, line 1: .*JSON.*; give \{"id"/,
    });
    await refuses(workspace, credit, {
      code: 2,
      stdin: '\n{"id": 1}\n',
      says: /standard input, line 2: alternatives: .*expected array/,
    });
    await refuses(workspace, credit, {
      code: 2,
      stdin: '{"id": 1, "alternatives": [{"returns": [1, "2"]}]}\n',
      says: /line 1: alternatives\.0\.returns\.1: .*expected number/,
    });
    await refuses(workspace, credit, {
      code: 2,
      stdin: '{"id": 1, "alternatives": [{"returns": [1e999]}]}\n',
      says: /line 1: alternatives\.0\.returns\.0/,
    });
    await refuses(workspace, credit, { code: 2, stdin: '"\u001b[31m"x\n', says: /line 1: [^\u001b]*$/ });
  });
});

describe('configurations and data', () => {
  it('are refused by file, line and key', async (t) => {
    const folder = copyOf(t, workspace);
    writeFileSync(join(folder, 'typo.c3.yaml'), 'steps: 1\ninstances_per_stp: 2\n');
    writeFileSync(join(folder, 'broken.c3.yaml'), 'steps: [1\n');
    writeFileSync(join(folder, 'bad.json'), '[{"role": "a", "prompt": "x", "depends_on": ["b"]}]');
    await refuses(folder, ['run', 'typo.c3.yaml'], {
      code: 2,
      says: /typo\.c3\.yaml, line 2: instances_per_stp: unknown key; did you mean instances_per_step\?/,
    });
    await refuses(folder, ['run', 'broken.c3.yaml'], { code: 2, says: /broken\.c3\.yaml: is neither JSON nor YAML/ });
    await refuses(folder, ['run', 'none.c3.yaml'], {
      code: 2,
      says: /Cannot read .*none\.c3\.yaml.*choose an existing configuration/,
    });
    await refuses(folder, ['run', '.'], { code: 2, says: /Cannot read .*EISDIR/ });
    await refuses(folder, [...RUN, '--override', 'stepz=1'], {
      code: 2,
      says: /--override stepz: unknown key; did you mean steps\?/,
    });
    await refuses(folder, [...RUN, '--override', 'steps'], { code: 2, says: /write key\.path=value/ });
    await refuses(folder, [...RUN, '--override', 'protocol=bad.json'], {
      code: 2,
      says: /bad\.json.*no role or turn is called 'b'/,
    });
    await refuses(folder, [...RUN, '--override', 'protocol=none.json'], {
      code: 2,
      says: /--override protocol: There is no such file: .*none\.json\.$/m,
    });
    await refuses(folder, [...RUN, '--override', 'protocol=four.json'], {
      code: 2,
      says: /tiny\.c3\.yaml: fanout has 2 numbers where the protocol four has 4 messages/,
    });
    await refuses(folder, [...RUN, '--override', 'fanout=[9,9]'], {
      code: 2,
      says: /--override fanout: \[9, 9\] needs 81 evaluator calls/,
    });
    await refuses(folder, ['bench', 'first-run', '--config', 'typo.c3.yaml'], {
      code: 2,
      says: /typo\.c3\.yaml, line 2/,
    });
  });

  it('name the malformed line of a data set', async (t) => {
    const folder = copyOf(t, workspace);
    const lines = jsonl(sums(4)).split('\n');
    const cases: readonly (readonly [string, RegExp])[] = [
      ['{"question": "cut', /data\.jsonl:3: the line is not JSON/],
      ['{"question": "and no answer?"}', /data\.jsonl:3: the row has no answer/],
      ['{"answer": "#### 3"}', /data\.jsonl:3: the row has no question/],
      ['[1]', /data\.jsonl:3: the line is not a JSON object/],
      [JSON.stringify({ question: 'And?', answer: 'thinking\n#### ' }), /data\.jsonl:3: "answer" holds no answer/],
    ];
    for (const [line, says] of cases) {
      writeFileSync(join(folder, 'data.jsonl'), [...lines.slice(0, 2), line, ...lines.slice(2)].join('\n'));
      await refuses(folder, [...RUN, '--override', 'task.train_file=data.jsonl'], { code: 2, says });
    }
    writeFileSync(join(folder, 'empty.jsonl'), '\n');
    await refuses(folder, [...RUN, '--override', 'task.train_file=empty.jsonl'], {
      code: 2,
      says: /empty\.jsonl holds no problems/,
    });
    await refuses(folder, [...RUN, '--override', 'task.train_file=none.jsonl'], {
      code: 2,
      says: /--override task\.train_file: There is no such file: .*none\.jsonl\.$/m,
    });
    await refuses(folder, [...RUN, '--override', 'task.evaluation_file=train.jsonl'], {
      code: 2,
      says: /4 of 4 evaluation questions are also trained on/,
    });
  });
});

describe('models', () => {
  for (const [name, broken] of Object.entries(BROKEN_TEAMS)) {
    it(`are refused where ${name}`, async (t) => {
      const folder = copyOf(t, workspace);
      await broken.breaking(join(folder, 'team'));
      await refuses(folder, RUN, { code: 1, says: broken.says });
    });
  }

  it('are refused where a store is, which stays as it was', (t) => refusesBesideStore(t, workspace, 'weights are cut'));
});

describe('stores', () => {
  it('are refused where nothing can be written', async (t) => {
    const folder = copyOf(t, workspace);
    // Below /proc a folder can never be made; making folders recursively would not end there.
    await refuses(folder, [...RUN, '--store', '/proc/c3/c3.sqlite'], {
      code: 1,
      says: /The store \/proc\/c3\/c3\.sqlite .*choose another place with --store/,
    });
    await refuses(folder, [...RUN, '--store', 'train.jsonl/c3.sqlite'], {
      code: 1,
      says: /The store .*train\.jsonl\/c3\.sqlite .*choose another place with --store/,
    });
    await refuses(folder, [...RUN, '--store', '.'], { code: 1, says: /is not a C3 store \(it is not a file\)/ });
    await refuses(folder, [...RUN, '--store', 'train.jsonl'], {
      code: 1,
      says: /is not a C3 store \(it is not an SQLite database\) and was left unchanged/,
    });
  });

  it('of a newer version are left byte for byte', async (t) => {
    const folder = copyOf(t, workspace);
    const path = oldStore(folder);
    const db = new (loadSqlite())(path);
    db.pragma('journal_mode = DELETE');
    db.pragma('user_version = 99');
    db.close();
    // That version would have sealed it in its own way.
    rmSync(sealPath(path));
    const says =
      /was written by a newer version of C3 \(store version 99, this one reads up to \d+\) and was left unchanged: update C3/;
    await refuses(folder, RUN, { code: 1, says });
    // Before any model is loaded.
    await refuses(folder, [...RUN, '--override', 'model=.'], { code: 1, says });
    await refuses(folder, ['replay', '1'], { code: 1, says });
    await refuses(folder, ['verify'], { code: 1, says });
    await refuses(folder, ['verify', '--run', 'old'], { code: 1, says });
    await refuses(folder, ['taxonomy', '--run', 'old'], { code: 1, says });
    const before = contentsOf(folder);
    const { code, stdout } = await c3(folder, ['doctor']);
    assert.equal(code, 0);
    assert.match(stdout, says);
    assert.deepEqual(contentsOf(folder), before);
  });

  it('that are not there are not made by asking', async (t) => {
    const folder = copyOf(t, workspace);
    const says = /There is no store at .*c3\.sqlite yet: start a run first/;
    await refuses(folder, ['replay', '1'], { code: 1, says });
    await refuses(folder, ['verify'], { code: 1, says });
    await refuses(folder, ['verify', '--run', 'any'], { code: 1, says });
    await refuses(folder, ['taxonomy', '--run', 'any'], { code: 1, says });
  });

  it('do not hold what was asked for', async (t) => {
    const folder = copyOf(t, workspace);
    oldStore(folder);
    const asked: readonly (readonly [readonly string[], RegExp])[] = [
      [['replay', '12'], /There is no message 12/],
      [['verify', '--run', 'none'], /There is no run none/],
      [['taxonomy', '--run', 'none'], /There is no run none/],
    ];
    for (const [args, says] of asked) {
      const { code, stderr } = await c3(folder, args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
      assert.equal(stderr.split('\n').length, 2);
      assert.equal(
        withStore(folder, (store) => store.countRuns()),
        1,
      );
    }
  });

  it('on a full disk keep what they held, and say that space is missing', async (t) => {
    const folder = copyOf(t, workspace);
    const { place, shell } = fullPlace(t);
    const path = join(place, 'c3.sqlite');
    const store = openStoreForWriting(path);
    store.insertRun({
      id: 'old',
      method: 'c3',
      seed: 0,
      title: 'old',
      config: '{}',
      plannedSteps: 0,
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    store.updateRunStatus('old', 'done', '2026-01-01T00:00:01.000Z', null);
    store.close();
    writeFileSync(join(folder, 'many.c3.yaml'), CONFIG.replace('steps: 2', 'steps: 50'));
    const { code, stdout, stderr } = await c3Apart(
      folder,
      ['run', 'many.c3.yaml', '--store', path],
      shell === null ? {} : { shell },
    );
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    const [last] = stderr.trimEnd().split('\n').slice(-1);
    assert.match(
      last ?? '',
      /^c3: .*(disk or the store's size limit is full|disk failed|Cannot write .*).*free.* space/,
    );
    const again = await c3(folder, ['doctor', '--store', path]);
    assert.match(again.stdout, /healthy: [12] runs/);
    const reader = openStoreForReading(path);
    assert.equal(reader.run('old').status, 'done');
    reader.close();
  });
});

/**
 * Room for a store and little more: a small file system where one can be mounted, else a limit on the size of files.
 */
function fullPlace(t: TestContext): { readonly place: string; readonly shell: string | null } {
  const place = mkdtempSync(join(tmpdir(), 'c3-full-'));
  let mounted = true;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=700k', 'tmpfs', place], { stdio: 'ignore' });
  } catch {
    mounted = false;
  }
  t.after(() => {
    if (mounted) {
      execFileSync('umount', [place]);
    }
    rmSync(place, { recursive: true, force: true });
  });
  return { place, shell: mounted ? null : 'ulimit -f 400' };
}
