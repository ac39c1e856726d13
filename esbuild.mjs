/**
 * Builds dist/: the extension with its help for configurations and the thread of that, the engine, its worker, its
 * probe, its process for texts and its sandbox, the command line with its commands and one bundle for each webview; and
 * the memory image from which sandboxes start, where the sandbox or its interpreter is another than at the last build.
 *
 *   node esbuild.mjs [--watch] [--production]
 *   node esbuild.mjs --packages    prints which npm packages the bundles hold, and writes nothing
 *
 * Native packages stay outside the bundles and are loaded from node_modules. This file is plain JavaScript on purpose:
 * it is the first thing that a fresh machine runs, whatever its Node.
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

/** What the names of the parts of the command line begin with. */
const COMMAND_PART = 'command-';

/** Bundled CommonJS packages call require(); an ES module has none of its own. */
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

/** Every folder of webview/ with a main.ts is the page of a panel. */
const pages = readdirSync(join(root, 'webview')).filter((name) => existsSync(join(root, 'webview', name, 'main.ts')));

const webview = (name) => ({
  ...common,
  entryPoints: [`webview/${name}/main.ts`],
  outfile: `dist/webview/${name}.js`,
  platform: 'browser',
  target: 'es2022',
  format: 'iife',
});

/** Sets mathematics for a page that has some: loaded by that page, to which it goes by this name. */
const mathematics = {
  ...webview('transcript'),
  entryPoints: ['webview/transcript/message/mathematics.ts'],
  outfile: 'dist/webview/mathematics.js',
  globalName: 'c3Mathematics',
};

/**
 * The extension loads its help for configurations when the first one is opened: a bundle of its own, required by name.
 */
const configurationApart = {
  name: 'configuration-apart',
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/service\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './configuration.cjs', external: true } : undefined,
    );
  },
};

/** The command line's own process has its commands in a bundle beside it, which a test loads into its process. */
const commandsApart = {
  name: 'commands-apart',
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/commandLine\/main\.ts$/ }, () => ({ path: './commandLine.js', external: true }));
  },
};

/** Parts of the command line have hashes in their names: once a build is whole, those of earlier ones go. */
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
  // Modules that the editor's host is asked for go through require(), which the host answers.
  {
    ...hosted,
    entryPoints: ['src/extension/extension.ts'],
    outfile: 'dist/extension.cjs',
    plugins: [configurationApart],
    supported: { 'dynamic-import': false },
  },
  { ...hosted, entryPoints: ['src/extension/configuration/service.ts'], outfile: 'dist/configuration.cjs' },
  // A thread that reads data files, started by the help for configurations.
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
  // In a folder of its own: the sandbox may read that folder only. It needs no map of its sources.
  {
    ...nodeModule,
    entryPoints: ['src/evaluate/python/sandbox/sandbox.ts'],
    outfile: 'dist/sandbox/sandbox.mjs',
    sourcemap: false,
  },
  // In a folder of its own as well, for the same reason.
  { ...nodeModule, entryPoints: ['src/engine/text.ts'], outfile: 'dist/text/text.mjs', sourcemap: false },
  // In parts, beside each other as all of them look for files from where they lie: a command loads what it needs.
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

/** Makes the image again unless it is of this program and this interpreter. */
async function makeImage(programBefore) {
  const current =
    programBefore === sandboxProgram() && existsSync(IMAGE) && statSync(IMAGE).mtimeMs > statSync(INTERPRETER).mtimeMs;
  if (!current) {
    rmSync(IMAGE, { force: true });
    const { writeImage } = await import('./src/evaluate/python/sandbox/writeImage.ts');
    await writeImage(SANDBOX, dirname(INTERPRETER), IMAGE);
  }
}

/** The lines that the editor's background task waits for. */
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

/** The packages whose files go into the bundles, by their places in node_modules. */
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
  // What the sandbox becomes while it is watched makes its own.
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
    // Not every machine that builds can run it; engines make their own then.
    console.warn(`Sandboxes will start slower, for their memory image was not made: ${error.message}`);
  }
  console.log(`Built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
