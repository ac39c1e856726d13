/**
 * Reads the imports between files, for the lint rules of rooms and for finding the tests of a
 * change.
 */

import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';

/** Files with the files that they import, types included. All paths are relative to the root. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads the imports of files: import and export statements, and `import()`.
 * @param root folder of the checkout
 * @param patterns globs of files, relative to the root
 */
export function readImportGraph(root: string, patterns: readonly string[]): ImportGraph {
  const files = globSync([...patterns], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort();
  return new Map(files.map((file) => [file, readImports(file, readFileSync(join(root, file), 'utf8'))]));
}

function readImports(file: string, text: string): ReadonlySet<string> {
  return resolveRelative(
    file,
    ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName),
  );
}

/** Resolves the relative paths that a file names. Other paths are left out. */
export function resolveRelative(file: string, paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.filter((path) => path.startsWith('.')).map((path) => posix.join(posix.dirname(file), path)));
}

/**
 * Returns the number of imports from each file to the nearest target file. Files that reach no
 * target are left out.
 * @param to the target files, which have distance 0
 */
export function computeDistances(graph: ImportGraph, to: ReadonlySet<string>): ReadonlyMap<string, number> {
  const importers = new Map<string, string[]>();
  for (const [file, imported] of graph) {
    for (const other of imported) {
      importers.set(other, [...(importers.get(other) ?? []), file]);
    }
  }
  const found = new Map([...to].map((file) => [file, 0]));
  // A map is iterated in insertion order, including entries that are added during the iteration.
  for (const [file, steps] of found) {
    for (const importer of importers.get(file) ?? []) {
      if (!found.has(importer)) {
        found.set(importer, steps + 1);
      }
    }
  }
  return found;
}
