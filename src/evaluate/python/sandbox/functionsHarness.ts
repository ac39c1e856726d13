/**
 * The Python that examines how a helper and a main function are written; part of the harness
 * (harness.ts). It parses and never executes. `N` asks about `{joined, helper, main, helperName,
 * entryPoint}`.
 */
export const FUNCTIONS_HARNESS = String.raw`
# --- two functions of a program ---

# Of newer Pythons only, where the user's own runs this.
MATCH, TRY_STAR = getattr(ast, 'Match', ()), getattr(ast, 'TryStar', ast.Try)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

def own(node):
    "The nodes of a function, without those of functions and classes within it."
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from own(child)

def function_named(tree, name):
    "The definition that holds after the tree was executed: the last at its top."
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name]
    return found[-1] if found else None

def returns_value(source, name):
    "Whether a function gives back a value; None where it cannot be parsed."
    try:
        function = function_named(ast.parse(source), name)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return function is not None and any(isinstance(node, ast.Return) and node.value is not None for node in own(function))

def body_of(function):
    "The statements without the docstring."
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return function.body[1:] if is_docstring else function.body

def is_call(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name

def contains_call(node, name):
    return any(is_call(child, name) for child in ast.walk(node))

def is_wrapper(function, name):
    "Whether a function does no more than hand on what the helper gives, or nothing at all."
    body = [node for node in body_of(function) if not isinstance(node, ast.Pass)]
    if not body:
        return True
    if len(body) == 1:
        return isinstance(body[0], ast.Return) and body[0].value is not None and is_call(body[0].value, name)
    first, last = body[0], body[-1]
    if len(body) != 2 or not isinstance(first, (ast.Assign, ast.AnnAssign)) or not isinstance(last, ast.Return):
        return False
    targets = first.targets if isinstance(first, ast.Assign) else [first.target]
    return (first.value is not None and is_call(first.value, name) and len(targets) == 1 and isinstance(targets[0], ast.Name)
        and isinstance(last.value, ast.Name) and last.value.id == targets[0].id)

class Flow:
    "Names whose values still matter, backwards through a function; a call of the helper is used where its value matters."
    def __init__(self, name, shared):
        self.name, self.shared, self.used = name, shared, False

    def reads(self, *nodes):
        "The names that expressions read; their calls of the helper are used."
        found = set()
        for node in nodes:
            if node is None:
                continue
            self.used = self.used or contains_call(node, self.name)
            found |= {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Store)}
        return found

    def block(self, statements, after, leave, again):
        "Live names before the statements. @param leave those after a break @param again those at a continue"
        for statement in reversed(statements):
            after = self.statement(statement, after, leave, again)
        return after

    def assign(self, targets, value, after):
        names = set()
        for target in targets:
            names |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        # What is stored in an object or in a name of another scope may be read by anybody.
        elsewhere = any(isinstance(node, (ast.Attribute, ast.Subscript)) for target in targets for node in ast.walk(target))
        matters = elsewhere or bool(names & after) or bool(names & self.shared)
        before = after - names
        if matters:
            return before | self.reads(value, *targets)
        return before | self.effects(value)

    def effects(self, value):
        "What an expression reads whose value is dropped: what it hands to calls of others than the helper."
        found = set()
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Call) and not is_call(node, self.name):
                found |= self.reads(node)
            if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                found |= self.reads(value)
        if value is not None and is_call(value, self.name):
            for part in [*value.args, *value.keywords]:
                found |= self.effects(part)
        return found

    def loop(self, head, targets, body, orelse, after):
        "A loop's live names at its head, found by going round until nothing is added."
        done = self.block(orelse, after, after, after)
        live = done | head
        for _ in range(200):
            inner = self.block(body, live, after, live) - targets
            if inner <= live:
                break
            live = live | inner
        return live

    def statement(self, node, after, leave, again):
        if isinstance(node, ast.Return):
            return self.reads(node.value)
        if isinstance(node, ast.Raise):
            return self.reads(node.exc, node.cause)
        if isinstance(node, ast.Break):
            return set(leave)
        if isinstance(node, ast.Continue):
            return set(again)
        if isinstance(node, ast.Assign):
            return self.assign(node.targets, node.value, after)
        if isinstance(node, ast.AnnAssign):
            return self.assign([node.target], node.value, after) if node.value is not None else after
        if isinstance(node, ast.AugAssign):
            name = node.target.id if isinstance(node.target, ast.Name) else None
            if name is not None and name not in after and name not in self.shared:
                return after | self.effects(node.value)
            return after | self.reads(node.value, node.target) | ({name} if name else set())
        if isinstance(node, ast.Expr):
            return after | self.effects(node.value)
        if isinstance(node, ast.If):
            return self.reads(node.test) | self.block(node.body, after, leave, again) | self.block(node.orelse, after, leave, again)
        if isinstance(node, ast.While):
            return self.loop(self.reads(node.test), set(), node.body, node.orelse, after)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            targets = {child.id for child in ast.walk(node.target) if isinstance(child, ast.Name)}
            return self.loop(set(), targets, node.body, node.orelse, after) | self.reads(node.iter)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            inner = self.block(node.body, after, leave, again)
            return inner | self.reads(*[item.context_expr for item in node.items])
        if isinstance(node, (ast.Try, TRY_STAR)):
            final = self.block(node.finalbody, after, leave, again)
            handlers = [self.block(handler.body, final, leave, again) for handler in node.handlers]
            live = self.block(node.orelse, final, leave, again).union(*handlers)
            # Any statement of the body may be the last before a handler.
            caught = set().union(*handlers)
            for statement in reversed(node.body):
                live = self.statement(statement, live, leave, again) | caught
            return live | set().union(*[self.reads(handler.type) for handler in node.handlers])
        if isinstance(node, MATCH):
            live = set(after)
            for case in node.cases:
                live |= self.block(case.body, after, leave, again) | self.reads(case.guard)
            return live | self.reads(node.subject)
        if isinstance(node, ast.Delete):
            return after | self.reads(*[target for target in node.targets if not isinstance(target, ast.Name)])
        # Definitions, imports and the rest: whatever they name is read.
        return after | self.reads(node)

def usage_of(tree, entry, name):
    "How the main function uses the helper."
    function = function_named(tree, entry)
    if function is None:
        return None
    inside = list(ast.walk(function))
    bound = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in inside if isinstance(node, ast.arg)}
    bound |= {node.name for node in inside if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not function}
    calls = [] if name in bound else [node for node in inside if is_call(node, name)]
    shared = {found for node in inside if isinstance(node, (ast.Global, ast.Nonlocal)) for found in node.names}
    # A function within may be called at any time: what it reads is always live.
    shared |= {child.id for node in inside if isinstance(node, SCOPES) and node is not function for child in ast.walk(node) if isinstance(child, ast.Name)}
    flow = Flow(name, shared)
    if calls:
        flow.block(function.body, set(), set(), set())
    return {'called': bool(calls), 'used': bool(calls) and flow.used, 'wrapper': is_wrapper(function, name)}

def inspect_functions(request):
    asked = json.loads(request)
    name, entry = asked['helperName'], asked['entryPoint']
    found = {'helperReturns': returns_value(asked['helper'], name), 'mainReturns': returns_value(asked['main'], entry), 'syntax': None, 'usage': None}
    try:
        found['usage'] = usage_of(ast.parse(asked['joined']), entry, name)
    except SyntaxError as error:
        found['syntax'] = [error.lineno or 1, error.offset or 1, str(error.msg)[:200]]
    except (ValueError, MemoryError, RecursionError) as error:
        found['syntax'] = [1, 1, ': '.join(described(error))[:200]]
    return b'v' + json.dumps(found).encode()
`;
