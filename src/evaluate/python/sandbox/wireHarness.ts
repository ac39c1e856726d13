/**
 * The Python that converts values to a wire form and back; part of the harness (harness.ts).
 *
 * The wire form is JSON. None, True, False, strings, finite floats and integers below 2^63 represent
 * themselves. Everything else is `[tag, content]`: u string with surrogates, i integer in hexadecimal,
 * f NaN or an infinity, c complex, b bytes, a bytearray, l list, t tuple, s set, z frozenset, d dict as
 * a list of keys and a list of values, n named tuple (its name, its fields, its items). The containers
 * and numbers of the standard library have the names of their types as tags, and builtins as contents.
 * Only exact types are packed by value, never their subclasses, and unpacking creates only exact types,
 * whatever the other side sent.
 *
 * All other values of a candidate stay in its process, which stores them under a number:
 * `['o', number, sort]`. `['g', name]` is the candidate's value of a name.
 */
export const WIRE_HARNESS = String.raw`
# --- values on the wire ---

DEPTH = 100
# Deeper than what a candidate may return: its own values can always be given back to it.
GIVEN_DEPTH = DEPTH + 10
SMALL = 1 << 63
SURROGATE = re.compile('[\ud800-\udfff]')

class Length:
    "The longest text of a reply. A longer one ends the run; writing it out first could take more than a run has."
    most, beyond = math.inf, False

class Unfit(Exception):
    "A value without a wire form."

TAGS = {list: 'l', tuple: 't', set: 's', frozenset: 'z'}
KINDS = {'l': list, 't': tuple, 's': set, 'z': frozenset}
KEYS, ITEMS = type({}.keys()), type({}.items())
FACTORIES = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)}
# Each with its tag, what it is made of, and how it is made again of content of that type.
STANDARD = {
    collections.Counter: ('Counter', dict, dict, collections.Counter),
    collections.OrderedDict: ('OrderedDict', dict, dict, collections.OrderedDict),
    collections.defaultdict: ('defaultdict', tuple, lambda value: (getattr(value.default_factory, '__name__', None) if value.default_factory in FACTORIES.values() else None, dict(value)),
        lambda content: collections.defaultdict(FACTORIES.get(content[0]), exactly(dict, content[1]))),
    collections.deque: ('deque', tuple, lambda value: (list(value), value.maxlen), lambda content: collections.deque(exactly(list, content[0]), content[1])),
    fractions.Fraction: ('Fraction', tuple, lambda value: (value.numerator, value.denominator), lambda content: fractions.Fraction(*content)),
    decimal.Decimal: ('Decimal', str, str, decimal.Decimal),
    datetime.date: ('date', str, datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: ('time', str, datetime.time.isoformat, datetime.time.fromisoformat),
    datetime.datetime: ('datetime', str, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.timedelta: ('timedelta', tuple, lambda value: (value.days, value.seconds, value.microseconds), lambda content: datetime.timedelta(*content)),
    range: ('range', tuple, lambda value: (value.start, value.stop, value.step), lambda content: range(*content)),
    KEYS: ('keys', list, list, lambda content: dict.fromkeys(content).keys()),
    ITEMS: ('items', list, list, lambda content: dict(content).items()),
}
MADE = {tag: (kind, make) for tag, kind, _, make in STANDARD.values()}

def exactly(kind, value):
    if type(value) is not kind:
        raise ValueError('no wire form')
    return value

@functools.lru_cache(maxsize=256)
def named_tuple(name, fields):
    return collections.namedtuple(name, fields)

USUAL = set(vars(collections.namedtuple('Usual', ''))) | {'__annotate_func__', '__annotate__'}

def fields_of(kind):
    "The fields of a named tuple that has no method of its own; None of any other type."
    own = vars(kind)
    fields = own.get('_fields')
    if kind.__bases__ != (tuple,) or type(kind) is not type or type(fields) is not tuple or not all(type(field) is str for field in fields):
        return None
    more = [item for name, item in own.items() if name not in USUAL and name not in fields]
    return None if any(callable(item) or hasattr(item, '__get__') for item in more) else fields

def pack(value, refer, depth=DEPTH):
    "The wire form of a value. @param refer gives that of what does not cross"
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
        return ['c', [pack(value.real, refer), pack(value.imag, refer)]]
    if kind is bytes or kind is bytearray:
        return ['b' if kind is bytes else 'a', value.hex()]
    if depth == 0:
        raise Unfit('a value nested more than %d deep' % DEPTH)
    depth -= 1
    tag = TAGS.get(kind)
    if tag is not None:
        return [tag, [pack(item, refer, depth) for item in value]]
    if kind is dict:
        return ['d', [pack(key, refer, depth) for key in value], [pack(item, refer, depth) for item in value.values()]]
    if kind in STANDARD:
        tag, _, content, _ = STANDARD[kind]
        return [tag, pack(content(value), refer, depth)]
    if issubclass(kind, tuple):
        fields = fields_of(kind)
        if fields is not None:
            return ['n', kind.__name__, list(fields), [pack(item, refer, depth) for item in tuple.__iter__(value)]]
    return refer(value)

def unpack(wire, resolve, depth=DEPTH):
    "The value of a wire form; what pack could not have made is refused with an Exception. @param resolve finds what did not cross"
    if type(wire) is not list:
        # The one other thing that JSON has.
        if type(wire) is dict:
            raise ValueError('no wire form')
        return wire
    tag, content = wire[0], wire[1]
    if tag == 'u':
        return bytes.fromhex(content).decode('utf-8', 'surrogatepass')
    if tag == 'i':
        return int(content, 16)
    if tag == 'f':
        return float(content)
    if tag == 'c':
        real, imaginary = content
        return complex(unpack(real, resolve, 0), unpack(imaginary, resolve, 0))
    if tag == 'b':
        return bytes.fromhex(content)
    if tag == 'a':
        return bytearray.fromhex(content)
    if tag == 'o' or tag == 'g':
        return resolve(wire)
    if depth == 0:
        raise ValueError('nested too deep')
    depth -= 1
    kind = KINDS.get(tag)
    if kind is not None:
        return kind([unpack(item, resolve, depth) for item in content])
    if tag == 'd':
        return dict(zip([unpack(key, resolve, depth) for key in content], [unpack(item, resolve, depth) for item in wire[2]], strict=True))
    if tag == 'n':
        return named_tuple(exactly(str, content), tuple(wire[2]))(*[unpack(item, resolve, depth) for item in wire[3]])
    kind, make = MADE[tag]
    return make(exactly(kind, unpack(content, resolve, depth)))

def described(error):
    "Type and message of an exception, whatever its class does."
    try:
        message = str(error)
    except BaseException:
        message = ''
    return str(type(error).__name__)[:100], message[:300]
`;
