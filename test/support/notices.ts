/**
 * Writes THIRD_PARTY_NOTICES.txt, the third-party parts of the package with their licenses: node
 * test/support/notices.ts
 *
 * It lists the npm packages that esbuild bundles and those that .vscodeignore includes, each with
 * the version and license of package-lock.json, and components of these packages.
 */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { run } from './command.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const LICENSES = join(import.meta.dirname, 'licenses');
export const NOTICES_FILE = join(ROOT, 'THIRD_PARTY_NOTICES.txt');

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), license: z.string().optional() })),
});

/** Packages without a license file, with the copyright line and the file of the license text. */
const WITHOUT_FILE: readonly (readonly [name: RegExp, copyright: string, text: string])[] = [
  [/^@cfworker\/json-schema$/u, 'Copyright (c) 2020 Jeremy Danyow', 'MIT.txt'],
  [/^onnxruntime-/u, 'Copyright (c) 2018 - present Microsoft Corporation', 'MIT.txt'],
  [/^@microsoft\/fast-/u, 'Copyright (c) Microsoft Corporation. All rights reserved.', 'MIT.txt'],
  [
    /^pyodide$/u,
    'Copyright (c) Pyodide contributors and Mozilla. Source code: https://github.com/pyodide/pyodide',
    'MPL-2.0.txt',
  ],
];

const TERMS = /^(?:licen[cs]e|copying|copyright(?:notice)?|(?:third-?party-?)?notices?)(?:\.|$)/iu;

interface Component {
  readonly title: string;
  /** The package that contains the component. */
  readonly within: string;
  readonly notice: string;
  /** A file of test/support/licenses. Absent if the notice is complete. */
  readonly text?: string;
}

/** Third-party components in packages that are not npm packages themselves. */
const COMPONENTS: readonly Component[] = [
  {
    title: 'snappyjs (MIT)',
    within: 'hyparquet-writer',
    notice: 'Its compression. Copyright (c) 2016 Zhipeng Jia',
    text: 'MIT.txt',
  },
  {
    title: 'SQLite (public domain)',
    within: 'better-sqlite3',
    notice: 'Compiled into its native module.',
    text: 'SQLite.txt',
  },
  {
    title: 'CPython (Python Software Foundation License)',
    within: 'pyodide',
    notice:
      'Its interpreter, as WebAssembly, and its standard library. Copyright (c) 2001 Python Software Foundation; All Rights Reserved.',
    text: 'Python.txt',
  },
  {
    title: 'Emscripten (MIT)',
    within: 'pyodide',
    notice:
      'Its run time and C library, compiled into the WebAssembly module. Copyright (c) 2010-2014 Emscripten authors, see AUTHORS file.',
    text: 'MIT.txt',
  },
  {
    title: 'ONNX Runtime, components',
    within: 'onnxruntime-node',
    notice:
      'The native library holds components of others; their notices: https://github.com/microsoft/onnxruntime/blob/main/ThirdPartyNotices.txt\n' +
      'On Windows it comes with DirectML.dll, dxcompiler.dll and dxil.dll of Microsoft Corporation, under the terms of the packages\n' +
      'Microsoft.AI.DirectML (https://www.nuget.org/packages/Microsoft.AI.DirectML) and Microsoft.Direct3D.DXC\n' +
      '(https://www.nuget.org/packages/Microsoft.Direct3D.DXC).',
  },
];

/**
 * Returns the sorted, distinct paths in node_modules of the packages that are bundled or shipped
 * whole.
 */
export async function shippedPackages(): Promise<readonly string[]> {
  const bundled = z
    .array(z.string())
    .parse(JSON.parse(await run(process.execPath, ['esbuild.mjs', '--production', '--packages'], { cwd: ROOT })));
  const list = await readFile(join(ROOT, '.vscodeignore'), 'utf8');
  const whole = [...list.matchAll(/^!node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//gmu)].map(([, name = '']) => name);
  return [...new Set([...bundled, ...whole])].sort();
}

/**
 * Returns the text of THIRD_PARTY_NOTICES.txt.
 * @throws Error if a package is missing in package-lock.json or has no license text
 */
export async function noticesText(packages: readonly string[]): Promise<string> {
  const lock = lockSchema.parse(JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))).packages;
  const sections: string[] = [];
  for (const name of packages) {
    const { version, license } = lock[`node_modules/${name}`] ?? {};
    if (version === undefined || license === undefined) {
      throw new Error(`package-lock.json does not say version and license of ${name}.`);
    }
    sections.push(section(`${ownName(name)} ${version} (${license})`, await licenseText(name)));
    for (const { title, notice, text } of COMPONENTS.filter(({ within }) => within === name)) {
      const words = text === undefined ? '' : `\n\n${await readFile(join(LICENSES, text), 'utf8')}`;
      sections.push(section(`${title}, within ${name}`, `${notice}${words}`));
    }
  }
  const head =
    'C3: Replay Forensics & Training comes with software of others. What it is, and the terms of each, stand below.';
  return `THIRD-PARTY NOTICES\n\n${head}\nMade by test/support/notices.ts from package-lock.json.\n\n${sections.join('\n')}`;
}

/** Returns the license and notice files of a package, or the text of its license. */
async function licenseText(name: string): Promise<string> {
  const folder = join(ROOT, 'node_modules', name);
  const files = (await readdir(folder)).filter((file) => TERMS.test(file)).sort();
  if (files.length > 0) {
    return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('\n\n');
  }
  const [, copyright, text] = WITHOUT_FILE.find(([names]) => names.test(ownName(name))) ?? [];
  if (copyright === undefined || text === undefined) {
    throw new Error(`${name} has no license file: add its text to test/support/notices.ts.`);
  }
  return `${copyright}\n\n${await readFile(join(LICENSES, text), 'utf8')}`;
}

/** Returns the name of a package that may be nested in another one. */
export const ownName = (place: string): string => place.replace(/^.*\/node_modules\//u, '');

function section(title: string, text: string): string {
  const lines = text
    .replaceAll(/\r\n?/gu, '\n')
    .split('\n')
    .map((line) => line.trimEnd());
  return `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${lines.join('\n').trim()}\n`;
}

if (process.argv[1] === import.meta.filename) {
  const packages = await shippedPackages();
  await writeFile(NOTICES_FILE, await noticesText(packages));
  console.log(`${NOTICES_FILE}: ${packages.length} packages.`);
}
