import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { examineProviderApart } from '../../../../src/engine/machine/probing.ts';
import type { ProbeReport } from '../../../../src/shared/devices.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-probing-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** What becomes of a probe that runs this program. */
async function examined(program: string, limit = 20_000): Promise<ProbeReport> {
  const file = join(folder, 'probe.mjs');
  await writeFile(file, program);
  return examineProviderApart('webgpu', 2, false, pathToFileURL(file), limit);
}

const REPORT = { passed: true, sentence: 'passed', invariance: null, name: 'a card', speedup: 2 };

it('gives the report of a probe that then crashes', async () => {
  assert.deepEqual(
    await examined(`process.send(${JSON.stringify(REPORT)}, () => process.kill(process.pid, 'SIGSEGV'));`),
    REPORT,
  );
});

it('survives a provider that crashes, ends, hangs or lies', async () => {
  assert.equal(
    (await examined("process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000);")).sentence,
    'its self-test ended with SIGSEGV',
  );
  assert.equal((await examined('process.exit(3);')).sentence, 'its self-test ended with code 3');
  assert.equal((await examined('while (true);', 300)).sentence, 'its self-test did not finish in time');
  const lie = await examined("process.send({ passed: 'yes' }); process.once('disconnect', () => process.exit(0));");
  assert.deepEqual([lie.passed, lie.sentence], [false, 'its self-test ended with code 0']);
});

it('examines the CPU in a process of its own', async () => {
  const { passed, sentence, invariance, name } = await examineProviderApart('cpu', 1, false);
  assert.ok(passed);
  assert.match(sentence, /^passed: /);
  assert.match(invariance ?? '', /: 0 differing elements$/);
  assert.ok(name.length > 0);
});

it('says that no adapter is found where there is none', async (t) => {
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  process.env['VK_ICD_FILENAMES'] = join(folder, 'no-driver.json');
  delete process.env['VK_DRIVER_FILES'];
  const { passed, sentence } = await examineProviderApart('webgpu', 1, false);
  if (process.platform === 'linux') {
    assert.deepEqual([passed, sentence], [false, 'no adapter found']);
  } else {
    assert.equal(typeof sentence, 'string');
  }
});
