/** Programs that leave something behind in a sandbox, and programs that look for it. */

import type { HashedStream } from '../../src/tasks/hashedStream.ts';

/** Statements, each tried by itself. */
const TRACES: readonly string[] = [
  'os.close(0); os.open(ARCHIVE, os.O_RDONLY); os.lseek(0, 77, 0)',
  'os.close(1); os.open("/dev/null", os.O_RDONLY)',
  'os.close(2)',
  'os.closerange(0, 3); [os.open(ARCHIVE, os.O_RDONLY) for _ in range(3)]; os.lseek(1, 5, 0)',
  'KEPT.append(open(ARCHIVE, "rb")); KEPT[-1].seek(1000)',
  'KEPT.extend(os.open(ARCHIVE, os.O_RDONLY) for _ in range(20))',
  'import fcntl; fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)',
  'import fcntl; KEPT.append(fcntl.fcntl(0, fcntl.F_DUPFD, 9))',
  'os.dup2(2, 0)',
  'KEPT.append(os.dup(1))',
  'os.lseek(0, 3, 0)',
  'os.read(0, 100)',
  'os.chdir("/dev")',
  'os.environ["SPOILT"] = "1"; os.putenv("SPOILT2", "2")',
  'os.umask(0o777)',
  'open("/tmp/left", "w").write("x")',
  'os.mkdir("/tmp/folder")',
  'os.utime("/tmp", (5, 5))',
  'os.chmod("/tmp", 0)',
  'os.symlink("/dev", "/tmp/link")',
  'open("/dev/urandom", "rb").read(1000)',
  'open("/dev/random", "rb", buffering=0).read(3)',
  'os.urandom(33)',
  'random.seed(5); [random.random() for _ in range(99)]',
  'KEPT.append(random.Random().random())',
  'import uuid; uuid.uuid1(); uuid.uuid4()',
  'import secrets; secrets.token_bytes(7)',
  'time.sleep(1000)',
  '[time.time() for _ in range(50)]',
  'import datetime; [datetime.datetime.now() for _ in range(9)]',
  'os.stat(ARCHIVE); open(ARCHIVE, "rb").read(10); os.listdir("/tmp")',
  'sys.setrecursionlimit(333)',
  'sys.setswitchinterval(0.5)',
  'sys.set_int_max_str_digits(9000)',
  'sys.path.clear(); sys.path_importer_cache.clear()',
  'sys.modules["math"] = None; sys.modules["left"] = sys',
  'sys.stdout = sys.stdin = None',
  'sys.excepthook = sys.displayhook = None',
  'sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)',
  'sys.intern("left behind " * 3)',
  'builtins.abs = builtins.sorted = None; builtins.left = 1',
  'gc.disable(); gc.set_threshold(1, 1, 1); gc.freeze()',
  'signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, lambda *a: None)',
  'warnings.simplefilter("error"); warnings.warn("left") if 0 else None',
  'import locale; locale.setlocale(locale.LC_ALL, "C.UTF-8")',
  'import decimal; decimal.getcontext().prec = 3; decimal.setcontext(decimal.Context(prec=4)); decimal.DefaultContext.prec = 9',
  'import atexit; atexit.register(print, "left")',
  'import codecs; codecs.register_error("left", lambda e: ("", 0)); codecs.register(lambda name: None)',
  'import copyreg; copyreg.pickle(set, lambda s: (set, ()))',
  're.compile("left" + str(len(KEPT))); re.match = None',
  'import linecache; linecache.cache["left"] = (1, None, [], "")',
  'import functools; functools.reduce = None; harness.pack = harness.TAGS = None',
  'harness.WORK.clear()',
  'KEPT.append(bytearray(b"LEFT" * (1 << 20))); KEPT.clear()',
  'KEPT.append(b"LEFT" * (1 << 22))',
  'KEPT.extend([object() for _ in range(10000)])',
  'KEPT.append({i: str(i) for i in range(50000)})',
  'import threading; threading.current_thread().name = "left"; threading.local().left = 1',
  'import contextvars; contextvars.ContextVar("left").set(1)',
  'import logging; logging.getLogger("left").setLevel(1); logging.basicConfig()',
  'import tempfile; tempfile.tempdir = "/left"; tempfile.gettempdir()',
  'import json; json.dumps = json.loads = None',
  'import types; types.SimpleNamespace = None; math.pi = 3; string.digits = ""',
  'class Left(int): pass\nKEPT.append(Left)',
  'raise ValueError("left")',
  'KEPT.append(iter(lambda: 1, 2)); KEPT.append(KEPT)',
  'print("left" * 1000, flush=True); sys.stderr.write("left")',
  'def deep(n): return deep(n + 1)\ndeep(0)',
  'exec("def g():\\n yield 1", globals()); KEPT.append(next(globals()["g"]()))',
];

/** Expressions, each looked at by itself; what it gives or raises is reported. */
const LOOKS: readonly string[] = [
  '[at(lambda: os.lseek(fd, 0, 1)) for fd in range(12)]',
  '[at(lambda: tuple(os.fstat(fd))) for fd in range(12)]',
  'at(lambda: os.read(0, 8))',
  'at(lambda: os.isatty(0)), at(lambda: os.ttyname(1))',
  'os.open(ARCHIVE, os.O_RDONLY), open(ARCHIVE, "rb").read(4)',
  'os.getcwd(), sorted(os.environ.items()), at(lambda: os.umask(0))',
  '[(path, at(lambda: sorted(os.listdir(path)))) for path in ("/", "/tmp", "/dev", "/home", "/proc", "/proc/self/fd")]',
  '[(path, at(lambda: tuple(os.stat(path)) + (os.stat(path).st_atime_ns, os.stat(path).st_mtime, os.stat(path).st_ctime))) for path in ("/", "/tmp", ARCHIVE, "/dev/urandom", "/dev/null", "/dev/stdin")]',
  '[(path, at(lambda: tuple(os.lstat(path)))) for path in ("/tmp/left", "/tmp/link", "/dev/stdin", ".")]',
  'at(lambda: tuple(os.statvfs("/"))), at(lambda: tuple(os.fstatvfs(0)))',
  'at(lambda: open("/dev/urandom", "rb", buffering=0).read(16).hex()), at(lambda: open("/dev/random", "rb", buffering=0).read(3).hex())',
  'os.urandom(8).hex(), at(lambda: os.getrandom(4).hex())',
  'random.random(), random.getstate()[1][-1], random.SystemRandom().random()',
  'random.Random().random(), random.Random().getrandbits(40)',
  'str(__import__("uuid").uuid4()), __import__("secrets").token_hex(4)',
  'time.time(), time.monotonic_ns(), time.perf_counter(), time.process_time()',
  'str(__import__("datetime").datetime.now()), str(__import__("datetime").date.today()), at(lambda: str(__import__("datetime").datetime.utcnow()))',
  'tuple(time.localtime()), tuple(time.gmtime()), time.ctime(), time.strftime("%c"), time.asctime()',
  'at(lambda: time.clock_gettime(0)), at(lambda: time.clock_gettime_ns(1)), at(lambda: tuple(os.times()))',
  'at(lambda: __import__("resource").getrusage(0)[:2])',
  'hash("x"), hash(b"x"), hash(object()), hash(lambda: 1)',
  '[id(one) for one in (None, len, object(), [], {}, "x" * 50, lambda: 0)]',
  '[len(str(list({object(), object(), object()}))), list({object: 1, int: 2, str: 3}), list({print, len, abs, sum})]',
  'sorted(sys.modules), len(sys.path), sorted(sys.path_importer_cache)',
  'sorted(dir(builtins)), abs(-1), sorted([2, 1])',
  'gc.isenabled(), gc.get_threshold(), gc.get_count(), gc.get_freeze_count(), len(gc.get_objects())',
  '[str(at(lambda: signal.getsignal(number)))[:30] for number in range(1, 32)]',
  'len(warnings.filters), str(warnings.filters[:2])',
  'at(lambda: __import__("locale").setlocale(0)), str(__import__("decimal").getcontext()), __import__("decimal").DefaultContext.prec',
  'sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()',
  'str(type(sys.stdout)), str(type(sys.stdin)), str(sys.excepthook), str(sys.gettrace()), str(sys.getprofile())',
  'at(lambda: sys.getallocatedblocks()), sys.getrefcount(None) > 1',
  '[at(lambda: __import__("codecs").lookup_error("left")), len(__import__("copyreg").dispatch_table), sorted(__import__("linecache").cache)]',
  're.match("a", "a") is not None, len(re._cache), math.pi, string.digits, at(lambda: __import__("json").dumps([1]))',
  'sorted(harness.__dict__), sorted(harness.WORK), sorted(map(str, harness.TAGS))',
  'b"LEFT" in bytes(bytearray(1 << 20)), id(bytearray(1 << 20)), id(b"x" * (1 << 22))',
  'sys.intern("left " + "behind") is not None, sys._getframe().f_lineno, len(sys._current_frames())',
  '[at(lambda: __import__("threading").current_thread().name), len(__import__("threading").enumerate()), at(lambda: __import__("tempfile").tempdir)]',
  '[at(lambda: os.getpid()), at(lambda: os.getppid()), at(lambda: os.uname()), at(lambda: os.getloadavg()), at(lambda: os.cpu_count())]',
  'str(sys.exc_info()), sys.flags.hash_randomization, sys.executable, sys.argv',
];

const HEAD = `import builtins, gc, math, os, random, re, signal, string, sys, time, warnings
import c3_harness as harness
KEPT = []
ARCHIVE = next((path for path in sys.path if path.endswith('.zip') and os.path.isfile(path)), os.__file__)
def at(work):
    try: return work()
    except BaseException as error: return type(error).__name__ + str(getattr(error, 'errno', ''))
`;

const some = (stream: HashedStream, items: readonly string[], most: number): string[] =>
  Array.from({ length: stream.integer(1, most) }, () => stream.pick(items));

/** A program that leaves some traces. */
export const leaving = (stream: HashedStream): string =>
  `${HEAD}${some(stream, TRACES, 5)
    .map((trace) => `try:\n    ${trace.replaceAll('\n', '\n    ')}\nexcept BaseException: pass\n`)
    .join('')}def f(): return 1\n`;

/** A program whose f() says what it sees, as text. */
export const looking = (looks: readonly string[]): string =>
  `${HEAD}def f():\n    told = []\n${looks.map((look) => `    told.append(at(lambda: repr((${look}))))\n`).join('')}    return told\n`;

/** Some looks. */
export const someLooks = (stream: HashedStream): readonly string[] => some(stream, LOOKS, 6);

/** Below Python, and with its modules taken anew. The bundled interpreter ends a program for most of these. */
const REFUSED: readonly string[] = [
  '(lambda c, b: (c.CDLL(None).getrandom(b, 8, 0), b.raw.hex()))(__import__("ctypes"), __import__("ctypes").create_string_buffer(8))',
  '(lambda c, b: [(clock, c.CDLL(None).clock_gettime(clock, b), b.raw.hex()) for clock in (0, 1, 2, 4, 5, 6, 7, 11)])(__import__("ctypes"), __import__("ctypes").create_string_buffer(16))',
  '(lambda c, b: (c.CDLL(None).gettimeofday(b, None), b.raw.hex(), c.CDLL(None).time(None), c.CDLL(None).clock()))(__import__("ctypes"), __import__("ctypes").create_string_buffer(16))',
  '(lambda c: (c.CDLL(None).sleep(5), c.CDLL(None).usleep(3000000), c.CDLL(None).getpid(), c.CDLL(None).syscall(39), c.CDLL(None).syscall(228, 0, None)))(__import__("ctypes"))',
  '(lambda m: (m.time(), m.monotonic_ns(), m.perf_counter(), m.localtime()[:6], m.sleep(0)))((sys.modules.pop("time"), __import__("time"))[1])',
  '(lambda m: (m.urandom(4).hex(), m.getpid()))((sys.modules.pop("posix"), __import__("posix"))[1])',
  '(lambda m: m.Random().random())((sys.modules.pop("_random"), __import__("_random"))[1])',
  '[at(lambda: os.get_inheritable(fd)) for fd in range(6)]',
  '[at(lambda: __import__("fcntl").fcntl(fd, 3)) for fd in range(12)]',
  'str(__import__("uuid").uuid1())',
];

/** Every look by itself, and all that can be in one program. */
export const EVERY_LOOK: readonly (readonly string[])[] = [LOOKS, ...[...LOOKS, ...REFUSED].map((look) => [look])];
