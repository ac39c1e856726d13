import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { engineAddresses, folderFault, storeName } from '../../../src/client/address.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'c3-address-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test(
  'the place of an engine is a folder of the user alone, made when an engine is to be started',
  { skip: process.platform === 'win32' ? 'named pipes have no folder' : false },
  (t) => {
    const runtime = folder(t);
    const env = { XDG_RUNTIME_DIR: runtime };
    const store = join(runtime, 'work', '.c3', 'c3.sqlite');
    assert.equal(
      engineAddresses(store, false, env).some(({ socket }) => socket.startsWith(runtime)),
      false,
      'looking makes nothing',
    );
    const [address] = engineAddresses(store, true, env);
    const place = join(runtime, 'c3-replay');
    assert.equal(address?.socket, join(place, `${storeName(store)}.sock`));
    assert.equal(lstatSync(place).mode & 0o777, 0o700);
    assert.deepEqual(engineAddresses(store, false, env)[0], address);
  },
);

test(
  'a folder that others can open, a link, or one of another user is refused by name',
  { skip: process.platform === 'win32' ? 'named pipes have no folder' : false },
  (t) => {
    const runtime = folder(t);
    const place = join(runtime, 'c3-replay');
    const ask = (): unknown => engineAddresses('/x/c3.sqlite', false, { XDG_RUNTIME_DIR: runtime });
    mkdirSync(place);
    chmodSync(place, 0o755);
    assert.throws(ask, /c3-replay for the sockets of engines can be opened by other users: move it away/);
    rmSync(place, { recursive: true });
    mkdirSync(join(runtime, 'planted'), { mode: 0o700 });
    symlinkSync(join(runtime, 'planted'), place);
    assert.throws(ask, /is a link/);
    const stats = lstatSync(join(runtime, 'planted'));
    const user = process.getuid?.() ?? 0;
    assert.equal(folderFault(stats, user), null);
    assert.equal(folderFault(stats, user + 1), `belongs to user ${user}`);
  },
);

test('a store has one name by every path that leads to it, before its folder is there and after', (t) => {
  const real = folder(t);
  const link = `${real}-link`;
  symlinkSync(real, link);
  t.after(() => rmSync(link));
  const name = storeName(join(real, '.c3', 'c3.sqlite'));
  assert.match(name, /^[0-9a-f]{20}$/);
  assert.equal(storeName(join(link, '.c3', 'c3.sqlite')), name);
  mkdirSync(join(real, '.c3'));
  assert.equal(storeName(join(link, '.c3', 'c3.sqlite')), name);
  assert.notEqual(storeName(join(real, '.c3', 'other.sqlite')), name);
});

test(
  'a path that is too long for a socket is refused with what to do',
  { skip: process.platform === 'win32' ? 'named pipes have no folder' : false },
  (t) => {
    const runtime = join(folder(t), 'a'.repeat(80));
    mkdirSync(runtime);
    assert.throws(
      () => engineAddresses('/x/c3.sqlite', true, { XDG_RUNTIME_DIR: runtime }),
      /too long for a socket: set XDG_RUNTIME_DIR to a shorter folder/,
    );
  },
);
