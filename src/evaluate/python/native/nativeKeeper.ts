/**
 * The Python program that runs as the user's own `python3`: it builds its wall, then keeps one
 * candidate (or the tests) at a time behind it.
 *
 * There are three processes in a chain, and nothing passes from one run to the next. The keeper is the
 * first process of its own namespaces and never sees a message. For each run, a guard carries messages
 * (frames.ts) and watches limits. Its child alone runs untrusted code, with hard limits and a short
 * list of system calls.
 *
 * From the parent: `S` start; `H` a request for the harness; `B` the answer to an `A`; `R` end this
 * run and begin the next. To the parent: `O` ready; `V` the harness's reply; `A` a request of the
 * tests to the candidate; `F` the run and the whole program have ended, by the rule in it; `E` there
 * is no wall here.
 */

import { HARNESS, HARNESS_MODULE, TOO_LONG } from '../sandbox/harness.ts';
import { NO_CHANCE } from './nativeChance.ts';

/** Imports that must happen before the wall is built, because libraries of the system lie outside it. */
const PRELUDE = String.raw`
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import ctypes, gc, hashlib, json, math, os, random, resource, select, signal, struct, time, types, uuid
for name in ('bz2', 'lzma', 'zlib', 'locale', 'unittest', 'threading', 'array', 'secrets', '_strptime'):
    try:
        __import__(name)
    except ImportError:
        pass
harness = types.ModuleType(${JSON.stringify(HARNESS_MODULE)})
sys.modules[harness.__name__] = harness
exec(compile(${JSON.stringify(HARNESS)}, '<harness>', 'exec'), harness.__dict__)
`;

/** Prints the version of this Python and the location of its library. */
export const PROBE = String.raw`${PRELUDE}
found = {
    'program': os.path.realpath(sys.executable), 'version': list(sys.version_info[:3]), 'machine': os.uname().machine,
    'folders': [entry for entry in dict.fromkeys(map(os.path.realpath, sys.path)) if os.path.isdir(entry)],
    'libraries': sorted({os.path.dirname(line.split(None, 5)[5].strip()) for line in open('/proc/self/maps') if '.so' in line}),
    'size': int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE'),
}
print(json.dumps(found))
`;

/** The wall of Linux's own namespaces, built from inside: a new read-only root with only the library. */
const WALL = String.raw`
def build_wall():
    "Leaves this process in namespaces of its own and gives its first child, which has no right left; the parent waits for its end."
    PRIVATE, READ_ONLY, NOSUID, NODEV, BIND, REMOUNT, REC = 1 << 18, 1, 2, 4, 1 << 12, 32, 1 << 14
    NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (1 << bit for bit in (17, 25, 26, 27, 28, 29, 30))
    def mount(source, target, kind, flags):
        system('mount', source and source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None)
    uid, gid = os.geteuid(), os.getegid()
    # No one else's: what the system counts by user (processes) is counted for this one alone.
    fresh = (1 << 30) + os.getpid()
    apart = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWPID | NEWNET
    with open('/proc/self/uid_map') as file:
        root = uid == 0 and any(int(first) <= fresh < int(first) + int(count) for first, _, count in map(str.split, file))
    try:
        system('unshare', apart | (0 if root else NEWUSER))
    except PermissionError:
        if not root:
            raise
        # Root by name only, as in many containers.
        root = False
        system('unshare', apart | NEWUSER)
    if not root:
        for name, text in (('setgroups', 'deny'), ('uid_map', '65534 %d 1' % uid), ('gid_map', '65534 %d 1' % gid)):
            try:
                with open('/proc/self/' + name, 'w') as file:
                    file.write(text)
            except OSError as error:
                raise OSError(error.errno, 'writing %s: %s' % (name, error.strerror))
    mount(None, '/', None, REC | PRIVATE)
    mount('none', '/tmp', 'tmpfs', NOSUID | NODEV)
    os.chdir('/tmp')
    os.mkdir('old')
    system('syscall', ctypes.c_long(CALLS['pivot_root']), b'.', b'old')
    os.chdir('/')
    def kept(path):
        "The flags of a mount that may not be lost: no suid programs, no devices, and what its owner forbade."
        flags = os.statvfs(path).f_flag
        return flags & (8 | 1024 | 2048) | (flags & 4096) << 9 | NOSUID | NODEV
    for folder in FOLDERS:
        os.makedirs(folder, exist_ok=True)
        mount('/old' + folder, folder, None, BIND)
        mount(None, folder, None, BIND | REMOUNT | READ_ONLY | kept(folder))
        for packages in HIDDEN:
            if os.path.isdir(os.path.join(folder, packages)):
                mount('none', os.path.join(folder, packages), 'tmpfs', READ_ONLY | NOSUID | NODEV)
    system('umount2', b'/old', 2)
    os.rmdir('/old')
    mount(None, '/', None, BIND | REMOUNT | READ_ONLY | kept('/'))
    child = os.fork()
    if child:
        os.closerange(0, 3)
        os.waitpid(child, 0)
        os._exit(0)
    if root:
        os.setgroups([])
        os.setresgid(fresh, fresh, fresh)
        os.setresuid(fresh, fresh, fresh)
    system('syscall', ctypes.c_long(CALLS['capset']), struct.pack('<Ii', 0x20080522, 0), bytes(24))
    # Ends with the one that waits for it.
    system('prctl', 1, signal.SIGKILL, 0, 0, 0)
`;

const KEEPER = String.raw`
MEANS, ROLE, SECONDS, MEMORY, OUTPUT, MESSAGE, FOLDERS = json.loads(sys.argv.pop())
# A key that is pressed in the terminal ends the parent, and that ends all of this; it is no act of the candidate.
signal.signal(signal.SIGINT, signal.SIG_IGN)
HIDDEN = ('site-packages', 'dist-packages')
LARGEST = 1 << 28
RESET = 77
EPOCH = 1_767_225_600_000_000_000
libc = ctypes.CDLL(None, use_errno=True)
# What computing and reading the library need, and two calls for the wall; the numbers are Linux's for each machine. No clock, no chance, no
# numbers of processes and users, which are others in each run.
MACHINES = {
    'x86_64': {'audit': 0xc000003e, 'pivot_root': 155, 'capset': 126, 'allowed': [
        0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 17, 20, 21, 24, 25, 28, 60, 63, 79, 89, 131, 202, 204, 217, 231, 257, 262, 267, 269,
        332, 334, 439]},
    'aarch64': {'audit': 0xc00000b7, 'pivot_root': 41, 'capset': 91, 'allowed': [
        17, 48, 56, 57, 61, 62, 63, 64, 66, 67, 78, 79, 80, 93, 94, 98, 123, 124, 132, 134, 135, 139, 160, 214, 215, 216, 222, 226, 233, 291,
        293, 439]},
}
CALLS = MACHINES[os.uname().machine]

def system(name, *args):
    if getattr(libc, name)(*args) == -1:
        number = ctypes.get_errno()
        raise OSError(number, '%s: %s' % (name, os.strerror(number)))

def filter_calls():
    "From here on every system call that is not on the list fails as forbidden, for good."
    class Program(ctypes.Structure):
        _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_char_p)]
    allowed = CALLS['allowed']
    count = len(allowed)
    steps = [(0x20, 0, 0, 4), (0x15, 0, count + 3, CALLS['audit']), (0x20, 0, 0, 0)]
    steps += [(0x15, count - index, 0, number) for index, number in enumerate(allowed)]
    # Fails with EPERM; is carried out; ends the process.
    steps += [(0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x80000000)]
    code = b''.join(struct.pack('<HBBI', *step) for step in steps)
    system('prctl', 38, 1, 0, 0, 0)
    system('prctl', 22, 2, ctypes.byref(Program(len(steps), code)), 0, 0)

def read(fd, size):
    pieces = []
    while size:
        piece = os.read(fd, min(size, 1 << 20))
        if not piece:
            os._exit(1)
        pieces.append(piece)
        size -= len(piece)
    return b''.join(pieces)

def receive(fd):
    length, kind = struct.unpack('<Ic', read(fd, 5))
    return kind, read(fd, length)

def send(fd, kind, content):
    rest = memoryview(struct.pack('<Ic', len(content), kind) + content)
    while rest:
        rest = rest[os.write(fd, rest):]

# --- the child: code of others ---

def limit():
    memory = int(MEMORY)
    cpu = math.ceil(SECONDS) + 1
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = 8 << 20 if hard == resource.RLIM_INFINITY else min(8 << 20, hard)
    for name, value in (('AS', memory), ('CPU', cpu), ('NPROC', 0), ('FSIZE', 0), ('CORE', 0), ('NOFILE', 64), ('MSGQUEUE', 0), ('MEMLOCK', 0), ('STACK', stack)):
        resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (value, value))

def run(requests, replies, output):
    empty, end = os.pipe()
    os.close(end)
    for fd, target in ((empty, 0), (output, 1), (output, 2)):
        os.dup2(fd, target)
    low, high = sorted((requests, replies))
    for first, end in ((3, low), (low + 1, high), (high + 1, 1 << 16)):
        os.closerange(first, end)
    def exchange(request):
        send(replies, b'A', request)
        return receive(requests)[1]
    harness.exchange = exchange
    # Made now: what follows may spoil the means to make them.
    memory = harness.final('memory-limit', 'asked for more memory than it may have')
    crash = harness.final('crash', 'the interpreter answered nothing')
    CLOCKS.replace()
    # Its own seed is a new one after each fork.
    random.seed(0)
    limit()
    filter_calls()
    while True:
        request = receive(requests)[1]
        try:
            reply = harness.handle(request)
            if reply.startswith(b'x["MemoryError"'):
                reply = memory
        except MemoryError:
            reply = memory
        except BaseException:
            reply = crash
        send(replies, b'V', reply)

# --- the guard: messages and limits ---

class Guard:
    def __init__(self):
        requests, self.requests = os.pipe()
        self.replies, replies = os.pipe()
        self.output, output = os.pipe()
        self.printed = 0
        # Before any message: a child has no memory of what went before.
        self.child = os.fork()
        if self.child == 0:
            try:
                run(requests, replies, output)
            finally:
                os._exit(1)
        for fd in (requests, replies, output):
            os.close(fd)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.output, False)

    def last(self, rule, detail):
        "The last word."
        try:
            os.kill(self.child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        send(1, b'F', json.dumps([rule, detail]).encode())
        os._exit(0)

    def late(self):
        try:
            used = time.clock_gettime(~self.child << 3 | 2)
        except OSError:
            return
        if used > SECONDS:
            self.last('time-limit', 'took more than %g s' % SECONDS)

    def drain(self):
        "Nothing that is printed is kept: only its amount counts."
        try:
            while piece := os.read(self.output, 1 << 16):
                self.printed += len(piece)
                if self.printed > OUTPUT:
                    self.last('output-limit', 'printed more than it may')
        except BlockingIOError:
            pass

    def ended(self):
        for _ in range(100):
            pid, status, usage = os.wait4(self.child, os.WNOHANG)
            if pid:
                break
            select.select([], [], [], 0.01)
        else:
            self.last('crash', 'it closed its way to the tests')
        self.drain()
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            self.last('exit', 'left the interpreter with %d' % code)
        # At the limit that it set itself the system sends one of two signals.
        if -code == signal.SIGXCPU or usage.ru_utime + usage.ru_stime > SECONDS:
            self.last('time-limit', 'took more than %g s' % SECONDS)
        # Ended from outside, by a system short of memory for one: no word about the candidate.
        if -code == signal.SIGKILL:
            os._exit(1)
        self.last('crash', 'it died of signal %d' % -code)

    def ask(self, content):
        "One message to the child and its reply."
        rest = memoryview(struct.pack('<Ic', len(content), b'H') + content)
        reply = bytearray()
        poll = select.poll()
        for fd, events in ((0, 0), (self.requests, select.POLLOUT), (self.replies, select.POLLIN), (self.output, select.POLLIN)):
            poll.register(fd, events)
        while True:
            ready = dict(poll.poll(20))
            self.late()
            if 0 in ready:
                os._exit(1)
            if self.output in ready:
                self.drain()
                if ready[self.output] & select.POLLHUP:
                    poll.unregister(self.output)
            if self.requests in ready:
                try:
                    rest = rest[os.write(self.requests, rest):]
                except BlockingIOError:
                    pass
                except BrokenPipeError:
                    self.ended()
                if not rest:
                    poll.unregister(self.requests)
            if self.replies in ready:
                piece = os.read(self.replies, 1 << 20)
                if not piece:
                    self.ended()
                reply += piece
                if len(reply) < 5:
                    continue
                length, kind = struct.unpack('<Ic', reply[:5])
                if kind != b'V' and (kind != b'A' or ROLE != 'tests'):
                    self.last('crash', 'it broke the sandbox')
                if length > (MESSAGE if kind == b'V' else LARGEST):
                    self.last('message-limit', '${TOO_LONG}')
                if len(reply) > 5 + length:
                    self.last('crash', 'it broke the sandbox')
                if len(reply) == 5 + length:
                    self.drain()
                    return kind, bytes(reply[5:])

    def work(self):
        while True:
            kind, content = receive(0)
            if kind == b'R':
                os._exit(RESET)
            send(1, *self.ask(content))

# --- the keeper ---

def serve():
    Guard().work()

def keep():
    "Ends everything that a run left behind before the next begins."
    # The wall's own proof, and why ending all processes ends no other.
    if os.getpid() != 1:
        raise OSError('it is not the first process of its own')
    system('prctl', 4, 0, 0, 0, 0)
    receive(0)
    # Here, so that no run waits for it; each has its own copy.
    fix_chance()
    gc.collect()
    gc.freeze()
    # The first of all does nothing: so each run, the first one too, begins with the memory that another has left here.
    work = lambda: os._exit(RESET)
    while True:
        guard = os.fork()
        if guard == 0:
            try:
                work()
            finally:
                os._exit(1)
        status = os.waitpid(guard, 0)[1]
        try:
            os.kill(-1, signal.SIGKILL)
            while True:
                os.waitpid(-1, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        if os.waitstatus_to_exitcode(status) != RESET:
            os._exit(1)
        # A number takes more room when it is larger.
        guard = status = None
        work = serve
        send(1, b'O', b'')

try:
    same_addresses()
    CLOCKS = Clocks()
    if MEANS == 'namespaces':
        build_wall()
    keep()
except Exception as error:
    send(1, b'E', str(getattr(error, 'strerror', None) or error).encode()[:300])
    os._exit(1)
`;

export const KEEPER_PROGRAM = `${PRELUDE}${WALL}${NO_CHANCE}${KEEPER}`;
