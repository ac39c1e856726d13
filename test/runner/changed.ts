/** Finds the test files that a change can reach, the nearest first. */

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { run } from '../support/command.ts';
import { resolveRelative, computeDistances, readImportGraph, type ImportGraph } from './importGraph.ts';

/**
 * Entry files of the programs that tests start by name. A test that starts one reaches these files.
 */
const PROGRAMS = {
  engine: ['src/engine/main.ts'],
  cli: ['src/engine/cli.ts'],
  extension: ['src/extension/extension.ts', 'src/extension/configuration/service.ts'],
} as const;

/** Files that affect all builds and tests. */
const EVERYTHING = /^(?:package(?:-lock)?\.json|tsconfig\.json|esbuild\.mjs|\.npmrc|test\/run\.ts|test\/runner\/.+)$/u;

/**
 * Returns the files that differ from a commit, including untracked ones.
 * @param base a commit, or HEAD for the uncommitted changes
 */
export async function changedFiles(root: string, base: string): Promise<string[]> {
  const [differing, added] = await Promise.all([
    run('git', ['diff', '--name-only', '--relative', base], { cwd: root, all: true }),
    run('git', ['ls-files', '--others', '--exclude-standard'], { cwd: root, all: true }),
  ]);
  return [...new Set(`${differing}\n${added}`.split('\n').filter((line) => line !== ''))].sort();
}

/** The file that names the entry files of threads and processes. */
const PLACES = 'src/engine/places.ts';
/** Matches `new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url)`. */
const ENTRY = /new URL\(\s*(?:\w+ \? )?'(\.[^']+\.ts)'/gu;

/**
 * Returns the constants of PLACES that name an entry file. A file that starts a process uses its
 * constant.
 */
function listNamedEntries(places: string): { readonly name: string; readonly entry: string }[] {
  return places.split(/^export const /mu).flatMap((text) => {
    const name = /^\w+/u.exec(text)?.[0] ?? '';
    const entries = [...text.matchAll(ENTRY)].map(([, path = '']) => path);
    return [...resolveRelative(PLACES, entries)].map((entry) => ({ name, entry }));
  });
}

/** The files of a checkout with the files that they reach. */
export interface Reach {
  /** Imports, and the entry files of the threads, programs and pages that a file starts. */
  readonly graph: ImportGraph;
  /** The text of each code file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Reads the files of a checkout. */
export function readReach(root: string): Reach {
  const imports = readImportGraph(root, ['{src,webview,test,media}/**/*.{ts,mjs}']);
  const texts = new Map([...imports.keys()].map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const pages = [...imports.keys()].filter((file) => /^webview\/[^/]+\/main\.ts$/u.test(file));
  const named = listNamedEntries(texts.get(PLACES) ?? '');
  const graph = [...imports].map(([file, imported]) => {
    const text = texts.get(file) ?? '';
    const entries = [...text.matchAll(ENTRY)].map(([, path = '']) => path);
    const started = [
      ...(file === PLACES ? [] : resolveRelative(file, entries)),
      ...named.filter(({ name }) => imported.has(PLACES) && text.includes(name)).map(({ entry }) => entry),
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
 * Returns true if a test belongs to one of these source folders, by its folder or the panel in its
 * name.
 */
function isOfRoom(test: string, rooms: ReadonlySet<string>): boolean {
  const [, suite = '', ...room] = posix.dirname(test).split('/');
  if (suite !== 'integration') {
    return rooms.has(posix.join('src', ...room)) || rooms.has(posix.join(...room, '.'));
  }
  const name = posix.basename(test);
  const panels = [...rooms].map((folder) => /^(?:webview|src\/extension)\/(\w+)/u.exec(folder)?.[1]);
  return panels.some((panel) => panel !== undefined && name.startsWith(panel));
}

/** Suites from the fastest to the slowest. Faster tests come first among equally near ones. */
const BY_TOLL = ['test/unit/', 'test/attack/', 'test/system/', 'test/integration/'];
const toll = (test: string): number => BY_TOLL.findIndex((folder) => test.startsWith(folder));

/**
 * Returns the test files that a change can reach by imports, by the programs and pages that they
 * start, or by the names of data files. Tests of folders that changed or import changed files come
 * first, then the nearest ones.
 * @param changed paths of changed files, relative to the root
 * @param tests paths of the candidates, relative to the root
 */
export function findReachedTests(
  { graph, texts }: Reach,
  changed: readonly string[],
  tests: readonly string[],
): string[] {
  if (changed.some((file) => EVERYTHING.test(file))) {
    return [...tests];
  }
  const code = changed.filter((file) => graph.has(file));
  const names = changed.filter((file) => !graph.has(file)).map((file) => posix.basename(file));
  const namers = [...texts].filter(([, text]) => names.some((name) => text.includes(name))).map(([file]) => file);
  const steps = computeDistances(graph, new Set([...code, ...namers]));
  const rooms = new Set([...steps].filter(([, distance]) => distance < 2).map(([file]) => posix.dirname(file)));
  const ofOthers = (test: string): number => (isOfRoom(test, rooms) ? 0 : 1);
  return tests
    .filter((test) => steps.has(test))
    .sort(
      (a, b) =>
        ofOthers(a) - ofOthers(b) ||
        (steps.get(a) ?? 0) - (steps.get(b) ?? 0) ||
        toll(a) - toll(b) ||
        a.localeCompare(b),
    );
}
