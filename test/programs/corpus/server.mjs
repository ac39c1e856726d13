/**
 * A model server that says what is planted: to each question it asks for the tool that it is offered, then answers. All
 * that it says has a mark of its own, so that a reader can be asked where it went.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';

/** Marks by who said them: `asked` by people and programs, `said` by models, `gave` by tools. */
export class Marks {
  #count = 0;
  #by = { asked: [], said: [], gave: [] };

  /** A text that nobody else says. */
  mark(by, text = by) {
    const one = `mark${this.#count++}end`;
    this.#by[by].push(one);
    return `${text} ${one}`;
  }

  get all() {
    return this.#by;
  }
}

/** What is said next: a call where a tool is offered and nothing came of one yet, else words. */
function next(marks, hasTools, hasResult) {
  return hasTools && !hasResult
    ? { text: marks.mark('said', 'I look it up.'), call: { city: marks.mark('said', 'Oslo') } }
    : { text: marks.mark('said', 'It is warm.'), call: null };
}

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function chat(marks, { messages, tools, stream, model }) {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const hasResult = messages.slice(last).some(({ role }) => role === 'tool');
  const { text, call } = next(marks, (tools ?? []).length > 0, hasResult);
  const name = tools?.[0]?.function?.name;
  const calls =
    call === null
      ? undefined
      : [{ id: `call_${messages.length}`, type: 'function', function: { name, arguments: JSON.stringify(call) } }];
  const head = { id: 'chatcmpl-1', created: 1, model };
  const finish = call === null ? 'stop' : 'tool_calls';
  if (stream !== true) {
    const message = { role: 'assistant', content: text, ...(calls && { tool_calls: calls }) };
    return { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage };
  }
  const chunk = (delta, reason = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  return [
    chunk({ role: 'assistant', content: text.slice(0, 5) }),
    chunk({ content: text.slice(5) }),
    ...(calls ?? []).flatMap((one) => [
      chunk({ tool_calls: [{ index: 0, ...one, function: { name, arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: one.function.arguments } }] }),
    ]),
    chunk({}, finish),
    { ...head, object: 'chat.completion.chunk', choices: [], usage },
  ].map((data) => [null, data]);
}

function responses(marks, { input, tools, model, stream }) {
  const items = Array.isArray(input) ? input : [];
  const hasResult = items.at(-1)?.type === 'function_call_output';
  const { text, call } = next(marks, (tools ?? []).length > 0, hasResult);
  const output = [
    {
      type: 'message',
      id: `msg_${items.length}`,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
    ...(call === null
      ? []
      : [
          {
            type: 'function_call',
            id: `fc_${items.length}`,
            call_id: `call_${items.length}`,
            name: tools.find(({ type }) => type === 'function').name,
            arguments: JSON.stringify(call),
            status: 'completed',
          },
        ]),
  ];
  const body = {
    id: `resp_${items.length}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model,
    output,
    usage: {
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  };
  return stream === true ? [['response.completed', { type: 'response.completed', response: body }]] : body;
}

function messages(marks, { messages: said, tools, model }) {
  const content = said.at(-1).content;
  const hasResult = Array.isArray(content) && content.some(({ type }) => type === 'tool_result');
  const { text, call } = next(marks, (tools ?? []).length > 0, hasResult);
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      { type: 'text', text },
      ...(call === null ? [] : [{ type: 'tool_use', id: `toolu_${said.length}`, name: tools[0].name, input: call }]),
    ],
    stop_reason: call === null ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 7 },
  };
}

const ANSWERS = { '/v1/chat/completions': chat, '/v1/responses': responses, '/v1/messages': messages };

/** @param onCall hears each request with its answer, where that is one body */
export async function plantingServer(marks, onCall = () => undefined) {
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''));
    const { pathname } = new URL(request.url, 'http://localhost');
    const answer = ANSWERS[pathname](marks, body);
    if (!Array.isArray(answer)) {
      onCall({ path: pathname, request: body, response: answer });
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [name, data] of answer) {
      response.write(`${name === null ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
    }
    response.end(pathname === '/v1/chat/completions' ? 'data: [DONE]\n\n' : '');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { origin, url: `${origin}/v1`, close: () => server.close() };
}
