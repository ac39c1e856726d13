/**
 * The Python that runs inside a sandbox beside the untrusted code, and the messages that it
 * understands.
 *
 * `handle(request)` takes and returns bytes. Requests begin with a letter: `L` loads a candidate
 * (`{code, imports, longest, helper}`, where `helper` is the helper's name if it is in another
 * process), `C` makes a call to the candidate (`{do, args, kwargs}`, where `do` is a function of DOES),
 * `N` examines how two functions are written, `J` runs tests against a candidate in another process.
 * Replies of a candidate begin with `v` (a value, in the form of wireHarness.ts), `x` (an exception:
 * type and message), `u` (a value without a wire form) or `f` (final: rule and detail).
 */

import { FUNCTIONS_HARNESS } from './functionsHarness.ts';
import { REMOTE_HARNESS } from './remoteHarness.ts';
import { WIRE_HARNESS } from './wireHarness.ts';

export const HARNESS_MODULE = 'c3_harness';

/** The detail for a value above the limit of a message. */
export const TOO_LONG = 'returned more than a message may hold';

/**
 * File descriptors that the sandbox answers itself. CHANNEL connects the tests with the candidate's
 * process. The other one moves the clock when a program sleeps.
 */
export const CHANNEL = 1000;
export const CLOCK = 1001;

export const HARNESS = String.raw`
import ast, builtins, json, math, os, struct, sys, time, types
# Imported once, so that a fresh interpreter has them at hand.
import bisect, cmath, collections, collections.abc, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq
import itertools, operator, random, re, statistics, string, textwrap, traceback, typing, unittest

CHANNEL, CLOCK = ${String(CHANNEL)}, ${String(CLOCK)}
LIMIT = sys.getrecursionlimit()

def sleep(seconds, /):
    "Moves the clock on; nobody waits."
    if not seconds >= 0:
        raise ValueError('sleep length must be non-negative')
    os.write(CLOCK, struct.pack('<d', min(seconds, 1e9)))

time.sleep = sleep
${WIRE_HARNESS}
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
    if 'helper' in source:
        LENT.append(source['helper'])
        CANDIDATE.__dict__[source['helper']] = named(source['helper'])
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

# What stays here, by its number.
HELD, NUMBERS = [], {}
BUILTINS = {int: int.__pos__, float: float.__pos__, complex: complex.__pos__, str: str.__str__, bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytearray.__getitem__(value, slice(None)), tuple: lambda value: tuple(tuple.__iter__(value)), list: lambda value: list(list.__iter__(value)),
    set: lambda value: set(set.__iter__(value)), frozenset: lambda value: frozenset(frozenset.__iter__(value)), dict: lambda value: dict(dict.items(value))}

def sort_of(kind):
    if kind is types.GeneratorType:
        return 'generator'
    if hasattr(kind, '__next__'):
        return 'iterator'
    return 'derived' if issubclass(kind, tuple(BUILTINS)) else 'instance'

def held(value):
    "The wire form of what does not cross: the tests get a number for it."
    number = NUMBERS.setdefault(id(value), len(HELD))
    if number == len(HELD):
        HELD.append(value)
    return ['o', number, sort_of(type(value))]

def plain(value):
    "What a value is as the builtin from which its class derives."
    return next(of(value) for kind, of in BUILTINS.items() if issubclass(type(value), kind))

def own_value(wire):
    if wire[0] == 'o':
        return HELD[wire[1]]
    if wire[1] not in CANDIDATE.__dict__:
        raise NameError('name %r is not defined' % wire[1])
    return CANDIDATE.__dict__[wire[1]]

def call(request):
    asked = json.loads(request)
    try:
        args, kwargs = unpack(asked['args'], own_value, GIVEN_DEPTH), unpack(asked['kwargs'], own_value, GIVEN_DEPTH)
        result = DOES[asked['do']](*args, **kwargs)
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
        wire = pack(result, held)
        if Length.beyond:
            return final('message-limit', '${TOO_LONG}')
        return b'v' + json.dumps(wire).encode()
    except Unfit as error:
        return b'u' + str(error).encode('utf-8', 'replace')

# --- the process that holds the tests ---

${REMOTE_HARNESS}
# What the candidate's process does for the tests' process.
DOES = {
    **{name: getattr(builtins, name) for name in ('getattr', 'setattr', 'delattr', 'iter', 'next', 'len', 'str', 'repr', 'bool', 'hash')},
    **{name: getattr(operator, name) for name in ('getitem', 'setitem', 'delitem', 'eq', *ORDERS, *ARITHMETIC)},
    **{'r' + name: lambda right, left, of=getattr(operator, name): of(left, right) for name in ARITHMETIC},
    'call': lambda function, /, *args, **kwargs: function(*args, **kwargs),
    'plain': plain,
    'is_a': lambda value, kind: kind in type(value).__mro__,
}

def names_of(code):
    "All global names that a code object may read, those of its functions too."
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_of(constant)
    return found

def shadowed(setup, tests):
    "The builtin whose name the tests' subject bears, as in assert sum(10, 15) == 6; None where the tests name anything that neither they nor Python define."
    trees = [ast.parse(test) for test in (setup, *tests)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)} | {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    stored |= {(node.asname or node.name).split('.')[0] for node in nodes if isinstance(node, ast.alias)}
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    if not tests or not all(hasattr(builtins, name) for name in read - stored):
        return None
    # Breadth first: the outermost call comes first.
    return next((node.func.id for node in ast.walk(trees[1]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)), None)

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
        setup = watched(asked['setup'], '<setup>')
        whole = watched(asked['test'], '<test>')
        single = [watched(test, '<test %d>' % (number + 1)) for number, test in enumerate(asked['tests'])]
    except Exception as error:
        return json.dumps({'broken': '%s: %s' % described(error)}).encode()
    # Names that neither Python nor the tests define are the candidate's.
    asked_for = [name for name in set().union(*map(names_of, [setup, whole, *single])) if not hasattr(builtins, name)]
    subject = asked['entryPoint'] or shadowed(asked['setup'], asked['tests'])
    def prepare(space):
        space.update((name, named(name)) for name in asked_for)
        space.update(_c3_handled=handled, _c3_context=Context)
        exec(setup, space)
    def present(space):
        if subject:
            space[subject] = named(subject)
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
        if NOW.fault is not None:
            return ['not-a-builtin', NOW.fault], None
        if NOW.open:
            # A builtin took the exception for an end.
            return ['candidate-exception', '%s: %s' % described(next(iter(NOW.open.values())))], None
        return ['passed', ''], None
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
        # What goes wrong for the candidate in the setup goes wrong for each test.
        failed = outcome if broken is None and outcome[0] != 'passed' else None
        present(space)
        work = [lambda space, code=code: exec(code, space) for code in single]
        if asked['test'].strip():
            work.append(script)
        for item in work:
            if broken is not None:
                break
            NOW.__init__()
            outcome, broken = trial(item, space) if failed is None else (failed, None)
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
