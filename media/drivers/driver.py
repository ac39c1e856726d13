"""Runs a Python program again and again for C3, as driver.mjs does for Node: `c3 replay --team`, `c3 try --team`.

Each pass runs the program from its beginning. Calls of the model that the log has are answered from it. The first
call that it does not have is the next message; the program is stopped there. No model is asked, and a tool in
`wrapped` runs only if its result is not in the log.

Import this module before your own program: clients of OpenAI read OPENAI_BASE_URL when they are created. It needs the
standard library alone.

    from driver import drive, wrapped
    import team

    drive(lambda question: {"text": team.answer(question)})
"""

import asyncio
import hashlib
import inspect
import json
import os
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Bytes of a request, as `c3 record` forwards them.
MOST_BYTES = 64 * 2**20

# Standard output has the answers. What a program prints goes to the standard error.
_answers, sys.stdout = sys.stdout, sys.stderr


class Stopped(Exception):
    """Stops a program once its next step is known. This is no failure."""


class _Pass:
    """One pass of a program through a log."""

    def __init__(self, log):
        self.entries = [dict(entry, used=False) for entry in log]
        self.prompts = {}
        self.answered = 0
        self.outcome = None
        self.lock = threading.Lock()

    def take(self, kind, name):
        """Returns the recorded text of a role or a tool that was not used yet, or None beyond the log."""
        if self.outcome is not None:
            raise Stopped("This pass is over.")
        of = "role" if kind == "message" else "source"
        for entry in self.entries:
            if not entry["used"] and entry["kind"] == kind and entry.get(of) == name:
                entry["used"] = True
                return entry["text"]
        left = self.left()
        if left is not None:
            self.end({"error": f"the program asks {name}, where the log has a message of {left}"})
            raise Stopped("The log has another message here.")
        return None

    def left(self):
        """Returns the role of the first recorded message that was not used, or None."""
        unused = (entry["role"] for entry in self.entries if entry["kind"] == "message" and not entry["used"])
        return next(unused, None)

    def role_of(self, named, messages):
        """Returns the role that a request names, or numbers its system messages as `c3 record` does."""
        if named:
            return named
        system = [_text_of(one.get("content")) for one in messages if one.get("role") in ("system", "developer")]
        key = hashlib.sha256("\n".join(system).encode("utf-8", "surrogatepass")).digest()
        return f"agent {self.prompts.setdefault(key, len(self.prompts) + 1)}"

    def reply(self, named, path, data):
        """Returns the recorded answer to a request as (content type, body), or None if the program stops."""
        with self.lock:
            if not path.endswith("/chat/completions"):
                self.end({"error": f"the program calls {path}; a driver answers /chat/completions only"})
                return None
            try:
                body = json.loads(data)
                role = self.role_of(named, body.get("messages") or [])
            except (ValueError, AttributeError, TypeError):
                self.end({"error": "the program asks with something that is no JSON"})
                return None
            try:
                said = self.take("message", role)
            except Stopped:
                return None
            if said is None:
                self.end({"next": {"kind": "message", "role": role, "body": body}})
                return None
            self.answered += 1
            return _completion(said, self.answered - 1, body)

    def end(self, answer):
        self.outcome = self.outcome or answer


def _text_of(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.get("text") or "" for part in content)


def _message_of(text, tools, number):
    """Returns a recorded text as a message: lines at its end that call one of the tools are calls."""
    names = [tool["function"]["name"] for tool in tools or [] if "function" in tool]
    lines, calls = text.split("\n"), []
    while lines:
        name = next((one for one in names if lines[-1] == one or lines[-1].startswith(f"{one} ")), None)
        if name is None:
            break
        calls.insert(0, {"name": name, "arguments": lines.pop()[len(name) + 1 :] or "{}"})
    message = {"role": "assistant", "content": None if calls and not lines else "\n".join(lines)}
    if calls:
        # Frameworks take two calls with one ID for the same call.
        message["tool_calls"] = [
            {"id": f"call_{number}_{index}", "index": index, "type": "function", "function": call}
            for index, call in enumerate(calls)
        ]
    return message


def _completion(text, number, body):
    message = _message_of(text, body.get("tools"), number)
    finish = "tool_calls" if "tool_calls" in message else "stop"
    head = {"id": f"chatcmpl-c3-{number}", "created": 0, "model": body.get("model") or "recorded"}
    if not body.get("stream"):
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        choices = [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]
        answer = {**head, "object": "chat.completion", "choices": choices, "usage": usage}
        return "application/json", json.dumps(answer).encode()
    pieces = [(message, None), ({}, finish)]
    chunks = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in pieces
    ]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()


# One pass runs at a time, so that a request needs no name of its pass, whatever client or thread sends it.
_current = None
_token = secrets.token_urlsafe(24)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        known = self.path.startswith(f"/{_token}/") and self.headers.get("origin") is None
        if not known or length > MOST_BYTES:
            self.close_connection = True
            self.answer(413 if known else 404, "application/json", b"{}")
            return
        data, running = self.rfile.read(length), _current
        named = (self.headers.get("x-c3-role") or "").strip()
        answered = None if running is None else running.reply(named, self.path[len(_token) + 1 :], data)
        if answered is None:
            # A status that no client tries again.
            error = {"error": {"message": "C3 stops the program here.", "type": "c3"}}
            self.answer(400, "application/json", json.dumps(error).encode())
        else:
            self.answer(200, *answered)

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing about requests."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client may leave at any time."""


_server = _Server(("127.0.0.1", 0), _Handler)
threading.Thread(target=_server.serve_forever, daemon=True).start()
_base = f"http://127.0.0.1:{_server.server_address[1]}/{_token}/v1"
os.environ.update(OPENAI_BASE_URL=_base, OPENAI_API_BASE=_base, OPENAI_API_KEY="c3-driver")


def wrapped(name, run):
    """Returns a function of a tool that runs only if the log does not have its result.

    `name` is the tool as the model knows it; `run` returns a text, or a value that JSON can hold. An asynchronous
    `run` gives an asynchronous function.
    """

    def known():
        if _current is None:
            return None
        with _current.lock:
            return _current.take("event", name)

    def stop(result):
        if _current is None:
            return result
        text = result if isinstance(result, str) else json.dumps(result)
        _current.end({"next": {"kind": "event", "source": name, "text": text}})
        raise Stopped("C3 stops the program here.")

    def call(*args, **kwargs):
        found = known()
        return stop(run(*args, **kwargs)) if found is None else found

    async def call_later(*args, **kwargs):
        found = known()
        return stop(await run(*args, **kwargs)) if found is None else found

    return call_later if inspect.iscoroutinefunction(run) else call


def _go_through(program, running, question):
    try:
        result = program(question)
        given = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        given = given or {}
        left = running.left()
        if left is None:
            running.end({"end": {"text": str(given.get("text", "")), "return": given.get("return")}})
        else:
            running.end({"error": f"the program ends, where the log has a message of {left}"})
    except (Exception, SystemExit) as error:  # A failure of the user's program is reported, whatever it is.
        # If the next step is known, the program was stopped and did not fail.
        running.end({"error": f"the program failed: {error}"})


async def _awaited(result):
    return await result


def drive(program):
    """Answers requests of C3 until its input ends.

    `program` runs your program once for a question, and may be asynchronous. It returns {"text", "return"}: the text
    that is scored, and its return if your program scores itself.
    """
    global _current
    for line in sys.stdin:
        asked = json.loads(line)
        _current = _Pass(asked["log"])
        _go_through(program, _current, asked["question"])
        _answers.write(json.dumps({"id": asked["id"], **_current.outcome}) + "\n")
        _answers.flush()
    # Threads of the program do not keep the driver alive.
    os._exit(0)
