import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { filledStore, newMessage, RUN } from '../helpers.ts';

test('a reader sees what is committed and nothing of an open transaction', (t) => {
  const store = filledStore(t);
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  store.transaction(() => {
    store.insertMessage(newMessage());
    assert.equal(store.counts().messages, 1);
    assert.equal(reader.counts().messages, 0);
  });
  assert.equal(reader.counts().messages, 1);
  assert.equal(reader.message(1).text, '12+7');
});

test('a reader in another process keeps reading while the writer appends, always in whole transactions', async (t) => {
  const store = filledStore(t);
  const script = `
    import { openStoreForReading } from ${JSON.stringify(new URL('../../../../src/store/read/reader.ts', import.meta.url).href)};
    const reader = openStoreForReading(process.argv[1]);
    const seen = [];
    let count = 0;
    console.log('ready');
    while (count < 400) {
      count = reader.counts().messages;
      if (count !== seen.at(-1)) seen.push(count);
      const round = { run: ${JSON.stringify(RUN)}, phase: 'train', iteration: 1 };
      const page = { offset: 0, limit: 5 };
      if (count > 0) reader.transcript({ ...round, problem: reader.message(count).problem, ...page });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    reader.close();
    console.log(JSON.stringify(seen));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, store.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const exit = once(child, 'exit');
  while (!output.includes('ready\n') && child.exitCode === null) {
    await Promise.race([once(child.stdout, 'data'), exit]);
  }
  for (let batch = 0; batch < 40; batch++) {
    store.transaction(() => {
      for (let i = 0; i < 10; i++) {
        store.insertMessage(newMessage({ text: `message ${batch} ${i}` }));
      }
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual((await exit)[0], 0);
  const seen = JSON.parse(output.slice('ready\n'.length)) as number[];
  assert.equal(seen.at(-1), 400);
  assert.ok(
    seen.every((count, i) => count % 10 === 0 && count > (seen[i - 1] ?? -1)),
    seen.join(' '),
  );
});

test('after the engine is gone the store is read as it was left', (t) => {
  const store = filledStore(t);
  store.insertMessage(newMessage());
  store.close();
  const reader = openStoreForReading(store.path);
  assert.equal(reader.fullMessage(1).text, '12+7');
  reader.close();
  reader.close();
  assert.throws(() => reader.counts(), /not open/);
});
