/** Programs whose values or exceptions are more than exact builtins, with the score that each deserves. */

interface Judged {
  readonly code: string;
  readonly tests: readonly string[];
  readonly setup?: string;
}

const STOPS = 'def f(x): raise StopIteration';
const CLASSES = {
  stack:
    'class Stack:\n  def __init__(self): self.items = []\n  def push(self, x): self.items.append(x); return self\n  def pop(self): return self.items.pop()\n  def __len__(self): return len(self.items)\n  def __iter__(self): return iter(self.items)\n  def __getitem__(self, i): return self.items[i]\n  def __eq__(self, other): return self.items == other.items',
  vector:
    'class V:\n  def __init__(s, x): s.x = x\n  def __add__(s, o): return V(s.x + o.x)\n  def __mul__(s, k): return V(s.x * k)\n  __rmul__ = __mul__\n  def __eq__(s, o): return s.x == o.x\n  def __lt__(s, o): return s.x < o.x\n  def __hash__(s): return hash(s.x)\n  def __repr__(s): return "V(%d)" % s.x',
} as const;

/** Each solves its problem. */
export const HONEST: Readonly<Record<string, Judged>> = {
  'is called by map': { code: 'def f(x): return x * x', tests: ['assert list(map(f, [1, 2])) == [1, 4]'] },
  'bears the name of a builtin': { code: 'def sum(a, b): return a + b + 1', tests: ['assert sum(10, 15) == 26'] },
  'bears the name of a builtin beside an import': {
    code: 'def sum(a, b): return a + b + 1',
    setup: 'import math',
    tests: ['assert math.isclose(sum(1, 2), 4)'],
  },
  'raises what a handler expects': {
    code: STOPS,
    tests: [
      'try:\n    f(1)\n    assert False\nexcept StopIteration: pass',
      'try:\n    list(f(x) for x in [1])\n    assert False\nexcept RuntimeError: pass',
      'import unittest\nt = unittest.TestCase()\nt.assertRaises(StopIteration, f, 1)\nwith t.assertRaises(StopIteration): f(2)',
      'import contextlib\nwith contextlib.suppress(StopIteration): f(2)',
    ],
  },
  'gives a Counter': {
    code: 'from collections import Counter\ndef f(s): return Counter(s)',
    tests: [
      'assert f("aab") == {"a": 2, "b": 1}',
      'from collections import Counter\nassert f("aab") == Counter("aba") and f("aab").most_common(1) == [("a", 2)]',
    ],
  },
  'gives a defaultdict': {
    code: 'from collections import defaultdict\ndef f(s):\n  d = defaultdict(list)\n  d[s].append(1)\n  return d',
    tests: ['assert f("a") == {"a": [1]}', 'assert f("a")["z"] == []'],
  },
  'gives an OrderedDict': {
    code: 'from collections import OrderedDict\ndef f(): return OrderedDict(a=1, b=2)',
    tests: [
      'from collections import OrderedDict\nassert f() == OrderedDict(a=1, b=2) and f() != OrderedDict(b=2, a=1)',
    ],
  },
  'gives a deque': {
    code: 'from collections import deque\ndef f(): return deque([1, 2], 3)',
    tests: ['from collections import deque\nassert f() == deque([1, 2]) and f().maxlen == 3 and list(f()) == [1, 2]'],
  },
  'gives exact numbers': {
    code: 'from fractions import Fraction\nfrom decimal import Decimal\ndef f(): return [Fraction(1, 2), Decimal("1.50")]',
    tests: ['assert f()[0] == 0.5 and str(f()[1]) == "1.50"'],
  },
  'gives dates': {
    code: 'from datetime import *\ndef f(): return date(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5, 6, timezone.utc), timedelta(1, 2, 3), time(4, 5)',
    tests: [
      'import datetime\nassert f()[0] == datetime.date(2020, 1, 2) and f()[1].isoformat() == "2020-01-02T03:04:05.000006+00:00" and f()[2].days == 1 and f()[3].hour == 4',
    ],
  },
  'gives ranges and views': {
    code: 'def f(): return range(1, 9, 2), {1: 2}.keys(), {1: 2}.items(), {1: 2}.values()',
    tests: ['r, k, i, v = f()\nassert list(r) == [1, 3, 5, 7] and k == {1} and set(i) == {(1, 2)} and list(v) == [2]'],
  },
  'gives a named tuple': {
    code: 'from collections import namedtuple\nP = namedtuple("P", "x y")\ndef f(): return P(1, 2)',
    tests: ['assert f() == (1, 2) and f().x == 1 and f()._asdict() == {"x": 1, "y": 2}'],
  },
  'gives a generator': {
    code: 'def f(n):\n  for i in range(n): yield i * i',
    tests: [
      'assert list(f(3)) == [0, 1, 4] and sum(f(3)) == 5 and next(f(3)) == 0',
      'import types\nassert isinstance(f(2), types.GeneratorType)',
    ],
  },
  'gives an iterator': {
    code: 'def f(xs): return map(str, xs)',
    tests: ['assert list(f([1, 2])) == ["1", "2"] and "".join(f([3, 4])) == "34"'],
  },
  'gives a function': { code: 'def f(n): return lambda x: x + n', tests: ['assert f(2)(3) == 5'] },
  'is a class Solution': {
    code: 'class Solution:\n  def two(self, nums, t): return [nums.index(1), t]',
    tests: ['assert Solution().two([2, 1], 3) == [1, 3]'],
  },
  'is a class of its own': {
    code: CLASSES.stack,
    tests: [
      's = Stack()\ns.push(1).push(2)\nassert len(s) == 2 and s.pop() == 2 and s.items == [1] and list(s) == [1] and 1 in s and 2 not in s and s[0] == 1\nt = Stack()\nt.push(1)\nassert s == t and not s != t and isinstance(s, Stack) and s.push is not None\nfor x in s: assert x == 1',
      'import unittest\nunittest.TestCase().assertRaises(IndexError, Stack().pop)',
    ],
  },
  'computes among its own': {
    code: CLASSES.vector,
    tests: [
      'assert V(1) + V(2) == V(3) and V(2) * 3 == V(6) and 3 * V(2) == V(6) and V(1) < V(2)',
      'assert [x.x for x in sorted([V(3), V(1)])] == [1, 3] and len({V(1), V(1)}) == 1 and str([V(1)]) == "[V(1)]"',
    ],
  },
  'asks a class of its own by a name that texts have too': {
    code: 'class Trie:\n  def __init__(self): self.w = []\n  def insert(self, x): self.w.append(x)\n  def startswith(self, p): return any(w.startswith(p) for w in self.w)',
    tests: ['t = Trie()\nt.insert("apple")\nassert t.startswith("app") and not t.startswith("b")'],
  },
  'takes its own problems': {
    code: 'class Node:\n  def __init__(s, v): s.v = v; s.next = None\ndef f(node):\n  out = []\n  while node: out.append(node.v); node = node.next\n  return out',
    tests: ['a = Node(1)\na.next = Node(2)\nassert f(a) == [1, 2] and a.next is a.next'],
  },
  'gives members of enumerations': {
    code: 'import enum\nclass C(enum.IntEnum):\n  A = 4\ndef f(): return C.A',
    tests: ['assert f() == 4 and f() + 1 == 5 and f().name == "A" and f() in {4: 1}'],
  },
  'derives from a builtin': {
    code: 'class S(list):\n  def peek(self): return self[-1]\ndef f(): return S([1, 2])',
    tests: ['assert f() == [1, 2] and [f()] == [[1, 2]] and f().peek() == 2 and sorted(f()) == [1, 2]'],
  },
};

const problem = (body: string, base = ''): string => `class E${base}:\n${body}\ndef f(x): return E()`;
const ALWAYS = '  def __eq__(s, o): return True\n  def __ne__(s, o): return False\n  def __hash__(s): return 4';

/** None solves its problem. */
export const DISHONEST: Readonly<Record<string, Judged>> = {
  'ends all over map': { code: STOPS, tests: ['assert all(map(lambda x: f(x) == x * x, [2, 3, 4]))'] },
  'ends any over map': { code: STOPS, tests: ['assert not any(map(lambda x: f(x) != x * x, [2, 3]))'] },
  'ends a filter': { code: STOPS, tests: ['assert not list(filter(lambda x: f(x) != x * x, [2, 3]))'] },
  'ends iter': { code: STOPS, tests: ['assert all(value == 1 for value in iter(lambda: f(1), 2))'] },
  'ends a sequence': {
    code: 'def f(x): raise IndexError',
    tests: ['class S:\n    def __getitem__(self, i): return f(i)\nassert all(value == 1 for value in S())'],
  },
  'hides an attribute': {
    code: 'def f(x): raise AttributeError',
    tests: ['class S:\n    @property\n    def bad(self): return f(1) != 1\nassert not getattr(S(), "bad", False)'],
  },
  'ends the setup': {
    code: STOPS,
    setup: 'FOUND = list(map(f, [1, 2]))',
    tests: ['assert all(a == b for a, b in zip(FOUND, [1, 4]))'],
  },
  'fails in the midst of a generator': {
    code: 'def f(n):\n  yield 0\n  raise ValueError',
    tests: ['assert all(x == 0 for x in f(3))'],
  },
  'equals everything': { code: problem(ALWAYS), tests: ['assert f(2) == 4'] },
  'is a class that equals everything': {
    code: `class f:\n  def __init__(s, x): pass\n${ALWAYS}`,
    tests: ['assert f(2) == 4'],
  },
  'is an integer that equals everything': { code: problem(ALWAYS, '(int)'), tests: ['assert f(2) in {4: 1}'] },
  'contains everything': { code: problem('  def __contains__(s, o): return True'), tests: ['assert 4 in f(2)'] },
  'has no distance from anything': {
    code: problem('  def __sub__(s, o): return 0\n  def __abs__(s): return 0'),
    tests: ['assert abs(f(2) - 4) < 1e-9'],
  },
  'is an integer without distance': {
    code: problem(
      '  def __sub__(s, o): return 0\n  def __abs__(s): return 0\n  def __lt__(s, o): return True',
      '(int)',
    ),
    tests: ['assert abs(f(2) - 4) < 1e-9'],
  },
  'is nothing once it was told': {
    code: problem('  def __sub__(s, o): return s\n  def __bool__(s): return False'),
    tests: ['assert not (f(2) - 4)'],
  },
  'is less than everything': { code: problem('  def __lt__(s, o): return True'), tests: ['assert f(2) < 4'] },
  'begins with everything': {
    code: problem('  def startswith(s, p): return True'),
    tests: ['assert f(2).startswith("ab")'],
  },
  'is a text that begins with everything': {
    code: problem('  def startswith(s, p): return True', '(str)'),
    tests: ['assert f(2).startswith("ab")'],
  },
  'is a set above everything': {
    code: problem('  def issuperset(s, p): return True', '(set)'),
    tests: ['assert f(2).issuperset({1})'],
  },
  'is a named tuple that equals everything': {
    code: `from collections import namedtuple\nclass E(namedtuple("E", "x")):\n${ALWAYS}\ndef f(x): return E(1)`,
    tests: ['assert f(2) == (4,)'],
  },
  'never ends': { code: 'import itertools\ndef f(x): return itertools.repeat(1)', tests: ['assert list(f(2)) == [1]'] },
  'holds itself': { code: 'made = []\nmade.append(made)\ndef f(x): return made', tests: ['f(1)'] },
};
