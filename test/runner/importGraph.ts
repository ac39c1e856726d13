/** Which files import which: what lint asks about rooms, and a test run about what a change can reach. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';

/** Files by their paths from the root, each with the files that it imports, types included. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads what files import of each other: by import and export statements, and by `import()`.
 * @param root of the checkout
 * @param patterns of files, from the root
 */
export function readImportGraph(root: string, patterns: readonly string[]): ImportGraph {
  const files = globSync([...patterns], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort();
  return new Map(files.map((file) => [file, importsOf(file, readFileSync(join(root, file), 'utf8'))]));
}

function importsOf(file: string, text: string): ReadonlySet<string> {
  return besides(
    file,
    ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName),
  );
}

/** The files that relative paths in a file name. */
export function besides(file: string, paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.filter((path) => path.startsWith('.')).map((path) => posix.join(posix.dirname(file), path)));
}

/**
 * How many imports lie between each file and the nearest of some others.
 * @param to files that count as reached
 * @returns the files that reach one, with 0 for those themselves
 */
export function distances(graph: ImportGraph, to: ReadonlySet<string>): ReadonlyMap<string, number> {
  const importers = new Map<string, string[]>();
  for (const [file, imported] of graph) {
    for (const other of imported) {
      importers.set(other, [...(importers.get(other) ?? []), file]);
    }
  }
  const found = new Map([...to].map((file) => [file, 0]));
  // A map is walked in the order in which its entries come, those that come meanwhile among them.
  for (const [file, steps] of found) {
    for (const importer of importers.get(file) ?? []) {
      if (!found.has(importer)) {
        found.set(importer, steps + 1);
      }
    }
  }
  return found;
}
