import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findSubjectPlace, parseLink, findFolderFault } from '../../../../src/extension/sharing/links.ts';
import { formatLink, type Link } from '../../../../src/shared/links.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../storeFixture.ts';

/** As the editor hands an address on: split, and decoded once. */
function handedOn(text: string): { readonly path: string; readonly query: string } {
  const [path = '', query = ''] = text.split(/\?(.*)/su);
  return { path: decodeURIComponent(path), query: decodeURIComponent(query) };
}

const LINKS: readonly Link[] = [
  { subject: { kind: 'run', run: 'c3-0-4abf797b' }, folder: '/home/me/papers' },
  {
    subject: { kind: 'message', id: 17, run: 'c3-0-4abf797b' },
    folder: 'C:\\Users\\M\u00fcller & S\u00f6hne\\100 %\\a=b&run=x?#y',
  },
  { subject: { kind: 'bucket', id: 4, run: 'imported-1234abcd' }, folder: '/tmp/\u5de5\u4f5c' },
];

describe('links', () => {
  it('lead where they were made to lead, whatever the folder is called', () => {
    for (const link of LINKS) {
      assert.deepEqual(parseLink(handedOn(formatLink(link))), link);
      assert.match(
        formatLink(link),
        /^\/(?:run|message|bucket)\/[\w%.~-]+\?(?:run=[\w%.~!'()*-]+&)?folder=[\w%.~!'()*-]+$/u,
      );
    }
  });

  it('that nobody of ours made are none', () => {
    const folder = 'folder=/home/me/papers';
    const ours = `run=r&${folder}`;
    for (const [path, query] of [
      ['', ours],
      ['/', ours],
      ['/message/', ours],
      ['/message', ours],
      ['/command/c3.startRun', ours],
      ['/message/17', ''],
      ['/message/17', folder],
      ['/message/17', 'run=r'],
      ['/message/17', 'run=&folder=/x'],
      ['/message/1e3', ours],
      ['/message/-1', ours],
      ['/message/0', ours],
      ['/message/017', ours],
      ['/message/1.5', ours],
      ['/message/0x11', ours],
      ['/message/17/..', ours],
      ['/message/../run/17', ours],
      ['/message/99999999999999999999', ours],
      ['/message/9007199254740993', ours],
      ['/run/x', ours],
      ['/run/x', `command=c3.startRun&${folder}`],
      [`/run/${'x'.repeat(201)}`, folder],
      ['/run/x', `folder=${'x'.repeat(5000)}`],
      ['/Message/17', ours],
      ['//evil/message/17', ours],
    ] as const) {
      assert.equal(parseLink({ path, query }), null, `${path.slice(0, 40)}?${query.slice(0, 60)}`);
    }
  });

  it('into another folder say which, without becoming markup', () => {
    assert.equal(findFolderFault('/home/me/papers/', '/home/me/papers'), null);
    assert.equal(findFolderFault('/home/me/x/../papers', '/home/me/papers'), null);
    assert.match(
      findFolderFault('/home/me/papers/sub', '/home/me/papers') ?? '',
      /points to another folder, \/home\/me\/papers\/sub: open that folder/u,
    );
    assert.match(findFolderFault('/home/me/papers', null) ?? '', /another folder/u);
    const hostile = findFolderFault('[click](command:workbench.action.quit) <b>`$(bug)\n\u202e', '/w') ?? '';
    assert.doesNotMatch(hostile, /[[\]()<>`$\n\u202e]/u);
    assert.ok((findFolderFault(`/${'long/'.repeat(500)}`, '/w') ?? '').length < 250);
  });
});

describe('where a link leads', () => {
  it('is the run or the message, while the store holds it', (t) => {
    const { writer, ...store } = temporaryStore();
    t.after(() => store.remove());
    addRun(writer);
    addRun(writer, 'other');
    const [tree] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
    const plan = tree?.plan ?? 0;
    const request = addRequest(writer, tree?.actors[1] ?? 0, ['else'], [1]);
    assert.deepEqual(findSubjectPlace(writer, { kind: 'run', run: RUN }), { run: RUN, message: null });
    assert.deepEqual(findSubjectPlace(writer, { kind: 'message', id: plan, run: RUN }), { run: RUN, message: plan });
    assert.deepEqual(findSubjectPlace(writer, { kind: 'bucket', id: writer.message(plan).bucket ?? 0, run: RUN }), {
      run: RUN,
      message: plan,
    });
    assert.deepEqual(findSubjectPlace(writer, { kind: 'bucket', id: request.bucket, run: RUN }), {
      run: RUN,
      message: tree?.actors[1],
    });
    const gone = /^The (?:run|message|bucket) that this link points to is not in the store of this folder/u;
    // The same number in a store that was begun anew represents something else: the run says.
    for (const stale of [
      { kind: 'run', run: 'none' },
      { kind: 'message', id: 999, run: RUN },
      { kind: 'message', id: plan, run: 'other' },
      { kind: 'message', id: plan, run: 'none' },
      { kind: 'bucket', id: 999, run: RUN },
      { kind: 'bucket', id: request.bucket, run: 'other' },
    ] as const) {
      const found = findSubjectPlace(writer, stale);
      assert.match(typeof found === 'string' ? found : '', gone, JSON.stringify(stale));
    }
  });

  it('is reported as a failure of the store where that cannot be read', () => {
    const broken = (): never => {
      throw new Error('disk');
    };
    assert.throws(
      () => findSubjectPlace({ run: broken, message: broken, bucketView: broken }, { kind: 'run', run: 'r' }),
      /disk/u,
    );
  });
});
