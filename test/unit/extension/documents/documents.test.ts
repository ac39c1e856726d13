/** The documents of the scheme c3: what their address alone gives, in a window that has shown nothing yet. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { addRun, addTree, problem, temporaryStore } from '../storeFixture.ts';

const EDITOR =
  'export class EventEmitter {} export class MarkdownString {} export const FileType = { File: 1 }; export const FileSystemError = { NoPermissions: () => new Error("no permission") }; export const Uri = { from: (parts) => parts }; export const workspace = {};';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { Documents, createDocumentUri: documentUri } = await import('../../../../src/extension/documents/documents.ts');

test('a document is read by its address alone, says why it cannot be had, and is never written', async (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  const [tree] = addTree(writer, {
    iteration: 1,
    problem: problem(1),
    returns: [[0.5]],
    words: (_, actor) => (actor === null ? 'plan\0 \u202e' : 'answer \u{1f600}'),
  });
  const leaf = tree?.actors[0] ?? 0;
  const engine = {
    unavailable: () => 'no engine here',
    client: () => {
      throw new Error('not asked for');
    },
  };
  const documents = new Documents({ reader: () => writer, pending: () => null }, engine);
  const read = async (path: string): Promise<string> =>
    new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(
      await documents.readFile({ path, toString: () => path }),
    );
  const uri = documentUri('branch', leaf, 'a/../b\\c');
  assert.deepEqual([uri.scheme, uri.path], ['c3', `/branch/${leaf}/a·..·b·c`], 'a name is one part of the address');
  assert.equal(
    await read(uri.path),
    `\uFEFF──── question\n${problem(1).question}\n──── reasoner\nplan\u2400 \u202e\n──── actor\nanswer \u{1f600}\n──── return\n0.5\n`,
  );
  assert.match(await read(`/context/${leaf}/x`), /^\uFEFFMessage \d+ of actor: the model input[^]*no engine here/u);
  assert.match(await read('/branch/999/x'), /no message 999/u);
  assert.match(await read('/etc/passwd'), /There is no document/u);
  assert.match(
    await (async () =>
      new TextDecoder().decode(
        await new Documents({ reader: () => null, pending: () => null }, engine).readFile({
          path: uri.path,
          toString: () => '',
        }),
      ))(),
    /store of this document no longer exists/u,
  );
  for (const change of ['writeFile', 'delete', 'rename', 'createDirectory'] as const) {
    assert.throws(() => documents[change](uri), /no permission/u);
  }
});
