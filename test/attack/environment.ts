/**
 * A hostile environment of the editor: what would change the program that an engine is, or is none of its business,
 * never reaches it.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { createEngineClient } from '../../src/client/engineClient.ts';
import { engineEnvironment } from '../../src/client/environment.ts';
import { VERSION } from '../../src/engine/version.ts';
import { useOwnRuntimeFolder } from '../support/engines.ts';
import { seed, tally } from './harness.ts';

const environment = tally('environment');
useOwnRuntimeFolder();

const HOSTILE = [
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_EXTRA_CA_CERTS',
  'NODE_REPL_EXTERNAL_MODULE',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_V8_COVERAGE',
  'ELECTRON_NO_ASAR',
  'ELECTRON_ENABLE_LOGGING',
  'ELECTRON_RUN_AS_NODE_X',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'DYLD_INSERT_LIBRARIES',
  'DYLD_LIBRARY_PATH',
  'GCONV_PATH',
  'BASH_ENV',
  'ENV',
  'PYTHONPATH',
  'PYTHONSTARTUP',
  'UV_THREADPOOL_SIZE',
  'SSLKEYLOGFILE',
  'OPENSSL_CONF',
  'HTTP_PROXY',
  'https_proxy',
  'ALL_PROXY',
  'GITHUB_TOKEN',
  'HF_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'SSH_AUTH_SOCK',
  'VSCODE_IPC_HOOK',
  'VK_LAYER_PATH',
  'VK_INSTANCE_LAYERS',
  'VK_ADD_LAYER_PATH',
  'ORT_LOGGING',
  'npm_config_prefix',
];
/** What an engine does get. */
const PASSED: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  XDG_DATA_DIRS: '/usr/share',
  C3_ENGINE_IDLE_SECONDS: '1',
  VK_ICD_FILENAMES: '/nowhere.json',
};

/** How much is tried. */
export interface EnvironmentSizes {
  /** Environments that are drawn. */
  readonly environments: number;
}

/** Attacks with the environment of the editor, as many as the sizes say. */
export function environmentAttacks(sizes: EnvironmentSizes): void {
  it('a real engine gets what it needs and nothing else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-attack-environment-'));
    const seen = join(folder, 'seen.json');
    // Says what it was given, and is the engine.
    const script = join(folder, 'engine.mjs');
    writeFileSync(
      script,
      `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env));\nawait import(${JSON.stringify(new URL('../../src/engine/main.ts', import.meta.url).href)});\n`,
    );
    const before = { ...process.env };
    // Harmless values: the test's own children get them too.
    for (const name of HOSTILE) {
      process.env[name] = name === 'NODE_OPTIONS' ? '--no-deprecation' : '';
    }
    Object.assign(process.env, PASSED);
    const client = createEngineClient(
      {
        script: fileURLToPath(new URL(`file://${script}`)),
        version: VERSION,
        store: join(folder, 'c3.sqlite'),
        kind: 'command',
      },
      {
        log: () => undefined,
        jobs: () => undefined,
        runProgress: () => undefined,
        replayProgress: () => undefined,
        verifyProgress: () => undefined,
        testModelProgress: () => undefined,
        waiting: () => undefined,
        ready: () => undefined,
        ended: () => undefined,
      },
    );
    try {
      await environment.attempt('a real engine', async () => {
        assert.ok((await client.doctor()).providers.length > 0, 'the engine works');
        const given = JSON.parse(readFileSync(seen, 'utf8')) as NodeJS.ProcessEnv;
        assert.deepEqual(
          HOSTILE.filter((name) => name in given),
          [],
        );
        assert.deepEqual(Object.fromEntries(Object.keys(PASSED).map((name) => [name, given[name]])), PASSED);
        assert.equal(given['ELECTRON_RUN_AS_NODE'], '1');
        assert.equal(given['PATH'], process.env['PATH']);
        assert.equal(given['HOME'], process.env['HOME']);
      });
    } finally {
      await client.dispose();
      for (const name of [...HOSTILE, ...Object.keys(PASSED)]) {
        if (before[name] === undefined) {
          Reflect.deleteProperty(process.env, name);
        } else {
          process.env[name] = before[name];
        }
      }
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('whatever else is set, and however it is written', () => {
    const name = fc.oneof(
      fc.constantFrom(...HOSTILE, ...HOSTILE.map((one) => one.toLowerCase())),
      fc.string({ minLength: 1 }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.string(), { noNullPrototype: true }),
        fc.constantFrom('linux', 'win32', 'darwin'),
        (env, platform) => {
          const given = engineEnvironment(env, platform);
          const wrong = Object.keys(given).find(
            (key) =>
              key !== 'ELECTRON_RUN_AS_NODE' && (HOSTILE.includes(key) || /^(?:NODE|ELECTRON|LD|DYLD)_/iu.test(key)),
          );
          if (wrong !== undefined || given['ELECTRON_RUN_AS_NODE'] !== '1') {
            environment.broken(`${String(wrong)} passes on ${platform}`);
          }
          environment.held();
        },
      ),
      { seed: seed(), numRuns: sizes.environments },
    );
    const windows = {
      Path: 'C:\\',
      SystemRoot: 'C:\\Windows',
      TEMP: 'C:\\t',
      Node_Options: '--require x',
      AppData: 'a',
      'ProgramFiles(x86)': 'p',
    };
    const kept = Object.keys(engineEnvironment(windows, 'win32'));
    assert.deepEqual(kept, ['Path', 'SystemRoot', 'TEMP', 'AppData', 'ProgramFiles(x86)', 'ELECTRON_RUN_AS_NODE']);
  });
}
