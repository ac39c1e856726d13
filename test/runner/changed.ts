/** Which test files a change can reach, the nearest first. */
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { run } from '../support/command.ts';
import { distance, readImportGraph, type ImportGraph } from './importGraph.ts';

/** Programs that tests start by name: a file that asks for one reaches what the program consists of. */
const PROGRAMS = {
  engine: ['src/engine/main.ts', 'src/engine/worker.ts', 'src/engine/probe.ts', 'src/engine/examineStore.ts'],
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

/**
 * The test files that a change can reach by imports, by the programs and pages that they start, or by the names of data
 * files, the nearest first.
 * @param changed files, from the root
 * @param tests files that may be chosen, from the root
 */
export function reachedBy(root: string, changed: readonly string[], tests: readonly string[]): string[] {
  if (changed.some((file) => EVERYTHING.test(file))) {
    return [...tests];
  }
  const graph = withPrograms(root, readImportGraph(root, ['{src,webview,test,media}/**/*.{ts,mjs}']));
  const code = new Set(changed.filter((file) => graph.has(file)));
  const data = changed.filter((file) => !graph.has(file));
  for (const name of namersOf(root, graph, data)) {
    code.add(name);
  }
  return tests
    .flatMap((test) => {
      const steps = distance(graph, test, code);
      return steps === undefined ? [] : [{ test, steps }];
    })
    .sort((a, b) => a.steps - b.steps || a.test.localeCompare(b.test))
    .map(({ test }) => test);
}

/** The graph with arrows to what files start instead of importing it. */
function withPrograms(root: string, graph: ImportGraph): ReadonlyMap<string, ReadonlySet<string>> {
  const pages = [...graph.keys()].filter((file) => /^webview\/[^/]+\/main\.ts$/u.test(file));
  return new Map(
    [...graph].map(([file, imported]) => {
      if (!file.startsWith('test/')) {
        return [file, imported];
      }
      const text = readFileSync(join(root, file), 'utf8');
      const started = [
        ...(/programOf\('engine'\)/u.test(text) ? PROGRAMS.engine : []),
        ...(/programOf\('cli'\)|'cli\.js'/u.test(text) ? [...PROGRAMS.cli, ...PROGRAMS.engine] : []),
        // Every file of the VS Code suite starts the extension, its pages and an engine.
        ...(file.startsWith('test/integration/harness/') ? [...PROGRAMS.extension, ...pages, ...PROGRAMS.engine] : []),
      ];
      return [file, new Set([...imported, ...started])];
    }),
  );
}

/** The code files that name one of these data files, by its file name in a text. */
function namersOf(root: string, graph: ImportGraph, data: readonly string[]): string[] {
  const names = data.map((file) => file.split('/').at(-1) ?? '').filter((name) => name !== '');
  if (names.length === 0) {
    return [];
  }
  return [...graph.keys()].filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return names.some((name) => text.includes(name));
  });
}
