/** Which test files a change can reach, the nearest first. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
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

/** Names the entries of threads and processes for the files that start them. */
const PLACES = 'src/engine/places.ts';
/** `new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url)`. */
const ENTRY = /new URL\(\s*(?:\w+ \? )?'(\.[^']+\.ts)'/gu;

/** The constants of PLACES that name an entry, and what it is: who starts a process names its constant. */
function namedEntries(places: string): { readonly name: string; readonly entry: string }[] {
  return places.split(/^export const /mu).flatMap((text) => {
    const name = /^\w+/u.exec(text)?.[0] ?? '';
    const entries = [...text.matchAll(ENTRY)].map(([, path = '']) => path);
    return [...besides(PLACES, entries)].map((entry) => ({ name, entry }));
  });
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
  const named = namedEntries(texts.get(PLACES) ?? '');
  const graph = [...imports].map(([file, imported]) => {
    const text = texts.get(file) ?? '';
    const entries = [...text.matchAll(ENTRY)].map(([, path = '']) => path);
    const started = [
      ...(file === PLACES ? [] : besides(file, entries)),
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

/** Whether a test belongs to one of some folders of the source, by its own folder or by the panel in its name. */
function isOfRoom(test: string, rooms: ReadonlySet<string>): boolean {
  const [, suite = '', ...room] = posix.dirname(test).split('/');
  if (suite !== 'integration') {
    return rooms.has(posix.join('src', ...room)) || rooms.has(posix.join(...room, '.'));
  }
  const name = posix.basename(test);
  const panels = [...rooms].map((folder) => /^(?:webview|src\/extension)\/(\w+)/u.exec(folder)?.[1]);
  return panels.some((panel) => panel !== undefined && name.startsWith(panel));
}

/** What takes less comes first among those that are equally near. */
const BY_TOLL = ['test/unit/', 'test/attack/', 'test/system/', 'test/integration/'];
const toll = (test: string): number => BY_TOLL.findIndex((folder) => test.startsWith(folder));

/**
 * The test files that a change can reach by imports, by the programs and pages that they start, or by the names of data
 * files: those of the folders that changed or import what changed come first, then the nearest.
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
