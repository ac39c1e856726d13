/** What the command line loads before it knows what is asked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../support/command.ts';

const MAIN = new URL('../../../../src/engine/commandLine/main.ts', import.meta.url).href;
/** Prints which modules the commands load until one is refused its arguments, then which ones it loads to work. */
const SCRIPT = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  const { main } = await import(${JSON.stringify(MAIN)});
  const { stdin, stderr } = process;
  const { signal } = new AbortController();
  const streams = { stdin, stdout: stderr, stderr, folder: '/', env: {}, signal };
  await main(['infer', 'none'], streams);
  const until = loaded.length;
  await main(['infer', '1'], streams);
  console.log(JSON.stringify([loaded.slice(0, until), loaded.slice(until)]));
`;

test('a command is loaded when it is asked for, and the engine with the first one that needs it', async () => {
  const printed = await run(process.execPath, ['--input-type=module', '-e', SCRIPT], { all: true });
  const [before = [], after = []] = JSON.parse(printed.slice(printed.indexOf('[["'))) as string[][];
  const isEngine = (url: string): boolean => url.endsWith('/src/engine/service.ts');
  assert.ok(before.some((url) => url === MAIN) && !before.some(isEngine));
  assert.deepEqual(
    before.filter((url) => /\/src\/(?:store|runtime|training|evaluate|logs)\/|\/node_modules\//u.test(url)),
    [],
  );
  assert.ok(after.some(isEngine));
});
