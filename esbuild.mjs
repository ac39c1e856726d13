/**
 * Builds dist/: the extension, its configuration help and the thread of that help, the engine with
 * its worker, probe, text process and sandbox, the command line with its commands, and one bundle
 * for each webview. If the sandbox or its interpreter has changed, it also makes the memory image
 * from which sandboxes start.
 *
 *   node esbuild.mjs [--watch] [--production]
 *   node esbuild.mjs --packages    prints the npm packages in the bundles, and writes nothing
 *
 * Native packages stay outside the bundles and are loaded from node_modules. This file is plain
 * JavaScript, because it is the first file that a fresh machine runs, with any version of Node.
 */

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, context } from 'esbuild';

const root = dirname(fileURLToPath(import.meta.url));
const watching = process.argv.includes('--watch');
const production = process.argv.includes('--production');

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Node ${process.versions.node} is too old: c3 needs Node 22.18 or newer. "npm install" brings one for Linux, Windows x64 and ` +
      'macOS arm64; start through "npm start" so that it is found, or install a newer Node on this machine.',
  );
  process.exit(1);
}

const NATIVE = ['better-sqlite3', 'onnxruntime-node'];

/** Prefix of the file names of the command line's parts. */
const COMMAND_PART = 'command-';

/** Defines require() for bundled CommonJS packages, which an ES module does not have. */
const REQUIRE_BANNER =
  "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);";

const common = {
  absWorkingDir: root,
  bundle: true,
  sourcemap: true,
  minify: production,
  logLevel: 'warning',
  define: { 'process.env.NODE_ENV': production ? '"production"' : '"development"' },
};

const nodeModule = { ...common, platform: 'node', target: 'node22', format: 'esm', external: NATIVE };

/** The folders of webview/ with a main.ts. Each is the page of a panel. */
const pages = readdirSync(join(root, 'webview')).filter((name) => existsSync(join(root, 'webview', name, 'main.ts')));

const webview = (name) => ({
  ...common,
  entryPoints: [`webview/${name}/main.ts`],
  outfile: `dist/webview/${name}.js`,
  platform: 'browser',
  target: 'es2022',
  format: 'iife',
});

/** Typesets mathematics. A page loads it on demand, under this global name. */
const mathematics = {
  ...webview('transcript'),
  entryPoints: ['webview/transcript/message/mathematics.ts'],
  outfile: 'dist/webview/mathematics.js',
  globalName: 'c3Mathematics',
};

/** Keeps the configuration help in its own bundle, which the extension requires on first use. */
const configurationApart = {
  name: 'configuration-apart',
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/service\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './configuration.cjs', external: true } : undefined,
    );
  },
};

/** Keeps the commands of the command line in their own bundle, which tests also load. */
const commandsApart = {
  name: 'commands-apart',
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/commandLine\/main\.ts$/ }, () => ({ path: './commandLine.js', external: true }));
  },
};

/** Removes parts of the command line of earlier builds, whose names have other hashes. */
const withoutOldParts = {
  name: 'without-old-parts',
  setup(plugin) {
    plugin.onEnd(({ errors, metafile }) => {
      const dist = join(root, 'dist');
      if (errors.length > 0 || metafile === undefined || plugin.initialOptions.write === false) {
        return;
      }
      const made = new Set(Object.keys(metafile.outputs).map((path) => join(root, path)));
      for (const name of readdirSync(dist)) {
        if (name.startsWith(COMMAND_PART) && !made.has(join(dist, name))) {
          rmSync(join(dist, name));
        }
      }
    });
  },
};

const hosted = { ...common, platform: 'node', target: 'node22', format: 'cjs', external: ['vscode', ...NATIVE] };

const bundles = [
  // The extension host provides its modules through require(), so import() becomes require().
  {
    ...hosted,
    entryPoints: ['src/extension/extension.ts'],
    outfile: 'dist/extension.cjs',
    plugins: [configurationApart],
    supported: { 'dynamic-import': false },
  },
  { ...hosted, entryPoints: ['src/extension/configuration/service.ts'], outfile: 'dist/configuration.cjs' },
  // A thread of the configuration help that reads data files.
  {
    ...nodeModule,
    entryPoints: ['src/extension/configuration/overlapWorker.ts'],
    outfile: 'dist/overlap.mjs',
    sourcemap: false,
  },
  { ...nodeModule, entryPoints: ['src/engine/main.ts'], outfile: 'dist/engine.js', banner: { js: REQUIRE_BANNER } },
  { ...nodeModule, entryPoints: ['src/engine/worker.ts'], outfile: 'dist/worker.js', banner: { js: REQUIRE_BANNER } },
  { ...nodeModule, entryPoints: ['src/engine/probe.ts'], outfile: 'dist/probe.js', banner: { js: REQUIRE_BANNER } },
  {
    ...nodeModule,
    entryPoints: ['src/engine/examineStore.ts'],
    outfile: 'dist/examineStore.js',
    banner: { js: REQUIRE_BANNER },
  },
  {
    ...nodeModule,
    entryPoints: ['src/engine/readCheckpoints.ts'],
    outfile: 'dist/readCheckpoints.js',
    banner: { js: REQUIRE_BANNER },
  },
  // In its own folder, because the sandbox may read only that folder. It needs no source map.
  {
    ...nodeModule,
    entryPoints: ['src/evaluate/python/sandbox/sandbox.ts'],
    outfile: 'dist/sandbox/sandbox.mjs',
    sourcemap: false,
  },
  // In its own folder for the same reason.
  { ...nodeModule, entryPoints: ['src/engine/text.ts'], outfile: 'dist/text/text.mjs', sourcemap: false },
  // Split into parts, so that a command loads only the code that it needs. All parts are in dist/,
  // because they find files relative to themselves.
  {
    ...nodeModule,
    entryPoints: [
      { in: 'src/engine/commandLine/main.ts', out: 'commandLine' },
      { in: 'src/bench/suites.ts', out: 'bench' },
    ],
    outdir: 'dist',
    splitting: true,
    chunkNames: `${COMMAND_PART}[name]-[hash]`,
    banner: { js: REQUIRE_BANNER },
    metafile: true,
    plugins: [withoutOldParts],
  },
  {
    ...nodeModule,
    entryPoints: ['src/engine/cli.ts'],
    outfile: 'dist/cli.js',
    banner: { js: '#!/usr/bin/env node' },
    plugins: [commandsApart],
  },
  ...pages.map(webview),
  mathematics,
];

const SANDBOX = join(root, 'dist/sandbox/sandbox.mjs');
const IMAGE = join(root, 'dist/sandbox/image.bin');
const INTERPRETER = join(root, 'node_modules/pyodide/pyodide.asm.wasm');

const sandboxProgram = () => (existsSync(SANDBOX) ? readFileSync(SANDBOX, 'utf8') : null);

/** Makes the image again unless it belongs to this program and this interpreter. */
async function makeImage(programBefore) {
  const current =
    programBefore === sandboxProgram() && existsSync(IMAGE) && statSync(IMAGE).mtimeMs > statSync(INTERPRETER).mtimeMs;
  if (!current) {
    rmSync(IMAGE, { force: true });
    const { writeImage } = await import('./src/evaluate/python/sandbox/writeImage.ts');
    await writeImage(SANDBOX, dirname(INTERPRETER), IMAGE);
  }
}

/** Prints the lines that the background task of the editor waits for. */
const announce = {
  name: 'announce',
  setup(plugin) {
    plugin.onStart(() => console.log('[watch] build started'));
    plugin.onEnd((result) => {
      for (const { text, location } of result.errors) {
        console.error(`${location?.file ?? ''}:${location?.line ?? 0}:${location?.column ?? 0}: error: ${text}`);
      }
      console.log('[watch] build finished');
    });
  },
};

/** Returns the packages with files in the bundles, by their paths in node_modules. */
async function bundledPackages() {
  const results = await Promise.all(bundles.map((options) => build({ ...options, metafile: true, write: false })));
  const files = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const names = files.map(
    (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*)\//.exec(file)?.[1],
  );
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

if (process.argv.includes('--packages')) {
  console.log(JSON.stringify(await bundledPackages()));
} else if (watching) {
  // Sandboxes make their own image while the sandbox is watched.
  rmSync(IMAGE, { force: true });
  const contexts = await Promise.all(
    bundles.map((options) =>
      context({ ...options, logLevel: 'silent', plugins: [...(options.plugins ?? []), announce] }),
    ),
  );
  await Promise.all(contexts.map((watched) => watched.watch()));
} else {
  const started = performance.now();
  const programBefore = sandboxProgram();
  try {
    await Promise.all(bundles.map((options) => build(options)));
  } catch {
    // esbuild has printed what is wrong and where.
    console.error('The build failed: see the errors above.');
    process.exit(1);
  }
  try {
    await makeImage(programBefore);
  } catch (error) {
    // Some machines can build the sandbox but not run it. Engines then make their own image.
    console.warn(`Sandboxes will start slower, for their memory image was not made: ${error.message}`);
  }
  console.log(`Built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
