/** Spans as single libraries write them, each form with what must be read of it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wholeLog } from './wholeLog.ts';

type Attributes = Readonly<Record<string, unknown>>;
interface Written {
  readonly id?: string;
  readonly parent?: string;
  readonly events?: readonly (readonly [name: string, attributes: Attributes])[];
}

const TRACE = '5b8efff798038103d269b633813fc60c';
const json = (value: unknown): string => JSON.stringify(value);
const message = (role: string, content: string, more: Attributes = {}) => ({
  role,
  parts: [{ type: 'text', content }],
  ...more,
});
const CHAT = { 'gen_ai.operation.name': 'chat' };

/** A log of spans, each a second after the one before. */
const log = (...spans: readonly (readonly [name: string, attributes: Attributes, written?: Written])[]): string =>
  spans
    .map(([name, attributes, { id, parent = null, events = [] } = {}], at) =>
      json({
        name,
        context: { trace_id: TRACE, span_id: id ?? `span${at}` },
        parent_id: parent,
        start_time: `2025-06-01T10:00:0${at}.000000Z`,
        end_time: `2025-06-01T10:00:0${at}.500000Z`,
        attributes,
        events: events.map(([event, own]) => ({ name: event, attributes: own })),
      }),
    )
    .join('\n');

/** What was said and given, with who is asked what by the first message. */
function transcript(text: string): {
  readonly said: string[];
  readonly asked: string[];
  readonly leftOut: Readonly<Record<string, number>>;
} {
  const { episodes, leftOut } = wholeLog(text);
  const entries = episodes.flatMap((episode) => episode.entries);
  const first = entries.find((entry) => entry.kind === 'message');
  return {
    said: entries.map((entry) =>
      entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
    ),
    asked:
      first?.kind === 'message'
        ? first.context.list.slice(0, first.context.length).map(({ role, text: given }) => `${role}: ${given}`)
        : [],
    leftOut: Object.fromEntries(leftOut),
  };
}

describe('OpenLLMetry', () => {
  it('writes what Claude thinks as a completion of its own', () => {
    const { said, leftOut } = transcript(
      log([
        'anthropic.chat',
        {
          'llm.request.type': 'completion',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'Capital?',
          'gen_ai.completion.0.role': 'thinking',
          'gen_ai.completion.0.content': 'Norway.',
          'gen_ai.completion.1.role': 'assistant',
          'gen_ai.completion.1.content': 'Oslo',
        },
      ]),
    );
    assert.deepEqual([said, leftOut], [['assistant > Norway.\nOslo'], {}]);
  });

  it('writes a text beside pictures as parts', () => {
    const parts = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2000)}` } },
    ];
    const { asked } = transcript(
      log([
        'openai.chat',
        {
          'llm.request.type': 'chat',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': json(parts),
          'gen_ai.completion.0.content': 'A cat',
        },
      ]),
    );
    assert.deepEqual(asked, ['user: What is it?\n[image_url]']);
  });
});

describe('OpenInference', () => {
  it('writes calls of functions in their old form', () => {
    const { said } = transcript(
      log([
        'ChatOpenAI',
        {
          'openinference.span.kind': 'LLM',
          'llm.output_messages.0.message.role': 'assistant',
          'llm.output_messages.0.message.function_call_name': 'find',
          'llm.output_messages.0.message.function_call_arguments_json': '{"q":1}',
        },
      ]),
    );
    assert.deepEqual(said, ['assistant > find {"q":1}']);
  });

  it('writes what was found as documents', () => {
    const { said } = transcript(
      log(
        [
          'retrieve',
          {
            'openinference.span.kind': 'RETRIEVER',
            'input.value': 'Oslo',
            'retrieval.documents.0.document.content': 'A city.',
            'retrieval.documents.1.document.content': 'In Norway.',
          },
        ],
        ['llm', { 'openinference.span.kind': 'LLM', 'input.value': 'Where?', 'output.value': 'Norway' }],
      ),
    );
    assert.deepEqual(said, ['[retrieve] retrieve Oslo', '[retrieve] A city.\n\nIn Norway.', 'assistant > Norway']);
  });

  it('is kept by Phoenix in tables, whose columns are its attributes', () => {
    const row = {
      name: 'ChatCompletion',
      start_time: 1_748_772_000_000,
      end_time: 1_748_772_001_000,
      'context.span_id': 'a',
      'context.trace_id': 't',
      'attributes.openinference.span.kind': 'LLM',
      'attributes.llm.model_name': 'm',
      'attributes.llm.input_messages': [{ 'message.role': 'user', 'message.content': 'Capital?' }],
      'attributes.llm.output_messages': [{ 'message.role': 'assistant', 'message.content': 'Oslo' }],
      'attributes.llm.tools': null,
    };
    const attributes = json({
      openinference: { span: { kind: 'LLM' } },
      llm: { output_messages: [{ message: { role: 'assistant', content: 'Bergen' } }] },
    });
    const text = [row, { name: 'x', context: { trace_id: 'u', span_id: 'b' }, attributes }].map(json).join('\n');
    const { said, asked } = transcript(text);
    assert.deepEqual([said, asked], [['assistant > Oslo', 'assistant > Bergen'], ['user: Capital?']]);
  });
});

describe('the conventions of GenAI', () => {
  it('have an event for what was asked and one for what was said', () => {
    const { said, asked } = transcript(
      log([
        'chat',
        CHAT,
        {
          events: [
            [
              'gen_ai.client.inference.operation.details',
              { 'gen_ai.input.messages': json([message('user', 'Capital?')]) },
            ],
            [
              'gen_ai.client.inference.operation.details',
              { 'gen_ai.output.messages': json([message('assistant', 'Oslo')]) },
            ],
          ],
        },
      ]),
    );
    assert.deepEqual([said, asked], [['assistant > Oslo'], ['user: Capital?']]);
  });

  it('have such an event as a record of a log without a body', () => {
    const record = {
      timeUnixNano: '1748772000000000000',
      traceId: TRACE,
      spanId: 'span0',
      eventName: 'gen_ai.client.inference.operation.details',
      attributes: [{ key: 'gen_ai.output.messages', value: { stringValue: json([message('assistant', 'Oslo')]) } }],
    };
    const records = json({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
    assert.deepEqual(transcript(`${log(['chat', CHAT])}\n${records}`).said, ['assistant > Oslo']);
  });

  it('are written to the console of Python with records beside spans', () => {
    const span = {
      name: 'chat',
      context: { trace_id: `0x${TRACE}`, span_id: '0xaa' },
      start_time: '2025-06-01T10:00:00.000000Z',
      attributes: CHAT,
    };
    const record = (name: string, body: unknown) => ({
      body,
      severity_number: 9,
      attributes: { 'event.name': name },
      timestamp: '2025-06-01T10:00:00.000000Z',
      trace_id: `0x${TRACE}`,
      span_id: '0xaa',
    });
    const text = [
      span,
      record('gen_ai.user.message', { content: 'Capital?' }),
      record('gen_ai.choice', { index: 0, message: { role: 'assistant', content: 'Oslo' } }),
    ];
    const { said, asked } = transcript(text.map(json).join('\n'));
    assert.deepEqual([said, asked], [['assistant > Oslo'], ['user: Capital?']]);
  });

  it('have several choices in the messages of one call', () => {
    const choices = ['Oslo', 'Bergen'].map((text) => message('assistant', text, { finish_reason: 'stop' }));
    const { said, leftOut } = transcript(log(['chat', { ...CHAT, 'gen_ai.output.messages': json(choices) }]));
    assert.deepEqual([said, leftOut], [['assistant > Oslo'], { 'further answers to one call (n > 1)': 1 }]);
  });

  it('have halves of characters in JSON, which are read as none and counted', () => {
    const given = json([message('assistant', 'Oslo \ud83d')]);
    const { said, leftOut } = transcript(log(['chat', { ...CHAT, 'gen_ai.output.messages': given }]));
    assert.deepEqual(said, ['assistant > Oslo \u{fffd}']);
    assert.deepEqual(Object.values(leftOut), [1]);
  });
});

describe('agents', () => {
  const ANSWER = { 'gen_ai.output.messages': json([message('assistant', 'Oslo')]) };
  const AGENT = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'geo', ...ANSWER };

  it('speak themselves where no call within them is recorded', () =>
    assert.deepEqual(transcript(log(['invoke_agent geo', AGENT])).said, ['geo > Oslo']));

  it('say nothing beside their calls that the calls say', () => {
    const inner = ['chat', { ...CHAT, ...ANSWER }, { parent: 'outer' }] as const;
    const { said, leftOut } = transcript(log(['invoke_agent geo', AGENT, { id: 'outer' }], inner));
    assert.deepEqual([said, leftOut], [['geo > Oslo'], { 'spans that are not calls of models or tools': 1 }]);
  });

  it('are counted where they say something else than their calls', () => {
    const other = { ...CHAT, 'gen_ai.output.messages': json([message('assistant', 'Bergen')]) };
    const { said, leftOut } = transcript(
      log(['invoke_agent geo', AGENT, { id: 'outer' }], ['chat', other, { parent: 'outer' }]),
    );
    assert.deepEqual(said, ['geo > Bergen']);
    assert.equal(leftOut['outputs of agents that no call within them repeats (geo)'], 1);
  });

  it("of Azure have a person's words and theirs in spans of their own", () => {
    const content = (value: unknown) => ({ 'gen_ai.event.content': json(value) });
    const { said, leftOut } = transcript(
      log(
        [
          'create_message',
          { 'gen_ai.operation.name': 'create_message' },
          { id: 'asked', events: [['gen_ai.user.message', content({ role: 'user', content: 'Capital?' })]] },
        ],
        [
          'process_thread_run',
          { 'gen_ai.operation.name': 'process_thread_run', 'gen_ai.agent.name': 'geo' },
          {
            events: [
              ['gen_ai.assistant.message', content({ role: 'assistant', content: { text: { value: 'Oslo' } } })],
            ],
          },
        ],
      ),
    );
    assert.deepEqual(said, ['geo > Oslo']);
    assert.equal(leftOut['messages in spans that are not calls of models or tools (asked)'], 1);
  });
});

describe('single libraries', () => {
  it('OpenLIT joins the tools that an answer calls', () => {
    const { said } = transcript(
      log([
        'chat m',
        {
          ...CHAT,
          'gen_ai.content.prompt': 'user: Weather?',
          'gen_ai.content.completion': '',
          'gen_ai.tool.name': 'find, weather',
          'gen_ai.tool.call.id': 'a, b',
          'gen_ai.tool.args': '{"q":1}, {"city":"Oslo"}',
        },
      ]),
    );
    assert.deepEqual(said, ['assistant > find {"q":1}, {"city":"Oslo"}\nweather']);
  });

  it('Logfire writes the answer of a stream, and items of responses, in their own ways', () => {
    const request = json({ model: 'm', messages: [{ role: 'user', content: 'Capital?' }], stream: true });
    const { said, leftOut } = transcript(
      log(
        ['Chat Completion', { request_data: request, 'gen_ai.request.model': 'm' }],
        ['streaming response', { request_data: request, response_data: json({ combined_chunk_content: 'Oslo' }) }],
        [
          'Responses API',
          {
            'gen_ai.request.model': 'm',
            events: json([
              { 'event.name': 'gen_ai.user.message', role: 'user', content: 'Weather?' },
              { 'event.name': 'gen_ai.assistant.message', role: 'assistant', content: 'I look.' },
              {
                'event.name': 'gen_ai.assistant.message',
                role: 'assistant',
                tool_calls: [{ id: 'c', function: { name: 'find', arguments: '{}' } }],
              },
            ]),
          },
        ],
      ),
    );
    assert.deepEqual(said, ['assistant > Oslo', 'assistant > I look.\nfind {}']);
    assert.deepEqual(leftOut, { 'requests of streams, whose answers are separate spans': 1 });
  });

  it('rows of Logfire have times and names of their own', () => {
    const row = {
      trace_id: TRACE,
      span_id: 'a',
      span_name: 'chat m',
      start_timestamp: '2025-06-01T10:00:00Z',
      end_timestamp: '2025-06-01T10:00:02Z',
      attributes: { ...CHAT, 'gen_ai.output.messages': [message('assistant', 'Oslo')] },
    };
    const [entry] = wholeLog(json(row)).episodes.flatMap(({ entries }) => entries);
    assert.deepEqual(entry?.kind === 'message' ? [entry.text, entry.measured?.seconds] : [], ['Oslo', 2]);
  });

  it("Google's ADK writes what several tools gave once more", () => {
    const tool = (name: string, id: string, gave: unknown) =>
      [
        `execute_tool ${name}`,
        {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': name,
          'gen_ai.tool.call.id': id,
          'gcp.vertex.agent.tool_response': json(gave),
        },
      ] as const;
    const { said } = transcript(
      log(
        ['chat', { ...CHAT, 'gen_ai.output.messages': json([message('assistant', 'I look.')]) }],
        tool('weather', 'a', { sky: 'rain' }),
        tool('(merged tools)', 'm', {
          content: { parts: [{ function_response: { id: 'a', response: { sky: 'rain' } } }] },
        }),
      ),
    );
    assert.deepEqual(said, ['assistant > I look.', '[weather] {"sky":"rain"}']);
  });

  it('MLflow keeps model, tokens and temperature in what was given and asked', () => {
    const attributes = {
      'mlflow.spanType': 'CHAT_MODEL',
      'mlflow.spanInputs': json({ model: 'm', temperature: 0.5, messages: [{ role: 'user', content: 'Capital?' }] }),
      'mlflow.spanOutputs': json({
        choices: [{ message: { role: 'assistant', content: 'Oslo' } }],
        usage: { prompt_tokens: 3, completion_tokens: 4 },
      }),
    };
    const [entry] = wholeLog(log(['Completions', attributes])).episodes.flatMap(({ entries }) => entries);
    assert.ok(entry?.kind === 'message');
    assert.deepEqual(
      [entry.model, entry.promptTokens, entry.completionTokens, entry.measured?.temperature],
      ['m', 3, 4, 0.5],
    );
  });

  it("LangSmith keeps LangChain's tokens in the message that was generated, and retrievers as runs", () => {
    const generated = { kwargs: { content: 'Oslo', usage_metadata: { input_tokens: 3, output_tokens: 4 } } };
    const runs = [
      {
        id: 'a',
        run_type: 'retriever',
        name: 'search',
        inputs: { query: 'Norway' },
        outputs: { documents: [{ page_content: 'A city.' }] },
      },
      {
        id: 'b',
        run_type: 'llm',
        outputs: {
          generations: [[{ message: { lc: 1, type: 'constructor', id: ['langchain', 'AIMessage'], ...generated } }]],
        },
      },
    ].map((run, at) => ({ ...run, trace_id: 't', start_time: `2025-06-01T10:00:0${at}` }));
    const entries = wholeLog(json(runs)).episodes.flatMap((episode) => episode.entries);
    const generation = entries.find((entry) => entry.kind === 'message');
    assert.ok(generation?.kind === 'message');
    assert.deepEqual([generation.promptTokens, generation.completionTokens], [3, 4]);
    assert.deepEqual(
      entries.flatMap((entry) => (entry.kind === 'event' ? [entry.text] : [])),
      ['search Norway', '{"documents":[{"page_content":"A city."}]}'],
    );
  });

  it("OpenAI's Agents SDK says in the data of an error why a tool failed", () => {
    const span = (id: string, data: unknown, error: unknown = null) => ({
      object: 'trace.span',
      id,
      trace_id: 't',
      parent_id: null,
      started_at: `2025-06-01T10:00:0${id}Z`,
      span_data: data,
      error,
    });
    const output = [{ role: 'assistant', content: 'I look.' }];
    const text = [
      span('1', { type: 'generation', input: [{ role: 'user', content: 'Weather?' }], output }),
      span(
        '2',
        { type: 'function', name: 'weather', output: null },
        { message: 'It failed', data: { error: 'timeout' } },
      ),
    ];
    assert.deepEqual(transcript(text.map(json).join('\n')).said, [
      'assistant > I look.',
      '[weather] It failed: timeout',
    ]);
  });
});

describe("Datadog's LLM Observability", () => {
  const CALL = { name: 'weather', arguments: { city: 'Oslo' }, tool_id: 'c', type: 'function' };
  const said = (content: string, more: object = {}) => ({ messages: [{ role: 'assistant', content, ...more }] });
  const ASKED = { messages: [{ role: 'user', content: 'Weather?' }] };
  /** Spans one after another. @param meta of each */
  const spans = (...meta: readonly object[]) =>
    meta.map((one, at) => ({
      name: at === 1 ? 'weather' : 'geo',
      trace_id: 't',
      span_id: `s${at}`,
      parent_id: at === 0 ? 'undefined' : 's0',
      start_ns: 1_748_772_000_000_000_000 + at * 1_000_000_000,
      duration: 500_000_000,
      status: 'ok',
      meta: one,
      metrics: { input_tokens: 3, output_tokens: 4 },
    }));

  it('has messages in the fields of its spans, which its interface takes in lists of spans', () => {
    const list = spans(
      { kind: 'agent', input: { value: 'Weather?' }, output: { value: 'It rains.' } },
      { kind: 'tool', input: { value: '{"city":"Oslo"}' }, output: { value: 'rain' } },
      { kind: 'llm', input: ASKED, output: said('It rains.'), model_name: 'm' },
    );
    const first = { ...list[2], span_id: 'first', start_ns: 1_748_772_000_500_000_000 };
    const calls = { ...first, meta: { kind: 'llm', input: ASKED, output: said('', { tool_calls: [CALL] }) } };
    const text = json({ data: { type: 'span', attributes: { ml_app: 'app', spans: [...list, calls] } } });
    const { said: read, asked, leftOut } = transcript(text);
    assert.deepEqual(read, ['geo > weather {"city":"Oslo"}', '[weather] rain', 'geo > It rains.']);
    assert.deepEqual([asked, leftOut], [['user: Weather?'], { 'spans that are not calls of models or tools': 1 }]);
    const [entry] = wholeLog(text).episodes.flatMap(({ entries }) => entries.slice(-1));
    assert.ok(entry?.kind === 'message');
    assert.deepEqual(
      [entry.model, entry.promptTokens, entry.completionTokens, entry.measured?.seconds],
      ['m', 3, 4, 0.5],
    );
  });

  it('has results of tools in lists of their message, and says why a call failed', () => {
    const results = [{ name: 'weather', result: 'rain', tool_id: 'c', type: 'tool_result' }];
    const messages = [...ASKED.messages, { role: 'assistant', content: '', tool_calls: [CALL] }];
    const text = spans(
      {
        span: { kind: 'llm' },
        input: { messages: [...messages, { role: 'tool', tool_results: results }] },
        output: {},
      },
      { 'span.kind': 'llm', input: ASKED, output: { value: 'It rains.' } },
      { kind: 'llm', input: ASKED, error: { message: 'slow', type: 'Timeout' } },
    );
    const first = { ...text[0], meta: { ...text[0]?.meta, output: said('Rain.') } };
    const { said: read, leftOut } = transcript([first, text[1], text[2]].map(json).join('\n'));
    // What only the context of the first call says is taken from it.
    assert.deepEqual(read, [
      'assistant > weather {"city":"Oslo"}',
      '[weather] rain',
      'assistant > Rain.',
      'assistant > It rains.',
    ]);
    assert.deepEqual(leftOut, { 'calls that failed': 1 });
  });

  it('exports spans as resources', () => {
    const { meta, ...span } = spans({})[0] ?? { meta: {} };
    const attributes = { ...span, span_kind: 'llm', input: ASKED, output: said('Rain.'), model_name: 'm' };
    const retrieved = {
      ...span,
      span_id: 'r',
      name: 'search',
      span_kind: 'retrieval',
      input: { value: 'Oslo' },
      output: { documents: [{ text: 'A city.' }] },
    };
    const text = json({ data: [attributes, retrieved].map((one) => ({ id: 'e', type: 'span', attributes: one })) });
    assert.deepEqual(meta, {});
    assert.deepEqual(transcript(text).said.toSorted(), [
      '[search] A city.',
      '[search] search Oslo',
      'assistant > Rain.',
    ]);
  });
});

describe('spans that name the trace in their own way', () => {
  const ASKED = [{ role: 'user', content: 'Weather?' }];
  const call = { id: 'c', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const SAID = [
    { role: 'assistant', content: 'I look.', tool_calls: [call] },
    { role: 'assistant', content: 'It rains.' },
  ];
  const READ = ['assistant > I look.\nweather {}', '[weather] rain', 'assistant > It rains.'];

  it('are those of Opik', () => {
    const span = (at: number, type: string, more: object) => ({
      id: `s${at}`,
      trace_id: 't',
      parent_span_id: null,
      name: type === 'tool' ? 'weather' : 'chat',
      type,
      start_time: `2025-06-01T10:00:0${at}Z`,
      end_time: `2025-06-01T10:00:0${at}.5Z`,
      usage: { prompt_tokens: 3, completion_tokens: 4 },
      model: 'm',
      ...more,
    });
    const text = json([
      span(0, 'llm', { input: { messages: ASKED }, output: { choices: [{ message: SAID[0] }] } }),
      span(1, 'tool', { input: { city: 'Oslo' }, output: { output: 'rain' } }),
      span(2, 'llm', { input: { messages: ASKED }, output: { choices: [{ message: SAID[1] }] } }),
      span(3, 'llm', { input: { messages: ASKED }, error_info: { exception_type: 'Timeout', message: 'slow' } }),
      span(4, 'general', { input: {}, output: {} }),
    ]);
    const { said, asked, leftOut } = transcript(text);
    assert.deepEqual([said, asked], [READ, ['user: Weather?']]);
    assert.deepEqual(leftOut, { 'spans that are not calls of models or tools': 1, 'calls that failed': 1 });
  });

  it('are those of Braintrust, whose times are among what is measured', () => {
    const row = (at: number, type: string, more: object) => ({
      id: `r${at}`,
      span_id: `s${at}`,
      root_span_id: 't',
      span_parents: null,
      span_attributes: { type, name: type === 'tool' ? 'weather' : 'Chat Completion' },
      metrics: { start: 1_748_772_000.5 + at, end: 1_748_772_001 + at, prompt_tokens: 3, completion_tokens: 4 },
      metadata: { model: 'm' },
      scores: at === 0 ? { correct: 1 } : {},
      ...more,
    });
    const rows = [
      row(0, 'llm', { input: ASKED, output: [{ index: 0, message: SAID[0] }] }),
      row(1, 'tool', { input: { city: 'Oslo' }, output: 'rain' }),
      row(2, 'llm', { input: ASKED, output: [{ index: 0, message: SAID[1] }] }),
    ];
    const text = rows.map(json).join('\n');
    assert.deepEqual(transcript(text).said, READ);
    const [episode] = wholeLog(text).episodes;
    const [entry] = episode?.entries ?? [];
    assert.ok(entry?.kind === 'message');
    assert.deepEqual([episode?.return, entry.model, entry.promptTokens, entry.measured?.seconds], [1, 'm', 3, 0.5]);
  });
});
