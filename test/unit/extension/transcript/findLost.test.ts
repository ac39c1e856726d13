/** "Find the message that lost it": what is said where the search fails, and where its user cancels it. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { it } from 'node:test';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';

const said: string[] = [];
const say = (words: string): Promise<undefined> => {
  said.push(words);
  return Promise.resolve(undefined);
};
const withProgress = (_: unknown, work: (progress: unknown, token: unknown) => unknown): unknown => work({}, {});
Object.assign(globalThis, {
  c3Searching: { window: { showErrorMessage: say, showInformationMessage: say, withProgress } },
});
const EDITOR =
  'export const { window } = globalThis.c3Searching; export const env = {}; export const ProgressLocation = {};';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { findLost } = await import('../../../../src/extension/transcript/findLost.ts');

it('a search that fails says why, and one that its user cancelled says nothing', async () => {
  const search = async (error: Error): Promise<readonly string[]> => {
    const place = {
      engine: {
        client: () => ({ blame: () => Promise.reject(error) }),
        onBlameProgress: () => ({ dispose: () => undefined }),
      },
      store: { touch: () => undefined },
      replay: { agreedTeam: () => Promise.resolve({}) },
      reader: () => ({ message: () => ({ run: 'r' }), runConfig: () => '{}' }),
    };
    await findLost(place as never, 1, () => assert.fail('no message was found'));
    return said.splice(0);
  };
  assert.deepEqual(await search(new C3Error('model', 'The weights are gone.')), ['The weights are gone.']);
  assert.deepEqual(await search(new CancelledError()), []);
});
