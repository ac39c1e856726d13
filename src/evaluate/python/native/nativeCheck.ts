/** Attempts for real to escape from a wall, as a candidate would. Run before the first use of a wall. */

import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createTemporaryFolder } from '../../../files/temporaryFolder.ts';
import { DEFAULT_LIMITS, type PythonLimits } from '../rules.ts';
import { SandboxProcess, type SandboxCommand, type SandboxRole } from '../sandbox/sandboxProcess.ts';

/** Each function returns true if it escaped; anything except False counts as an escape. */
const ESCAPES = String.raw`
import ctypes, os, socket, subprocess, threading

def held(*attempts):
    for attempt in attempts:
        try:
            attempt()
        except (OSError, RuntimeError):
            continue
        return False
    return True

def write(folder):
    with open(os.path.join(folder, NAME), 'w') as file:
        file.write('x')

def system(name, *args):
    if ctypes.CDLL(None, use_errno=True)[name](*args) == -1:
        raise OSError(ctypes.get_errno(), name)

def network():
    return not held(lambda: socket.socket(), lambda: socket.socket(socket.AF_UNIX), lambda: socket.socketpair())

def look():
    # The way to a library that lies in the home folder is there; what else the folder has is not.
    if len(os.listdir(HOME)) < 2:
        raise FileNotFoundError(HOME)

def reading():
    return not held(look, lambda: os.listdir(PLACE), lambda: open(SECRET).read(), lambda: open('/etc/passwd').read(), lambda: open('/dev/null'))

def writing():
    return not held(*[lambda folder=folder: write(folder) for folder in (HOME, PLACE, '/', '.', '/tmp', '/dev/shm', os.path.dirname(os.__file__))])

def others():
    return not held(lambda: os.kill(PARENT, 0), lambda: os.kill(os.getppid(), 0), lambda: os.kill(1, 0), lambda: os.kill(-1, 0), lambda: os.listdir('/proc'))

def fork():
    if os.fork() == 0:
        os._exit(0)

def processes():
    return not held(fork, lambda: subprocess.run(['/bin/true']), lambda: threading.Thread(target=int).start(), lambda: os.execv('/bin/true', ['true']))

def rights():
    attach, new_user = 16, 1 << 28
    return not held(lambda: system('unshare', new_user), lambda: system('ptrace', attach, os.getppid(), 0, 0), lambda: os.setuid(0), lambda: os.chroot('/'))

def memory():
    return len(bytearray(SPACE))

def endless():
    while True:
        pass
`;

const REFUSED = 'vfalse';
/** Forbidden acts in the order of the attempts, with the answer that says that the act failed. */
const ATTEMPTS: readonly (readonly [name: string, deed: string, held: RegExp])[] = [
  ['network', 'open a socket', new RegExp(`^${REFUSED}$`)],
  ['reading', "read this machine's files", new RegExp(`^${REFUSED}$`)],
  ['writing', 'write a file', new RegExp(`^${REFUSED}$`)],
  ['others', 'see another process', new RegExp(`^${REFUSED}$`)],
  ['rights', 'take rights that it was not given', new RegExp(`^${REFUSED}$`)],
  ['processes', 'start a process or a thread', new RegExp(`^${REFUSED}$`)],
  ['memory', 'take more memory than it may', /^f\["memory-limit"/],
  ['endless', 'compute longer than it may', /^\["time-limit"/],
];

/** Small, so that reaching the limits takes little time. */
const LIMITS: PythonLimits = { ...DEFAULT_LIMITS, seconds: 0.5, memory: 128 };
const SECONDS = 30;

/**
 * Returns a forbidden act that code behind a wall could do, as the end of a sentence, or null if the
 * wall held. If the wall does not work at all, returns the reason.
 */
export async function findWallWeakness(
  command: (role: SandboxRole, limits: PythonLimits) => SandboxCommand,
): Promise<string | null> {
  const place = createTemporaryFolder('wall');
  const begun: SandboxProcess[] = [];
  try {
    // Readable by all users, so that only the wall can keep the code out, and not the file permissions.
    chmodSync(place, 0o755);
    const secret = join(place, 'secret');
    writeFileSync(secret, 'x', { mode: 0o644 });
    const sandbox = await SandboxProcess.begin(command('candidate', LIMITS), 'candidate', new Uint8Array(), (one) =>
      begun.push(one),
    );
    sandbox.allow(SECONDS);
    const ask = async (request: string): Promise<string> =>
      new TextDecoder().decode((await sandbox.exchange('H', new TextEncoder().encode(request))).content);
    const known = {
      NAME: `c3-escaped-${process.pid}`,
      HOME: homedir(),
      PLACE: place,
      SECRET: secret,
      PARENT: process.pid,
      SPACE: LIMITS.memory * 2 ** 20,
    };
    const code = `${Object.entries(known)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
      .join('\n')}\n${ESCAPES}`;
    const loaded = await ask(`L${JSON.stringify({ code, imports: [], longest: LIMITS.message })}`);
    if (loaded !== 'v') {
      return `the check does not run: ${loaded.slice(0, 200)}`;
    }
    for (const [name, deed, held] of ATTEMPTS) {
      const said = await ask(`C${JSON.stringify({ do: 'call', args: ['l', [['g', name]]], kwargs: ['d', [], []] })}`);
      if (!held.test(said)) {
        return `code could ${deed}`;
      }
    }
    return [place, homedir()].some((folder) => existsSync(join(folder, known.NAME))) ? 'code could write a file' : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    for (const one of begun) {
      one.kill();
    }
    rmSync(place, { recursive: true, force: true });
  }
}
