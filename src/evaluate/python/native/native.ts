/**
 * The backend `python3`: the user's own interpreter, isolated by the system, as an alternative to the
 * bundled one.
 *
 * There are two kinds of wall, both of Linux: namespaces that the process creates for itself, or
 * bubblewrap if only that may create them. Neither is trusted: before the first use, code behind the
 * wall tries to escape (nativeCheck.ts), and the backend refuses to work if anything succeeds. macOS
 * and Windows are refused by name: a process without privileges cannot be limited in memory and kept
 * from seeing other processes there.
 */

import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { runOwned } from '../../../files/runOwned.ts';
import { NEVER } from '../../../shared/cancellation.ts';
import type { StartSandbox } from '../pool.ts';
import type { PythonLimits } from '../rules.ts';
import { SandboxFailure, SandboxProcess, type SandboxCommand, type SandboxRole } from '../sandbox/sandboxProcess.ts';
import { findWallWeakness } from './nativeCheck.ts';
import { KEEPER_PROGRAM, PROBE } from './nativeKeeper.ts';

export const WALLS = ['namespaces', 'bwrap'] as const;
export type Wall = (typeof WALLS)[number];

/** Machines for which the wall knows the numbers of system calls. */
const MACHINES = ['x86_64', 'aarch64'];
/** The oldest Python whose library the harness can use. */
const OLDEST = [3, 10] as const;
const PROBE_MILLISECONDS = 60_000;
/** The largest number of characters of the probe's output. */
const MOST_SAID = 2 ** 20;
/** MiB that the interpreter itself takes, as counted in PythonLimits. */
const OWN_MEMORY = 32;
/** The whole environment. With the fixed seed, the order of sets is the same in every process. */
const ENVIRONMENT = { PYTHONHASHSEED: '0', PYTHONUTF8: '1', TZ: 'UTC', HOME: '/' };

const pythonSchema = z.object({
  program: z.string().startsWith('/'),
  version: z.tuple([z.number(), z.number(), z.number()]),
  machine: z.string(),
  /** Folders of the library, none inside another. */
  folders: z.array(z.string().startsWith('/')).min(1),
  /** Folders of the system libraries that it has loaded. */
  libraries: z.array(z.string()),
  /** Bytes of address space with everything loaded. */
  size: z.number(),
});
export type NativePython = z.output<typeof pythonSchema>;

export interface NativeBackend {
  readonly python: NativePython;
  readonly wall: Wall;
}

/**
 * Finds the Python that C3_PYTHON names, else `python3` on PATH.
 * @throws SandboxFailure if there is none that can be used
 */
export async function findPython(): Promise<NativePython> {
  const chosen = process.env['C3_PYTHON'];
  const name = chosen === undefined || chosen === '' ? 'python3' : chosen;
  const { end, stdout } = await runOwned(
    { command: [name, '-I', '-S', '-c', PROBE], env: process.env, milliseconds: PROBE_MILLISECONDS, most: MOST_SAID },
    NEVER,
  );
  if (end.kind !== 'exit' || end.code !== 0) {
    const isMissing = end.kind === 'unstarted' && end.error.code === 'ENOENT';
    throw new SandboxFailure(
      `${name} ${isMissing ? 'is not installed' : 'does not run, or lacks a part of its library'}`,
    );
  }
  const python = parsePythonProbe(name, stdout);
  const [major, minor] = python.version;
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    throw new SandboxFailure(
      `${name} is Python ${python.version.join('.')}, and ${OLDEST.join('.')} is the oldest that is known to work`,
    );
  }
  if (!MACHINES.includes(python.machine)) {
    throw new SandboxFailure(`the machine ${python.machine.slice(0, 40)} is not known`);
  }
  return {
    ...python,
    folders: python.folders.filter((folder) => !python.folders.some((other) => folder.startsWith(`${other}/`))),
  };
}

function parsePythonProbe(name: string, said: string): NativePython {
  try {
    return pythonSchema.parse(JSON.parse(said));
  } catch {
    throw new SandboxFailure(`${name} does not say what it is`);
  }
}

/**
 * Returns the command that starts one sandbox behind a wall.
 * @param program replaces the keeper's program, for tests of the check itself
 */
export function makeNativeCommand(
  { python, wall }: NativeBackend,
  role: SandboxRole,
  { seconds, memory, output, message }: PythonLimits,
  program = KEEPER_PROGRAM,
): SandboxCommand {
  const space = Math.ceil(python.size + (memory - OWN_MEMORY) * 2 ** 20);
  const line = [
    python.program,
    '-s',
    '-S',
    '-B',
    '-c',
    program,
    JSON.stringify([wall, role, seconds, space, output, message, python.folders]),
  ];
  return {
    line: wall === 'bwrap' ? [...bubblewrapArguments(python), ...line] : line,
    env: ENVIRONMENT,
    folder: '/',
    guarded: true,
    patience: 0,
  };
}

/**
 * Returns the start of a command for a root that holds the interpreter, its library and the system's
 * libraries, all read-only, and that has no privileges, no other processes and no network.
 */
function bubblewrapArguments({ program, folders, libraries }: NativePython): string[] {
  const bwrap = findProgram('bwrap');
  if (bwrap === null) {
    throw new SandboxFailure('bwrap is not installed');
  }
  const outside = libraries.filter((library) => !folders.some((folder) => `${library}/`.startsWith(`${folder}/`)));
  const seen = [...new Set(['/lib', '/lib64', '/etc/ld.so.cache', ...outside, ...folders, program])];
  return [
    bwrap,
    ...['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--uid', '65534', '--gid', '65534', '--cap-drop', 'ALL', '--as-pid-1', '--die-with-parent', '--new-session'],
    ...seen.flatMap((path) => ['--ro-bind-try', path, path]),
    ...folders.flatMap((folder) =>
      ['site-packages', 'dist-packages']
        .map((packages) => join(folder, packages))
        .filter((path) => existsSync(path))
        .flatMap((hidden) => ['--tmpfs', hidden, '--remount-ro', hidden]),
    ),
    ...['--remount-ro', '/', '--chdir', '/', '--'],
  ];
}

/** Returns the path of a program on PATH, or null. */
function findProgram(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (!folder.startsWith('/')) {
      continue;
    }
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Try the next folder.
    }
  }
  return null;
}

/**
 * Finds Python and the first wall that holds.
 * @throws SandboxFailure, with one sentence, if there is none
 */
export async function findBackend(platform: NodeJS.Platform = process.platform): Promise<NativeBackend> {
  const refuse = (why: string): SandboxFailure =>
    new SandboxFailure(`The backend python3 refuses to work here: ${why}.`);
  if (platform !== 'linux') {
    throw refuse(
      `${platform === 'darwin' ? 'macOS' : platform === 'win32' ? 'Windows' : platform} gives no wall that holds processes, memory and network at once`,
    );
  }
  const python = await findPython().catch((error: unknown) => {
    throw refuse(error instanceof Error ? error.message : String(error));
  });
  const reasons: string[] = [];
  for (const wall of WALLS) {
    const open = await findWallWeakness((role, limits) => makeNativeCommand({ python, wall }, role, limits));
    if (open === null) {
      return { python, wall };
    }
    reasons.push(`with ${wall} ${open}`);
  }
  throw refuse(reasons.join(', and '));
}

let known: Promise<NativeBackend> | null = null;

/**
 * Returns the backend, checked once per process; a refusal stays.
 * @throws SandboxFailure as findBackend
 */
export function findBackendOnce(): Promise<NativeBackend> {
  known ??= findBackend();
  return known;
}

export function startNativeSandboxes(limits: PythonLimits): StartSandbox {
  return async (role, onBegun) =>
    SandboxProcess.begin(makeNativeCommand(await findBackendOnce(), role, limits), role, new Uint8Array(), onBegun);
}
