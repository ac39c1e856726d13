/**
 * The rooms as rooms.json and CONTRIBUTING.md describe them: every folder is there, every arrow in use, and nothing
 * runs in a circle.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import rooms from '../../../rooms.json' with { type: 'json' };
import { readImportGraph, type ImportGraph } from '../../runner/importGraph.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** A row of FOLDER/* is that of every folder in FOLDER without a row of its own. */
const ROWS = new Map<string, readonly string[]>(Object.entries(rooms));
/** What each file imports of the others, types included. */
const IMPORTS = readImportGraph(ROOT, ['{src,webview,test}/**/*.ts']);
const FILES = [...IMPORTS.keys()].filter((file) => !file.startsWith('test/'));
const FOLDERS = [...new Set(FILES.map((file) => posix.dirname(file)))].sort();

/** One circle of a graph, as its nodes in order; empty where there is none. */
function circleIn(graph: ImportGraph): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] => {
    if (path.includes(node)) {
      return [...path.slice(path.indexOf(node)), node];
    }
    if (done.has(node)) {
      return [];
    }
    path.push(node);
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next);
      if (circle.length > 0) {
        return circle;
      }
    }
    path.pop();
    done.add(node);
    return [];
  };
  for (const node of graph.keys()) {
    const circle = visit(node);
    if (circle.length > 0) {
      return circle;
    }
  }
  return [];
}

/**
 * Whether an entry of rooms.json names a file: FILE.ts, the files of a folder (FOLDER/*), or a folder with all in it.
 */
function names(entry: string, file: string): boolean {
  if (entry.endsWith('.ts')) {
    return entry === file;
  }
  return entry.endsWith('/*') ? posix.dirname(file) === entry.slice(0, -2) : file.startsWith(`${entry}/`);
}

/** The files that a folder imports from others. */
const importedBy = (folder: string): string[] =>
  FILES.filter((file) => posix.dirname(file) === folder)
    .flatMap((file) => [...(IMPORTS.get(file) ?? [])])
    .filter((file) => posix.dirname(file) !== folder);

test('no files import each other in a circle, by type or otherwise', () => assert.deepEqual(circleIn(IMPORTS), []));

test('no folders import each other in a circle', () => {
  // What lies in a folder itself may be shared by the folders in it.
  const above = (folder: string, other: string): boolean => folder.startsWith(`${other}/`);
  const arrows = (folder: string): Set<string> =>
    new Set(
      importedBy(folder)
        .map((file) => posix.dirname(file))
        .filter((other) => !above(folder, other)),
    );
  assert.deepEqual(circleIn(new Map(FOLDERS.map((folder) => [folder, arrows(folder)]))), []);
});

/** The folders of a row of rooms.json. */
const foldersOf = (row: string): string[] =>
  row.endsWith('/*')
    ? FOLDERS.filter((folder) => posix.dirname(folder) === row.slice(0, -2) && !ROWS.has(folder))
    : [row];

/** `src/engine` of `src/engine/replay`. */
const roomOf = (folder: string): string => folder.split('/').slice(0, 2).join('/');

test('rooms.json has each folder once, and each arrow of it is in use', () => {
  assert.deepEqual([...ROWS.keys()].flatMap(foldersOf).sort(), FOLDERS);
  for (const [folder, entries] of ROWS) {
    const imported = foldersOf(folder).flatMap(importedBy);
    assert.deepEqual(
      entries.filter((entry) => !imported.some((file) => names(entry, file))),
      [],
      folder,
    );
  }
});

test('CONTRIBUTING.md says of each room what lives there', () => {
  const rows = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').matchAll(
    /^\| `(src\/[^`]+|webview)` \| (\S.*) \|$/gmu,
  );
  const rooms = new Set(FOLDERS.map((folder) => (folder.startsWith('webview/') ? 'webview' : roomOf(folder))));
  assert.deepEqual(
    [...rows].map(([, room = '']) => room),
    [...rooms].sort(),
  );
});

test('a circle is found', () => {
  const arrows = { a: ['b', 'd'], b: ['c'], c: ['b'], d: [] };
  const graph = new Map(Object.entries(arrows).map(([node, next]) => [node, new Set<string>(next)]));
  assert.deepEqual(circleIn(graph), ['b', 'c', 'b']);
});
