/**
 * The Python that runs inside a sandbox beside the code of others, and the messages that it understands.
 *
 * `handle(request)` takes and gives bytes. Requests begin with a letter: `L` loads a candidate (`{code, imports,
 * longest}`), `C` calls one of its functions, `N` says how two functions are written, `J` runs tests against a
 * candidate in another process. Replies of a candidate begin with `v` (a value), `x` (an exception: type and message),
 * `u` (a value that has no wire form) or `f` (final: rule and detail).
 *
 * The wire form is JSON. None, True, False, strings, finite floats and integers below 2^63 represent themselves;
 * everything else is `[tag, content]`: u string with surrogates, i integer in hexadecimal, f NaN or an infinity, c
 * complex, b bytes, a bytearray, l list, t tuple, s set, z frozenset, d dict as a list of keys and a list of values.
 * Only exact builtins are packed, never their subclasses, and what is unpacked consists of exact builtins whatever the
 * other side sent.
 */
import { FUNCTIONS_HARNESS } from './functionsHarness.ts';

export const HARNESS_MODULE = 'c3_harness';

/** What is said of a value beyond the limit of a message. */
export const TOO_LONG = 'returned more than a message may hold';

/**
 * File descriptors that the sandbox answers itself: the tests' way to the candidate's process, and where sleeping moves
 * the clock.
 */
export const CHANNEL = 1000;
export const CLOCK = 1001;

export const HARNESS = String.raw`
import ast, builtins, json, math, os, struct, sys, time, types
# Imported once, so that a fresh interpreter has them at hand.
import bisect, cmath, collections, collections.abc, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq
import itertools, operator, random, re, statistics, string, textwrap, traceback, typing

DEPTH = 100
# Deeper than what a candidate may return: its own values can always be given back to it.
GIVEN_DEPTH = DEPTH + 10
SMALL = 1 << 63
CHANNEL, CLOCK = ${String(CHANNEL)}, ${String(CLOCK)}
LIMIT = sys.getrecursionlimit()
SURROGATE = re.compile('[\ud800-\udfff]')

def sleep(seconds, /):
    "Moves the clock on; nobody waits."
    if not seconds >= 0:
        raise ValueError('sleep length must be non-negative')
    os.write(CLOCK, struct.pack('<d', min(seconds, 1e9)))

time.sleep = sleep

class Length:
    "The longest text of a reply. A longer one ends the run; writing it out first could take more than a run has."
    most, beyond = math.inf, False

class Unfit(Exception):
    "A value without a wire form."

class Stop(BaseException):
    "The candidate has come to its end: no test can go on."

class NotBuiltin(BaseException):
    "The candidate returned something that is no exact builtin; tests cannot catch this as an Exception."

class CandidateError(Exception):
    "An exception of the candidate's own type."

def pack(value, depth=DEPTH):
    kind = type(value)
    if value is None or kind is bool:
        return value
    if (kind is str or kind is bytes or kind is bytearray) and len(value) > Length.most:
        Length.beyond = True
        return None
    if kind is str:
        return ['u', value.encode('utf-8', 'surrogatepass').hex()] if SURROGATE.search(value) else value
    if kind is int:
        return value if -SMALL < value < SMALL else ['i', hex(value)]
    if kind is float:
        return value if math.isfinite(value) else ['f', repr(value)]
    if kind is complex:
        return ['c', [pack(value.real), pack(value.imag)]]
    if kind is bytes or kind is bytearray:
        return ['b' if kind is bytes else 'a', value.hex()]
    if depth == 0:
        raise Unfit('a value nested more than %d deep' % DEPTH)
    depth -= 1
    tag = TAGS.get(kind)
    if tag is not None:
        return [tag, [pack(item, depth) for item in value]]
    if kind is dict:
        return ['d', [pack(key, depth) for key in value], [pack(item, depth) for item in value.values()]]
    raise Unfit('a value of type %s' % str(kind.__name__)[:100])

TAGS = {list: 'l', tuple: 't', set: 's', frozenset: 'z'}
KINDS = {'l': list, 't': tuple, 's': set, 'z': frozenset}

def unpack(wire, depth=DEPTH):
    "The value of a wire form; what pack could not have made is refused with an Exception."
    if type(wire) is not list:
        # The one other thing that JSON has.
        if type(wire) is dict:
            raise ValueError('no wire form')
        return wire
    tag, content = wire[0], wire[1]
    kind = KINDS.get(tag)
    if kind is not None or tag == 'd':
        if depth == 0:
            raise ValueError('nested too deep')
        depth -= 1
        if kind is not None:
            return kind([unpack(item, depth) for item in content])
        return dict(zip([unpack(key, depth) for key in content], [unpack(item, depth) for item in wire[2]], strict=True))
    if tag == 'u':
        return bytes.fromhex(content).decode('utf-8', 'surrogatepass')
    if tag == 'i':
        return int(content, 16)
    if tag == 'f':
        return float(content)
    if tag == 'c':
        real, imaginary = content
        return complex(unpack(real, 0), unpack(imaginary, 0))
    if tag == 'b':
        return bytes.fromhex(content)
    if tag == 'a':
        return bytearray.fromhex(content)
    raise ValueError('unknown tag')

def described(error):
    "Type and message of an exception, whatever its class does."
    try:
        message = str(error)
    except BaseException:
        message = ''
    return str(type(error).__name__)[:100], message[:300]

def final(rule, detail=''):
    return b'f' + json.dumps([rule, detail]).encode()

# --- the candidate's process ---

CANDIDATE = types.ModuleType('candidate')

def load(request):
    source = json.loads(request)
    Length.most = source['longest']
    sys.modules['candidate'] = CANDIDATE
    try:
        code = compile(source['code'], '<candidate>', 'exec', dont_inherit=True)
    except BaseException as error:
        return final('does-not-compile', ': '.join(described(error)))
    try:
        for line in source['imports']:
            try:
                exec(compile(line, '<setup>', 'exec', dont_inherit=True), CANDIDATE.__dict__)
            except ImportError:
                pass
        exec(code, CANDIDATE.__dict__)
    except Exception as error:
        return final('load-error', ': '.join(described(error)))
    except BaseException as error:
        return final('exit', ': '.join(described(error)))
    return b'v'

def call(request):
    asked = json.loads(request)
    function = CANDIDATE.__dict__.get(asked['name'])
    if function is None:
        return b'x' + json.dumps(['NameError', 'name %r is not defined' % asked['name']]).encode()
    try:
        result = function(*unpack(asked['args'], GIVEN_DEPTH), **unpack(asked['kwargs'], GIVEN_DEPTH))
    except Exception as error:
        # The exact class or a subclass of a builtin: its nearest builtin ancestor tells tests what to expect.
        name = next(base.__name__ for base in type(error).__mro__ if base.__module__ == 'builtins')
        own, message = described(error)
        return b'x' + json.dumps([name, message if own == name else own + ': ' + message]).encode()
    except BaseException as error:
        return final('exit', ': '.join(described(error)))
    sys.setrecursionlimit(LIMIT)
    # A call before may have noted one and been answered for what was beside it.
    Length.beyond = False
    try:
        wire = pack(result)
        if Length.beyond:
            return final('message-limit', '${TOO_LONG}')
        return b'v' + json.dumps(wire).encode()
    except Unfit as error:
        return b'u' + str(error).encode('utf-8', 'replace')

# --- the process that holds the tests ---

def exchange(request):
    "One message to the candidate's process and its reply."
    request = len(request).to_bytes(8, 'little') + request
    while request:
        request = request[os.write(CHANNEL, request):]
    reply, size = b'', int.from_bytes(os.read(CHANNEL, 8), 'little')
    while len(reply) < size:
        reply += os.read(CHANNEL, size - len(reply))
    return reply

class Asked(BaseException):
    "A test has come to where it needs the candidate, which has no part in this run."

class Judged:
    "What happened in the test that runs now."
    def __init__(self, absent=False):
        self.absent = absent
        self.calls = 0
        self.fault = None
        self.raised = None
        self.unsendable = None

NOW = Judged()

def proxy(name):
    def candidate(*args, **kwargs):
        try:
            request = b'C' + json.dumps({'name': name, 'args': pack(list(args), GIVEN_DEPTH), 'kwargs': pack(kwargs, GIVEN_DEPTH)}).encode()
        except Unfit as error:
            NOW.unsendable = str(error)
            raise NotBuiltin(str(error)) from None
        NOW.calls += 1
        if NOW.absent:
            raise Asked()
        reply = exchange(request)
        kind, content = reply[:1], reply[1:]
        if kind == b'v':
            try:
                return unpack(json.loads(content))
            except Exception:
                kind, content = b'u', b'a malformed value'
        if kind == b'x':
            try:
                name_of, message = json.loads(content)
            except Exception:
                name_of, message = 'CandidateError', 'a malformed exception'
            NOW.raised = error = rebuilt(str(name_of), str(message))
            raise error
        if kind == b'u':
            NOW.fault = content[:300].decode('utf-8', 'replace')
            raise NotBuiltin(NOW.fault)
        raise Stop()
    candidate.__name__ = candidate.__qualname__ = name
    return candidate

def rebuilt(name, message):
    "An exception of a builtin type with one message."
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return CandidateError(name + ': ' + message)
    try:
        return kind(message)
    except Exception:
        return kind.__new__(kind)

def names_of(code):
    "All global names that a code object may read, those of its functions too."
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_of(constant)
    return found

def shadowed(tests):
    "The builtin whose name the tests' subject bears, as in assert sum(10, 15) == 6; None where the tests call anything that is no builtin."
    trees = [ast.parse(test) for test in tests]
    called = {node.func.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if not trees or not all(hasattr(builtins, name) for name in called):
        return None
    # Breadth first: the outermost call comes first.
    return next((node.func.id for node in ast.walk(trees[0]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)), None)

class Numpy(types.ModuleType):
    "The little of numpy that the generated tests of MBPP+ use: comparing numbers within a tolerance."
    class ndarray:
        pass
    float32 = float64 = float
    inf, nan, pi = math.inf, math.nan, math.pi
    @staticmethod
    def allclose(left, right, rtol=1e-05, atol=1e-08, equal_nan=False):
        if isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)):
            if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
                return len(left) == len(right) and all(Numpy.allclose(a, b, rtol, atol, equal_nan) for a, b in zip(left, right))
            return False
        if left == right or (equal_nan and left != left and right != right):
            return True
        return math.isfinite(right) and abs(left - right) <= atol + rtol * abs(right)
    isclose = allclose

def imports(source):
    "The import statements at the top of a source, one text each: all of the setup that a candidate sees."
    return [ast.unparse(node) for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]

def judge(request):
    asked = json.loads(request)
    if asked['only'] == 'imports':
        try:
            return json.dumps({'imports': imports(asked['setup'])}).encode()
        except Exception as error:
            return json.dumps({'broken': 'the setup: %s: %s' % described(error)}).encode()
    sys.modules['numpy'] = Numpy('numpy')
    tests = types.ModuleType('tests')
    sys.modules['tests'] = tests
    try:
        setup = compile(asked['setup'], '<setup>', 'exec', dont_inherit=True)
        whole = compile(asked['test'], '<test>', 'exec', dont_inherit=True)
        single = [compile(test, '<test %d>' % (number + 1), 'exec', dont_inherit=True) for number, test in enumerate(asked['tests'])]
    except Exception as error:
        return json.dumps({'broken': '%s: %s' % described(error)}).encode()
    # Names that neither Python nor the tests define are the candidate's.
    asked_for = [name for name in set().union(*map(names_of, [setup, whole, *single])) if not hasattr(builtins, name)]
    subject = asked['entryPoint'] or shadowed(asked['tests'])
    def prepare(space):
        space.update((name, proxy(name)) for name in asked_for)
        exec(setup, space)
    def present(space):
        if subject:
            space[subject] = proxy(subject)
    def script(space):
        exec(whole, space)
        check = space.get('check')
        if isinstance(check, types.FunctionType) and check.__name__ == 'check' and asked['entryPoint']:
            check(space[asked['entryPoint']])
    def fault(error):
        "Why the tests themselves cannot go on; None where they can."
        if NOW.unsendable is not None:
            return 'the tests pass %s to the candidate' % NOW.unsendable
        if NOW.fault is None and error is not NOW.raised and isinstance(error, ImportError):
            return 'the tests need a module that is not here: %s: %s' % described(error)
        return None
    def trial(work, space):
        "What came out of one test, and why that is the fault of the tests."
        try:
            work(space)
        except Stop:
            raise
        except BaseException as error:
            broken = fault(error)
            if NOW.fault is not None:
                return ['not-a-builtin', NOW.fault], broken
            return ['candidate-exception' if error is NOW.raised else 'wrong-answer', '%s: %s' % described(error)], broken
        return (['passed', ''] if NOW.fault is None else ['not-a-builtin', NOW.fault]), None
    def alone(work):
        "Why a test breaks before it asks for any value of the candidate; None where it asks first: what follows is the candidate's."
        space = types.ModuleType('tests').__dict__
        for step in dict.fromkeys((prepare, work)):
            NOW.__init__(absent=True)
            outcome, broken = trial(step, space)
            if NOW.calls > 0:
                return None
            if broken is not None:
                return broken
            if step is prepare:
                present(space)
        return None
    space = tests.__dict__
    outcomes, asked_before = [], 0
    try:
        NOW.__init__()
        outcome, broken = trial(prepare, space)
        asked_before = NOW.calls
        if broken is None and outcome[0] != 'passed' and NOW.calls == 0:
            broken = 'the setup fails by itself'
        elif broken is not None and NOW.calls > 0:
            broken = alone(prepare)
        present(space)
        work = [lambda space, code=code: exec(code, space) for code in single]
        if asked['test'].strip():
            work.append(script)
        for item in work:
            if broken is not None:
                break
            NOW.__init__()
            outcome, broken = trial(item, space)
            asked_before += NOW.calls
            if broken is not None and asked_before > 0:
                broken = alone(item)
            outcomes.append(outcome)
            if asked['strict'] and outcome[0] != 'passed':
                break
    except Stop:
        return json.dumps({'stopped': True}).encode()
    if broken is not None:
        return json.dumps({'broken': broken}).encode()
    return json.dumps({'outcomes': outcomes}).encode()

${FUNCTIONS_HARNESS}
WORK = {b'L': load, b'C': call, b'J': judge, b'N': inspect_functions}

def handle(request):
    return WORK[request[:1]](request[1:])
`;
