/** Which test files a change can reach, the nearest first. */
import { join, posix } from 'node:path';
import { readFileSync } from 'node:fs';
import { run } from '../support/command.ts';
import { besides, distances, readImportGraph, type ImportGraph } from './importGraph.ts';

/** Programs that tests start by name: a file that asks for one reaches what the program consists of. */
const PROGRAMS = {
  engine: ['src/engine/main.ts'],
  cli: ['src/engine/cli.ts'],
  extension: ['src/extension/extension.ts', 'src/extension/configuration/service.ts'],
} as const;

/** Files that decide how everything is built and run. */
const EVERYTHING = /^(?:package(?:-lock)?\.json|tsconfig\.json|esbuild\.mjs|\.npmrc|test\/run\.ts|test\/runner\/.+)$/u;

/**
 * The files that differ from a commit, those that git does not track yet among them.
 * @param base a commit; HEAD for what is not committed
 */
export async function changedFiles(root: string, base: string): Promise<string[]> {
  const [differing, added] = await Promise.all([
    run('git', ['diff', '--name-only', '--relative', base], { cwd: root, all: true }),
    run('git', ['ls-files', '--others', '--exclude-standard'], { cwd: root, all: true }),
  ]);
  return [...new Set(`${differing}\n${added}`.split('\n').filter((line) => line !== ''))].sort();
}

/** What the files of a checkout reach, read once. */
export interface Reach {
  /** Imports, and what files start as threads, programs and pages. */
  readonly graph: ImportGraph;
  /** The text of each code file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Reads the files of a checkout. */
export function readReach(root: string): Reach {
  const imports = readImportGraph(root, ['{src,webview,test,media}/**/*.{ts,mjs}']);
  const texts = new Map([...imports.keys()].map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const pages = [...imports.keys()].filter((file) => /^webview\/[^/]+\/main\.ts$/u.test(file));
  const graph = [...imports].map(([file, imported]) => {
    const text = texts.get(file) ?? '';
    // Threads and processes: `new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url)`.
    const entries = [...text.matchAll(/new URL\(\s*(?:\w+ \? )?'(\.[^']+\.ts)'/gu)].map(([, path = '']) => path);
    const started = [
      ...besides(file, entries),
      ...(/programOf\('engine'\)/u.test(text) ? PROGRAMS.engine : []),
      ...(/programOf\('cli'\)|'cli\.js'/u.test(text) ? PROGRAMS.cli : []),
      // Every file of the VS Code suite starts the extension, its pages and an engine.
      ...(file === 'test/integration/harness/server.ts' ? [...PROGRAMS.extension, ...pages, ...PROGRAMS.engine] : []),
    ];
    return [file, new Set([...imported, ...started])] as const;
  });
  return { graph: new Map(graph), texts };
}

/**
 * The test files that a change can reach by imports, by the programs and pages that they start, or by the names of data
 * files, the nearest first.
 * @param changed files, from the root
 * @param tests files that may be chosen, from the root
 */
export function reachedBy({ graph, texts }: Reach, changed: readonly string[], tests: readonly string[]): string[] {
  if (changed.some((file) => EVERYTHING.test(file))) {
    return [...tests];
  }
  const code = changed.filter((file) => graph.has(file));
  const names = changed.filter((file) => !graph.has(file)).map((file) => posix.basename(file));
  const namers = [...texts].filter(([, text]) => names.some((name) => text.includes(name))).map(([file]) => file);
  const steps = distances(graph, new Set([...code, ...namers]));
  return tests
    .filter((test) => steps.has(test))
    .sort((a, b) => (steps.get(a) ?? 0) - (steps.get(b) ?? 0) || a.localeCompare(b));
}
