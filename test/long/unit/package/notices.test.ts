/** What is packaged, and that it names whose it is. */

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import yauzl from 'yauzl';
import { z } from 'zod';
import { NOTICES_FILE, noticesText, ownName, shippedPackages } from '../../../support/notices.ts';
import { listPackagedFiles, packageExtension } from '../../../support/package.ts';

const ROOT = join(import.meta.dirname, '../../../unit', '..', '..');
const entrySchema = z.object({
  version: z.string().optional(),
  dev: z.boolean().optional(),
  resolved: z.string().optional(),
});
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    entrySchema.and(z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() })),
  ),
});

let packages: readonly string[] = [];
let files: readonly string[] = [];
let notices = '';
before(async () => {
  [packages, files, notices] = [
    await shippedPackages(),
    await listPackagedFiles(),
    await readFile(NOTICES_FILE, 'utf8'),
  ];
});

const titled = (name: string): boolean => notices.includes(`\n${'='.repeat(80)}\n${name} `);

it('every page of the guide is packaged', async () => {
  const pages = await readdir(join(ROOT, 'media', 'guide'));
  assert.deepEqual(
    pages.filter((page) => !files.includes(`media/guide/${page}`)),
    [],
  );
  assert.ok(pages.length > 1);
});

describe('the notices of third parties', () => {
  it('are those of the lock and of what is bundled now: node test/support/notices.ts makes them anew', async () =>
    assert.equal(notices, await noticesText(packages)));

  it('name every package whose files are in the package, and what these are made of', () => {
    const whole = files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(file)?.[1] ?? []);
    const expected = [
      'better-sqlite3',
      'onnxruntime-node',
      'onnxruntime-common',
      'pyodide',
      'chart.js',
      'katex',
      '@huggingface/tokenizers',
      '@huggingface/jinja',
      'zod',
      'yaml',
      '@noble/hashes',
    ];
    const more = [
      'vscode-jsonrpc',
      '@vscode/webview-ui-toolkit',
      '@microsoft/fast-element',
      '@microsoft/fast-foundation',
      'pbf',
      'tslib',
    ];
    for (const name of [...whole, ...expected, ...more, ...packages.map(ownName)]) {
      assert.ok(titled(name), name);
    }
    for (const name of ['SQLite', 'CPython', 'Emscripten', 'ONNX Runtime, components,']) {
      assert.ok(titled(name), name);
    }
    for (const words of [
      'Mozilla Public License',
      'PYTHON SOFTWARE FOUNDATION LICENSE',
      'Apache License',
      'Permission is hereby granted',
    ]) {
      assert.ok(notices.includes(words), words);
    }
  });

  it('leave nothing out without saying so', async () =>
    await assert.rejects(noticesText(['no-such-package']), /does not say version and license of no-such-package/u));
});

describe('the package', () => {
  it('holds the files that are installed without it, and no more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'c3-packaged-'));
    try {
      const archive = await yauzl.openPromise(await packageExtension(undefined, folder), { lazyEntries: true });
      const inside: string[] = [];
      for await (const { fileName } of archive.eachEntry()) {
        inside.push(fileName);
      }
      const renamed = new Map([
        ['README.md', 'readme.md'],
        ['CHANGELOG.md', 'changelog.md'],
        ['LICENSE', 'LICENSE.txt'],
      ]);
      assert.deepEqual(
        inside.filter((name) => name.startsWith('extension/')).sort(),
        files.map((file) => `extension/${renamed.get(file) ?? file}`).sort(),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('holds the notices and what is loaded, and no logs of pretraining, sources or tests', () => {
    for (const file of [
      'THIRD_PARTY_NOTICES.txt',
      'LICENSE',
      'media/team/model.safetensors',
      'media/team-python/tokenizer.json',
      'media/icon.png',
      'media/walkthrough/run.png',
    ]) {
      assert.ok(files.includes(file), file);
    }
    assert.deepEqual(
      files.filter((file) => /\.log\.jsonl$|\.map$|\.ts$|^(?:src|test|webview)\//u.test(file)),
      [],
    );
  });
});

describe('the lock', () => {
  it('has an entry for every optional package that one of its packages names, and no address of a registry', async () => {
    const { packages: locked } = lockSchema.parse(JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')));
    const missing = Object.entries(locked).flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          !Object.hasOwn(locked, `node_modules/${name}`) && !Object.hasOwn(locked, `${place}/node_modules/${name}`),
      ),
    );
    assert.deepEqual(missing, []);
    assert.deepEqual(
      Object.values(locked).filter(({ resolved }) => resolved !== undefined),
      [],
    );
  });
});
