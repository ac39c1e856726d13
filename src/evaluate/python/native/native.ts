/**
 * The backend `python3`: the user's own interpreter behind a wall of the system, as an alternative to the bundled one.
 *
 * There are two means to the wall, both Linux's: namespaces that the process makes for itself, or bubblewrap where only
 * that may make them. Neither is trusted: before the first use code behind it tries to escape (nativeCheck.ts), and
 * where anything succeeds the backend refuses. macOS and Windows are refused by name: there a process without rights
 * cannot be held to an amount of memory and kept from seeing others.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { runOwned } from '../../../files/runOwned.ts';
import { NEVER } from '../../../shared/cancellation.ts';
import type { StartSandbox } from '../pool.ts';
import type { PythonLimits } from '../rules.ts';
import { SandboxFailure, SandboxProcess, type SandboxCommand, type SandboxRole } from '../sandbox/sandboxProcess.ts';
import { weakness } from './nativeCheck.ts';
import { KEEPER_PROGRAM, PROBE } from './nativeKeeper.ts';

export const WALLS = ['namespaces', 'bwrap'] as const;
export type Wall = (typeof WALLS)[number];

/** Machines whose system calls the wall knows by number. */
const MACHINES = ['x86_64', 'aarch64'];
/** The oldest Python whose library the harness can use. */
const OLDEST = [3, 10] as const;
const PROBE_MILLISECONDS = 60_000;
/** Characters of what it says of itself. */
const MOST_SAID = 2 ** 20;
/** MiB that an interpreter takes for itself, by the meaning of PythonLimits. */
const OWN_MEMORY = 32;
/** All that the interpreter learns of its surroundings: the order of sets does not change from process to process. */
const ENVIRONMENT = { PYTHONHASHSEED: '0', PYTHONUTF8: '1', TZ: 'UTC', HOME: '/' };

const pythonSchema = z.object({
  program: z.string().startsWith('/'),
  version: z.tuple([z.number(), z.number(), z.number()]),
  machine: z.string(),
  /** The library: folders, none inside another. */
  folders: z.array(z.string().startsWith('/')).min(1),
  /** Where the system's libraries lie that it has loaded. */
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
 * The Python that C3_PYTHON names, else `python3` on PATH.
 * @throws SandboxFailure where there is none that can be used
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
  const python = understand(name, stdout);
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

function understand(name: string, said: string): NativePython {
  try {
    return pythonSchema.parse(JSON.parse(said));
  } catch {
    throw new SandboxFailure(`${name} does not say what it is`);
  }
}

/** What starts one sandbox behind a wall. @param program another than the keeper's, for tests of the check itself */
export function nativeCommand(
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
    line: wall === 'bwrap' ? [...bubblewrap(python), ...line] : line,
    env: ENVIRONMENT,
    folder: '/',
    guarded: true,
    patience: 0,
  };
}

/**
 * A root that holds the interpreter, its library and the system's libraries, all read-only, and no right, process or
 * network besides.
 */
function bubblewrap({ program, folders, libraries }: NativePython): string[] {
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

/** Where PATH has a program; null where it has none. */
function findProgram(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (!folder.startsWith('/')) {
      continue;
    }
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Perhaps in the next.
    }
  }
  return null;
}

/** Python and the first wall that holds. @throws SandboxFailure, one sentence, where there is none */
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
    const open = await weakness((role, limits) => nativeCommand({ python, wall }, role, limits));
    if (open === null) {
      return { python, wall };
    }
    reasons.push(`with ${wall} ${open}`);
  }
  throw refuse(reasons.join(', and '));
}

let known: Promise<NativeBackend> | null = null;

/** The backend, checked once in this process; what was refused stays refused. @throws SandboxFailure as above */
export function checkNative(): Promise<NativeBackend> {
  known ??= findBackend();
  return known;
}

/** Starts sandboxes of the user's Python. */
export function nativeSandboxes(limits: PythonLimits): StartSandbox {
  return async (role, onBegun) =>
    SandboxProcess.begin(nativeCommand(await checkNative(), role, limits), role, new Uint8Array(), onBegun);
}
