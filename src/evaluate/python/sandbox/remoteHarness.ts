/**
 * The Python that represents the candidate in the tests' process: its names, and the values that stay
 * in its process; part of the harness (harness.ts).
 *
 * A candidate computes every result that is asked of an instance of it, but no operator passes it a
 * value of the tests. Equality with a value of the tests is false, `in` goes through the items here,
 * and arithmetic and order with such a value are refused, unless the instance derives from a builtin;
 * then its plain content is used. So no instance can claim to equal the expected value. Instances are
 * compared with and added to each other by their own class.
 */
export const REMOTE_HARNESS = String.raw`
# --- the candidate, seen from the tests ---

def exchange(request):
    "One message to the candidate's process and its reply."
    request = len(request).to_bytes(8, 'little') + request
    while request:
        request = request[os.write(CHANNEL, request):]
    reply, size = b'', int.from_bytes(os.read(CHANNEL, 8), 'little')
    while len(reply) < size:
        reply += os.read(CHANNEL, size - len(reply))
    return reply

class Stop(BaseException):
    "The candidate has come to its end: no test can go on."

class Unheld(BaseException):
    "What has no wire form, or asks an instance for a verdict; tests cannot catch this as an Exception."

class CandidateError(Exception):
    "An exception of the candidate's own type."

class Asked(BaseException):
    "A test has come to where it needs the candidate, which has no part in this run."

class Judged:
    "What happened in the test that runs now."
    def __init__(self, absent=False):
        self.absent = absent
        self.calls = 0
        self.fault = None
        self.raised = None
        # Exceptions of the candidate that no handler of the tests has met, by their ids.
        self.open = {}
        self.unsendable = None

NOW = Judged()
# The names of other processes that a candidate calls itself: to it, what cannot be is an error.
LENT = []

def refuse(why):
    if LENT:
        raise TypeError(why)
    NOW.fault = why
    raise Unheld(why)

def sent(value):
    "The wire form of what does not cross: the candidate's own."
    if isinstance(value, Instance):
        return value._c3_wire
    raise Unfit('a value of type %s' % str(type(value).__name__)[:100])

ORDERS = 'lt', 'le', 'gt', 'ge'
ARITHMETIC = 'add', 'sub', 'mul', 'truediv', 'floordiv', 'mod', 'pow', 'matmul', 'lshift', 'rshift', 'xor', 'and_', 'or_'
# What may be asked of an instance that was handed a value of the tests.
OPERATORS = {'eq', 'is_a', *ORDERS, *ARITHMETIC, *('r' + name for name in ARITHMETIC)}

# What ends a protocol of Python and is no failure.
EXPECTED = {'next': StopIteration, 'getattr': AttributeError, 'len': TypeError}

def ask(what, *args, **kwargs):
    "What the candidate's process gives for a function of DOES."
    if args[0]._c3_told and what not in OPERATORS:
        refuse('what an instance says of a value of the tests')
    try:
        request = b'C' + json.dumps({'do': what, 'args': pack(list(args), sent, GIVEN_DEPTH), 'kwargs': pack(kwargs, sent, GIVEN_DEPTH)}).encode()
    except Unfit as error:
        NOW.unsendable = str(error)
        raise (TypeError if LENT else Unheld)(str(error)) from None
    NOW.calls += 1
    if NOW.absent:
        raise Asked()
    reply = exchange(request)
    kind, content = reply[:1], reply[1:]
    if kind == b'v':
        try:
            return unpack(json.loads(content), received)
        except Exception:
            kind, content = b'u', b'a malformed value'
    if kind == b'x':
        try:
            name_of, message = json.loads(content)
        except Exception:
            name_of, message = 'CandidateError', 'a malformed exception'
        error = rebuilt(str(name_of), str(message))
        if not isinstance(error, EXPECTED.get(what, ())):
            NOW.raised = NOW.open[id(error)] = error
        raise error
    if kind == b'u':
        refuse(content[:300].decode('utf-8', 'replace'))
    raise Stop()

def rebuilt(name, message):
    "An exception of a builtin type with one message."
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return CandidateError(name + ': ' + message)
    try:
        return kind(message)
    except Exception:
        return kind.__new__(kind)

# Methods of builtins that say yes to a value which they are handed.
JUDGES = {name: kind for kind in (str, set) for name in ('startswith', 'endswith', 'issubset', 'issuperset', 'isdisjoint') if hasattr(kind, name)}

class Instance:
    "What stays in the candidate's process."
    __slots__ = '_c3_wire', '_c3_told', '_c3_names'

    def __getattr__(self, name):
        self._c3_names.add(name)
        # Unless the tests use it as no builtin can be used: then it is a class of its own that they test.
        if name in JUDGES and self._c3_names <= set(dir(JUDGES[name])):
            if isinstance(self, Derived):
                return getattr(plain_of(self), name)
            refuse('an instance that judges by %s' % name)
        return ask('getattr', self, name)
    def __setattr__(self, name, value):
        ask('setattr', self, name, value)
    def __delattr__(self, name):
        ask('delattr', self, name)
    def __call__(self, *args, **kwargs):
        return ask('call', self, *args, **kwargs)
    def __instancecheck__(self, value):
        return isinstance(value, Instance) and ask('is_a', value, self) is True
    def __enter__(self):
        return ask('call', ask('getattr', self, '__enter__'))
    def __exit__(self, kind, error, trace):
        ask('call', ask('getattr', self, '__exit__'), None, None, None)
    def __iter__(self):
        found = ask('iter', self)
        if not isinstance(found, Iterator):
            raise TypeError('iter() returned no iterator')
        return found
    def __contains__(self, value):
        return any(item is value or item == value for item in self)
    def __len__(self):
        return exactly(int, ask('len', self))
    def __bool__(self):
        return ask('bool', self) is True
    def __str__(self):
        return exactly(str, ask('str', self))
    def __repr__(self):
        return exactly(str, ask('repr', self))
    def __hash__(self):
        return exactly(int, ask('hash', self))
    def __getitem__(self, key):
        return ask('getitem', self, key)
    def __setitem__(self, key, value):
        ask('setitem', self, key, value)
    def __delitem__(self, key):
        ask('delitem', self, key)
    def __eq__(self, other):
        if isinstance(other, Instance):
            return other is self or ask('eq', self, other) is True
        return plain_of(self) == other if isinstance(self, Derived) else False
    def __ne__(self, other):
        return not self == other

class Iterator(Instance):
    __slots__ = ()
    def __iter__(self):
        return self
    def __next__(self):
        return ask('next', self)

class Generator(Iterator):
    __slots__ = ()
    __class__ = property(lambda self: types.GeneratorType)

class Derived(Instance):
    "An instance of a class that derives from a builtin."
    __slots__ = ()
    def __hash__(self):
        return hash(plain_of(self))
    def __int__(self):
        return int(plain_of(self))
    def __float__(self):
        return float(plain_of(self))
    def __index__(self):
        return operator.index(plain_of(self))
    def __round__(self, *digits):
        return round(plain_of(self), *digits)
    def __abs__(self):
        return abs(plain_of(self))
    def __neg__(self):
        return -plain_of(self)

def plain_of(value):
    if isinstance(value, Derived):
        return ask('plain', value)
    if isinstance(value, Instance):
        raise TypeError('an instance of the candidate and a value of the tests')
    return value

def operate(name, left, right):
    "Two instances by their own class; with a value of the tests the plain content, or what must be an instance again."
    own = isinstance(left, Instance) and isinstance(right, Instance)
    if not own and (isinstance(left, Derived) or isinstance(right, Derived) or name in ORDERS):
        return getattr(operator, name)(plain_of(left), plain_of(right))
    found = ask(name, left, right) if isinstance(left, Instance) else ask('r' + name, right, left)
    if not own or left._c3_told or right._c3_told:
        if name not in ORDERS and not isinstance(found, Instance):
            refuse('what an instance says of a value of the tests')
        if isinstance(found, Instance):
            object.__setattr__(found, '_c3_told', True)
    return found

def define(name, method):
    setattr(Instance, '__%s__' % method, lambda self, other: operate(name, self, other))
    if name not in ORDERS:
        setattr(Instance, '__r%s__' % method, lambda self, other: operate(name, other, self))
for name in (*ORDERS, *ARITHMETIC):
    define(name, name.rstrip('_'))

SORTS = {'instance': Instance, 'iterator': Iterator, 'generator': Generator, 'derived': Derived}

@functools.lru_cache(maxsize=None)
def stand_in(sort, *wire):
    "One for each value that stays in the candidate's process: what is the same there is the same here."
    found = object.__new__(SORTS[sort])
    for name, value in (('_c3_wire', list(wire)), ('_c3_told', False), ('_c3_names', set())):
        object.__setattr__(found, name, value)
    return found

def received(wire):
    tag, number, sort = wire
    return stand_in(exactly(str, sort), tag, exactly(int, number))

def named(name):
    "What the candidate calls by a name."
    return stand_in('instance', 'g', name)

# --- exceptions that the tests must meet ---

def handled(error=None):
    "Notes that the tests have met an exception, and so those that led to it."
    left, seen = [error or sys.exc_info()[1]], set()
    while left:
        error = left.pop()
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            NOW.open.pop(id(error), None)
            left += [error.__cause__, error.__context__, *getattr(error, 'exceptions', ())]

class Context:
    "A context manager of the tests: what it stops, they have met."
    def __init__(self, manager):
        self.manager = manager
    def __enter__(self):
        return type(self.manager).__enter__(self.manager)
    def __exit__(self, kind, error, trace):
        stopped = type(self.manager).__exit__(self.manager, kind, error, trace)
        if stopped:
            handled(error)
        return stopped

# Tests also hand it a function to call.
def met(leave):
    def __exit__(self, kind, error, trace):
        stopped = leave(self, kind, error, trace)
        if stopped:
            handled(error)
        return stopped
    return __exit__
unittest.case._AssertRaisesContext.__exit__ = met(unittest.case._AssertRaisesContext.__exit__)

class Watch(ast.NodeTransformer):
    "Handlers and context managers that say what they met: Python's own map, filter, any, all and list stop some exceptions unseen."
    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(ast.Call(ast.Name('_c3_handled', ast.Load()), [], [])))
        return node
    def visit_With(self, node):
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = ast.Call(ast.Name('_c3_context', ast.Load()), [item.context_expr], [])
        return node

def watched(source, name):
    "The code of a test."
    tree = ast.parse(source, name)
    if re.search(r'\b(except|with)\b', source):
        tree = ast.fix_missing_locations(Watch().visit(tree))
    return compile(tree, name, 'exec', dont_inherit=True)
`;
