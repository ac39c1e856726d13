/** Which files import which: what lint asks about rooms, and a test run about what a change can reach. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';

/** Files by their paths from the root, each with the files that it imports, types included. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads what files import of each other: by import and export statements, `import()`, and `new URL('./x.ts',
 * import.meta.url)`.
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
  const named = [
    ...ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName),
    ...[...text.matchAll(/new URL\('(\.[^']+)', import\.meta\.url\)/gu)].map(([, path = '']) => path),
  ];
  return new Set(named.filter((path) => path.startsWith('.')).map((path) => posix.join(posix.dirname(file), path)));
}

/**
 * How many imports lie between a file and the nearest of some others.
 * @param from the file
 * @param to files that count as reached
 * @returns 0 where the file is one of them; undefined where it reaches none
 */
export function distance(
  graph: ReadonlyMap<string, Iterable<string>>,
  from: string,
  to: ReadonlySet<string>,
): number | undefined {
  const seen = new Set([from]);
  let [edge, steps] = [[from], 0];
  while (edge.length > 0) {
    if (edge.some((file) => to.has(file))) {
      return steps;
    }
    const next = edge.flatMap((file) => [...(graph.get(file) ?? [])]).filter((file) => !seen.has(file));
    edge = [...new Set(next)];
    for (const file of edge) {
      seen.add(file);
    }
    steps++;
  }
  return undefined;
}
