/**
 * The part of the keeper (nativeKeeper.ts) that removes the differences between runs of the user's own
 * `python3`: clocks, random numbers, ids of processes and users, and addresses. The list of system
 * calls refuses what a program asks of the system; this part covers what it can learn without asking.
 */
export const NO_CHANCE = String.raw`
import posix
from stat import S_IFDIR, S_IFMT, S_IFREG

def same_addresses():
    "Begins anew without random addresses, where the system lets a process: they are the order of objects in sets."
    FIXED, ASK = 0x40000, 0xffffffff
    ask = libc.personality
    ask.argtypes = [ctypes.c_ulong]
    now = ask(ASK)
    if now != -1 and not now & FIXED and ask(now | FIXED) != -1 and ask(ASK) & FIXED:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

class Clocks:
    "A clock in place of the system's, for code of any language: it is the same in each run and moves on by a microsecond at each look."
    def __init__(self):
        "Prepares it, where the processor is known: the functions with which the system's clocks are read without a call, and what they become."
        self.jumps, self.code, self.pages = [], None, []
        if os.uname().machine != 'x86_64':
            return
        libc.getauxval.restype = libc.mmap.restype = ctypes.c_void_p
        self.code = libc.getauxval(33)
        if not self.code:
            return
        header = ctypes.string_at(self.code, 64)
        first, count = struct.unpack_from('<Q', header, 40)[0], struct.unpack_from('<H', header, 60)[0]
        if not first or not count:
            return
        sections = [struct.unpack('<IIQQQQIIQQ', ctypes.string_at(self.code + first + 64 * index, 64)) for index in range(count)]
        table = next(section for section in sections if section[1] == 11)
        names = sections[table[6]]
        page = os.sysconf('SC_PAGE_SIZE')
        self.length = -(-(first + 64 * count) // page) * page
        place = libc.mmap(None, ctypes.c_size_t(2 * page), 3, 0x22, -1, ctypes.c_long(0))
        self.now = ctypes.c_uint64.from_address(place + page)
        self.now.value = EPOCH
        # Nanoseconds into rax, then seconds into rax and the rest into rdx.
        look = bytes.fromhex('48b8') + struct.pack('<Q', place + page) + bytes.fromhex('488100e8030000 488b00 31d2 b900ca9a3b 48f7f1')
        becomes = {
            'clock_gettime': look + bytes.fromhex('488906 48895608 31c0 c3'),
            'gettimeofday': look + bytes.fromhex('488907 4889d0 31d2 b9e8030000 48f7f1 48894708 31c0 c3'),
            'time': look + bytes.fromhex('4885ff 7403 488907 c3'),
            'clock_getres': bytes.fromhex('4885f6 740f 48c70600000000 48c7460801000000 31c0 c3'),
        }
        at = place
        for index in range(table[5] // 24):
            name, _, _, _, value, _ = struct.unpack('<IBBHQQ', ctypes.string_at(self.code + table[4] + 24 * index, 24))
            known = becomes.get(ctypes.string_at(self.code + names[4] + name).decode().removeprefix('__vdso_'))
            if known is not None:
                ctypes.memmove(at, known, len(known))
                self.jumps.append((self.code + value, bytes.fromhex('48b8') + struct.pack('<Q', at) + bytes.fromhex('ffe0')))
                at += len(known)
        system('mprotect', ctypes.c_void_p(place), ctypes.c_size_t(page), 5)
        try:
            with open('/proc/self/maps') as file:
                self.pages = [[int(end, 16) for end in line.split()[0].split('-')] for line in file if '[vvar' in line]
        except OSError:
            # Not to be seen behind bubblewrap.
            pass

    def replace(self):
        "In this process, for good; the processor's own counter is closed, too."
        whole = ctypes.c_void_p(self.code), ctypes.c_size_t(self.length)
        if not self.jumps or libc.mprotect(*whole, 7) == -1:
            return
        for place, jump in self.jumps:
            ctypes.memmove(place, jump, len(jump))
        libc.mprotect(*whole, 5)
        libc.prctl(26, 2, 0, 0, 0)
        for start, end in self.pages:
            libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start))

    def sleep(self, nanoseconds):
        if self.jumps:
            self.now.value += nanoseconds

def fix_chance():
    "Chance, clocks and all else that tells one run from another are the same in each; sleeping moves the clocks on."
    state, clock = [0], [0]
    def urandom(size, /):
        found = bytearray()
        for _ in range(size):
            state[0] = (state[0] * 1664525 + 1013904223) & 0xffffffff
            found.append(state[0] >> 24)
        return bytes(found)
    def everywhere(**functions):
        for name, function in functions.items():
            for module in (os, posix):
                setattr(module, name, function)
    random._urandom = urandom
    everywhere(urandom=urandom, getrandom=lambda size, flags=0: urandom(size), getpid=lambda: 2, getppid=lambda: 1)
    def timeless(look):
        def stat(*args, **kwargs):
            found = look(*args, **kwargs)
            mode = found.st_mode
            kind = S_IFMT(mode)
            # Which pipe it is depends on what was opened before; the library's files were written long ago, and Python compares when.
            number = found.st_ino if kind in (S_IFREG, S_IFDIR) else 0
            written = (found.st_mtime, found.st_mtime_ns) if kind == S_IFREG else (0, 0)
            return os.stat_result((mode, number, 0, found.st_nlink, 0, 0, found.st_size, 0, int(written[0]), 0, 0, *written[:1], 0, 0, written[1], 0))
        return stat
    everywhere(**{name: timeless(getattr(posix, name)) for name in ('stat', 'lstat', 'fstat')})
    everywhere(times=lambda: os.times_result((tick() / 1e9, 0, 0, 0, tick() / 1e9)), getuid=lambda: 0, geteuid=lambda: 0, getgid=lambda: 0, getegid=lambda: 0)
    def tick():
        clock[0] += 1000
        return clock[0]
    def sleep(seconds, /):
        "Moves the clock on; nobody waits."
        if not seconds >= 0:
            raise ValueError('sleep length must be non-negative')
        length = int(min(seconds, 1e9) * 1e9)
        clock[0] += length
        CLOCKS.sleep(length)
    time.sleep = sleep
    time.time = lambda: (EPOCH + tick()) / 1e9
    time.time_ns = lambda: EPOCH + tick()
    for name in ('monotonic', 'perf_counter', 'process_time', 'thread_time'):
        setattr(time, name, lambda: tick() / 1e9)
        setattr(time, name + '_ns', tick)
`;
