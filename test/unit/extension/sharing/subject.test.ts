/** What "Copy link" and "Export report" are about when they are chosen from a menu. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { findSubjectPlace } from '../../../../src/extension/sharing/links.ts';
import { listBucketNodes } from '../../../../src/extension/sidebar/bucketsModel.ts';
import { listChildren, Limits } from '../../../../src/extension/sidebar/runsModel.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import { addRequest, addRun, addTree, problem, LEDGER, RUN, temporaryStore } from '../storeFixture.ts';

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? {
          url: 'data:text/javascript,export const QuickPickItemKind = {}; export const window = {};',
          shortCircuit: true,
        }
      : next(specifier, context),
});
const { readGivenSubject: givenSubject } = await import('../../../../src/extension/sharing/subject.ts');

test('an item of the side bar is the subject itself: a bucket is no message, though it names one', (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  const [one, other] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1], [0]] });
  const bucket = writer.message(one?.plan ?? 0).bucket ?? 0;
  for (const [plan, value] of [
    [one?.plan, 0.2],
    [other?.plan, -0.6],
  ] as const) {
    setHeadline(writer.path, plan ?? 0, headline(value));
  }
  const limits = new Limits();
  const node = listBucketNodes(writer, RUN, 'credit', null, limits)[0];
  assert.ok(node?.kind === 'bucket');
  const subject = { kind: 'bucket', id: bucket, run: RUN } as const;
  assert.deepEqual(givenSubject(writer, node), subject);
  assert.deepEqual(
    findSubjectPlace(writer, subject),
    { run: RUN, message: node.message },
    'a link leads where a click does: to the message of the clearest credit',
  );
  const alternative = listBucketNodes(writer, RUN, 'credit', node, limits)[0];
  assert.deepEqual(givenSubject(writer, alternative), { kind: 'message', id: one?.plan, run: RUN });
  const request = addRequest(writer, one?.plan ?? 0, ['else'], [1]);
  assert.deepEqual(givenSubject(writer, { bucket: request.bucket }), { kind: 'bucket', id: request.bucket, run: RUN });
  assert.deepEqual(findSubjectPlace(writer, { kind: 'bucket', id: request.bucket, run: RUN }), {
    run: RUN,
    message: one?.plan,
  });
  const [run] = listChildren(writer, null, limits);
  const episode = listChildren(writer, listChildren(writer, run ?? null, limits)[0] ?? null, limits)[0];
  assert.ok(episode?.kind === 'episode');
  assert.deepEqual(
    [run, episode, { message: other?.plan }].map((item) => givenSubject(writer, item)),
    [
      { kind: 'run', run: RUN },
      { kind: 'message', id: episode.episode.leaf, run: RUN },
      { kind: 'message', id: other?.plan, run: RUN },
    ],
  );
  assert.equal(givenSubject(writer, { kind: 'moreBuckets' }), undefined);
});
