/** Links that the editor opens, also in a window that has just been opened for one. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { it } from 'node:test';
import { addRun, RUN, temporaryStore } from '../storeFixture.ts';

interface Handler {
  readonly handleUri: (uri: { readonly path: string; readonly query: string }) => Promise<void>;
}
const FOLDER = '/home/me/team';
const handlers: Handler[] = [];
const said: string[] = [];
const say = (words: string): Promise<undefined> => {
  said.push(words);
  return Promise.resolve(undefined);
};
Object.assign(globalThis, {
  c3Linked: {
    window: {
      registerUriHandler: (handler: Handler) => handlers.push(handler),
      showWarningMessage: say,
      showErrorMessage: say,
    },
    ...{ commands: {}, env: {}, Position: {}, Range: {}, Uri: {} },
    workspace: { workspaceFolders: [{ uri: { scheme: 'file', fsPath: FOLDER } }] },
  },
});
const NAMES = 'window, workspace, commands, env, Position, Range, Uri';
const EDITOR = `export const { ${NAMES} } = globalThis.c3Linked;`;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { registerLinks } = await import('../../../../src/extension/sharing/deepLinks.ts');

it('a link is followed once the store is known, and one to another folder says so', async (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => {
    store.remove();
  });
  addRun(writer);
  let known = false;
  const services = {
    store: {
      pending: async () => {
        await Promise.resolve();
        known = true;
      },
      reader: () => (known ? writer : null),
    },
  };
  const opened: (string | number)[] = [];
  const open = (what: string | number): void => {
    opened.push(what);
  };
  registerLinks(services as never, { openRun: open, openMessage: open });
  const [handler] = handlers;
  await handler?.handleUri({ path: `/run/${RUN}`, query: `folder=${FOLDER}` });
  assert.deepEqual([opened, said], [[RUN], []]);
  await handler?.handleUri({ path: `/run/${RUN}`, query: 'folder=/home/me/another' });
  assert.equal(opened.length, 1);
  assert.match(said.join('\n'), /^This link points to another folder, \/home\/me\/another: open that folder first/u);
});
