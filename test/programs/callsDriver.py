"""The program of calls.mjs in Python, with the standard library alone."""

import json
import os
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "media", "drivers"))
from driver import drive, wrapped

ran = 0
TOOLS = [{"type": "function", "function": {"name": "sum", "parameters": {}}}]


def add(numbers):
    global ran
    ran += 1
    return f"{sum(numbers)} (run {ran})"


recorded_sum = wrapped("sum", add)


def ask(role, messages, stream=False):
    headers = {"content-type": "application/json", **({"x-c3-role": role} if role else {})}
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS, "stream": stream}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        text = response.read().decode()
    if not stream:
        return json.loads(text)["choices"][0]["message"]
    said = {}
    for line in text.split("\n\n"):
        if line.startswith("data: {"):
            said.update(json.loads(line[len("data: ") :])["choices"][0]["delta"])
    return said


def program(question):
    print("what a program prints goes elsewhere")
    messages = [{"role": "user", "content": question}]
    said = ask("planner", messages)
    messages.append(said)
    for call in said.get("tool_calls", []):
        content = recorded_sum(json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    if "tool_calls" in said:
        said = ask("planner", messages)
    asked = [{"role": "system", "content": "Write."}, {"role": "user", "content": said["content"]}]
    text = ask(None, asked, stream=True)["content"]
    return {"text": text, "return": 1 if "19" in text else 0}


drive(program)
