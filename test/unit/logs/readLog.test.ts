import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { contextText } from '../../../src/logs/contextForm.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { read, wholeLog, type WholeLog } from './wholeLog.ts';

const logOf = (value: unknown): WholeLog => wholeLog(typeof value === 'string' ? value : JSON.stringify(value));

/** `planner > Plan.` for a message, `[lookup] 18` for what came from outside. */
const said = ({ episodes }: WholeLog): string[][] =>
  episodes.map(({ entries }) =>
    entries.map((entry) =>
      entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
    ),
  );
const contexts = ({ episodes }: WholeLog): string[][][] =>
  episodes.map(({ entries }) =>
    entries.flatMap((entry) =>
      entry.kind === 'message'
        ? [entry.context.list.slice(0, entry.context.length).map(({ role, text }) => `${role}: ${text}`)]
        : [],
    ),
  );

type Value = string | number | readonly unknown[];
interface SpanSettings {
  readonly id: string;
  readonly parent?: string;
  readonly name?: string;
  readonly start: number;
  readonly attributes?: Readonly<Record<string, Value>>;
  readonly events?: readonly { readonly name: string; readonly attributes: Readonly<Record<string, string>> }[];
}
const valueOf = (value: Value): unknown =>
  typeof value === 'string'
    ? { stringValue: value }
    : typeof value === 'number'
      ? { intValue: String(value) }
      : structured(value);
/** A value of a span as OTLP has it. */
function structured(value: unknown): unknown {
  if (Array.isArray(value)) {
    return { arrayValue: { values: value.map(structured) } };
  }
  return typeof value === 'object' && value !== null
    ? { kvlistValue: { values: Object.entries(value).map(([key, one]) => ({ key, value: structured(one) })) } }
    : { stringValue: String(value) };
}
const attributesOf = (attributes: Readonly<Record<string, Value>>): unknown =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
const otlp = (...spans: readonly SpanSettings[]): unknown => ({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: spans.map(({ id, parent, name = id, start, attributes = {}, events = [] }) => ({
            traceId: 't1',
            spanId: id,
            ...(parent !== undefined && { parentSpanId: parent }),
            name,
            startTimeUnixNano: String(start),
            attributes: attributesOf(attributes),
            events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
          })),
        },
      ],
    },
  ],
});

describe('spans of OpenTelemetry', () => {
  it('are read as the AI SDK exports them: inner calls, tools, who spoke by the function id', () => {
    const log = logOf(readFileSync(join(import.meta.dirname, '../../fixtures/logs/aiSdk.json'), 'utf8'));
    // What the program of the fixture says and asks; see its README.
    assert.deepEqual(said(log), [
      [
        'planner > I look it up.\nlookup {"city":"Paris"}',
        '[lookup] {"degrees":18}',
        'planner > Plan: say 18 degrees.',
        'writer > It is 18 degrees in Paris.',
      ],
    ]);
    assert.deepEqual(contexts(log)[0]?.[1], [
      'system: You plan.',
      'user: How warm is it in Paris?',
      'assistant: I look it up.\nlookup {"city":"Paris"}',
      'tool: {"degrees":18}',
    ]);
    assert.deepEqual(
      [...log.speakers],
      [
        ['planner', 'name'],
        ['writer', 'name'],
      ],
    );
    const [first] = log.episodes[0]?.entries ?? [];
    assert.ok(first?.kind === 'message');
    assert.deepEqual([first.model, first.promptTokens, first.completionTokens], ['mock-planner', 41, 9]);
    assert.equal(log.episodes[0]?.question, 'How warm is it in Paris?');
  });

  it('are read with messages as attributes, as texts or structured, in the order in which they began', () => {
    const text = (role: string, content: string): unknown => ({ role, parts: [{ type: 'text', content }] });
    const log = logOf(
      otlp(
        {
          id: 'b',
          parent: 'agent b',
          start: 30,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: 'Check.' }]),
            'gen_ai.input.messages': [text('user', 'Plan A')],
            'gen_ai.output.messages': [{ ...Object(text('assistant', 'Fine')), finish_reason: 'length' }],
          },
        },
        {
          id: 'agent b',
          start: 29,
          attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'critic' },
        },
        {
          id: 'a',
          start: 10,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.agent.name': 'planner',
            'gen_ai.request.model': 'm-1',
            'gen_ai.usage.input_tokens': 12,
            'gen_ai.input.messages': JSON.stringify([text('user', 'How?')]),
            'gen_ai.output.messages': JSON.stringify([
              {
                role: 'assistant',
                parts: [
                  { type: 'text', content: 'Plan A' },
                  { type: 'tool_call', id: 'c1', name: 'search', arguments: { q: 'x' } },
                ],
                finish_reason: 'tool_call',
              },
            ]),
          },
        },
        {
          id: 'tool',
          start: 20,
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'search',
            'gen_ai.tool.call.result': '3 hits',
          },
        },
      ),
    );
    assert.deepEqual(said(log), [['planner > Plan A\nsearch {"q":"x"}', '[search] 3 hits', 'critic > Fine']]);
    assert.deepEqual(contexts(log), [[['user: How?'], ['system: Check.', 'user: Plan A']]]);
    const entries = log.episodes[0]?.entries ?? [];
    assert.deepEqual(
      entries.flatMap((entry) => (entry.kind === 'message' ? [[entry.model, entry.promptTokens, entry.finish]] : [])),
      [
        ['m-1', 12, 'end'],
        [null, 0, 'length'],
      ],
    );
    assert.deepEqual([...log.leftOut], [['spans that are not calls of models or tools', 1]]);
  });

  it('have the result of a tool once, where the next context has it in another form', () => {
    const chat = (id: string, start: number, input: unknown[], output: unknown): SpanSettings => ({
      id,
      start,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.agent.name': 'planner',
        'gen_ai.input.messages': input,
        'gen_ai.output.messages': [output],
      },
    });
    const text = (role: string, content: string): unknown => ({ role, parts: [{ type: 'text', content }] });
    // No ids: the result is known again by its tool alone, as often as there are spans of it.
    const call = { role: 'assistant', parts: [{ type: 'tool_call', name: 'search', arguments: { q: 'x' } }] };
    const result = (response: string): unknown => ({
      role: 'tool',
      name: 'search',
      parts: [{ type: 'tool_call_response', response }],
    });
    const tool = {
      id: 'tool',
      start: 20,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'search',
        'gen_ai.tool.call.result': '{"hits": 3}',
      },
    };
    const asked = [text('user', 'How?'), call];
    const log = logOf(
      otlp(
        chat('a', 10, [text('user', 'How?')], call),
        tool,
        chat('b', 30, [...asked, result('3 hits')], call),
        chat('c', 40, [...asked, result('3 hits'), call, result('4 hits')], text('assistant', 'Done')),
      ),
    );
    assert.deepEqual(said(log), [
      [
        'planner > search {"q":"x"}',
        '[search] {"hits": 3}',
        'planner > search {"q":"x"}',
        '[search] 4 hits',
        'planner > Done',
      ],
    ]);
  });

  it('are read with messages as events, as before, and agents by their system prompts', () => {
    const call = (id: string, start: number, system: string, answer: string): SpanSettings => ({
      id,
      start,
      attributes: { 'gen_ai.operation.name': 'chat' },
      events: [
        { name: 'gen_ai.system.message', attributes: { content: system } },
        { name: 'gen_ai.user.message', attributes: { content: 'Go' } },
        { name: 'gen_ai.choice', attributes: { index: '0', message: JSON.stringify({ content: answer }) } },
      ],
    });
    const log = logOf(otlp(call('1', 1, 'Plan.', 'one'), call('2', 2, 'Act.', 'two'), call('3', 3, 'Plan.', 'three')));
    assert.deepEqual(said(log), [['agent 1 > one', 'agent 2 > two', 'agent 1 > three']]);
    assert.deepEqual([...new Set(log.speakers.values())], ['system prompt']);
    const older = logOf(
      otlp({
        id: '1',
        start: 1,
        attributes: { 'gen_ai.request.model': 'm' },
        events: [
          { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': '[{"role":"user","content":"Go"}]' } },
          { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': '[{"content":"done"}]' } },
        ],
      }),
    );
    assert.deepEqual([said(older), contexts(older)], [[['assistant > done']], [[['user: Go']]]]);
  });

  it('are read with the attributes of OpenInference and of OpenLLMetry', () => {
    const openInference = logOf(
      otlp(
        { id: 'graph', start: 1, attributes: { 'openinference.span.kind': 'CHAIN' } },
        {
          id: 'llm',
          parent: 'graph',
          start: 2,
          attributes: {
            'openinference.span.kind': 'LLM',
            metadata: JSON.stringify({ langgraph_node: 'researcher' }),
            'llm.input_messages.0.message.role': 'system',
            'llm.input_messages.0.message.content': 'Research.',
            'llm.input_messages.1.message.role': 'user',
            'llm.input_messages.1.message.contents.0.message_content.type': 'text',
            'llm.input_messages.1.message.contents.0.message_content.text': 'Who?',
            'llm.input_messages.10.message.role': 'user',
            'llm.input_messages.10.message.content': 'Last',
            'llm.input_messages.2.message.role': 'user',
            'llm.input_messages.2.message.content': 'Before',
            'llm.output_messages.0.message.role': 'assistant',
            'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'find',
            'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"who":"x"}',
          },
        },
        {
          id: 'tool',
          parent: 'graph',
          start: 3,
          attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'find', 'output.value': 'Ada' },
        },
      ),
    );
    assert.deepEqual(said(openInference), [['researcher > find {"who":"x"}', '[find] Ada']]);
    assert.deepEqual(contexts(openInference)[0]?.[0], [
      'system: Research.',
      'user: Who?',
      'user: Before',
      'user: Last',
    ]);
    const openLlmetry = logOf(
      otlp({
        id: '1',
        start: 1,
        attributes: {
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'Hello',
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.content': 'Hi',
          'gen_ai.completion.0.finish_reason': 'stop',
        },
      }),
    );
    assert.deepEqual([said(openLlmetry), contexts(openLlmetry)], [[['assistant > Hi']], [[['user: Hello']]]]);
  });

  it('are read where OpenInference gives values alone, prompts, or the conventions of today an event', () => {
    const spanOf = (attributes: Readonly<Record<string, Value>>, events: SpanSettings['events'] = []): WholeLog =>
      logOf(otlp({ id: 'llm', start: 1, attributes, events }));
    const llm = { 'openinference.span.kind': 'LLM' };
    const values = spanOf({ ...llm, 'input.value': 'Who?', 'output.value': 'Ada' });
    const prompts = spanOf({ ...llm, 'llm.prompts.0.prompt.text': 'Who?', 'llm.choices.0.completion.text': 'Ada' });
    const asJson = spanOf({
      ...llm,
      'input.mime_type': 'application/json',
      'input.value': JSON.stringify({ messages: [{ role: 'user', content: 'Who?' }] }),
      'output.value': JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Ada' } }] }),
    });
    const text = (role: string, content: string): string =>
      JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
    const details = {
      name: 'gen_ai.client.inference.operation.details',
      attributes: { 'gen_ai.input.messages': text('user', 'Who?'), 'gen_ai.output.messages': text('assistant', 'Ada') },
    };
    const event = spanOf({ 'gen_ai.operation.name': 'chat' }, [details]);
    for (const [name, log] of Object.entries({ values, prompts, asJson, event })) {
      assert.deepEqual([said(log), contexts(log)], [[['assistant > Ada']], [[['user: Who?']]]], name);
    }
    assert.deepEqual(said(spanOf({ ...llm, 'input.value': '7 * 6', 'output.value': '42' })), [['assistant > 42']]);
  });

  it('name pictures and sounds, and leave their bytes out', () => {
    const parts = [
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'iVBORw0KGgo=' },
      { type: 'text', content: 'What is it?' },
    ];
    const log = logOf(
      otlp({
        id: 'llm',
        start: 1,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts }]),
          'gen_ai.output.messages': JSON.stringify([
            { role: 'assistant', parts: [{ type: 'text', content: 'A cat' }] },
          ]),
        },
      }),
    );
    assert.deepEqual(contexts(log), [[['user: [blob]\nWhat is it?']]]);
  });

  it('say what is missing, and survive what is no trace at all', () => {
    const bare = logOf(otlp({ id: '1', start: 1, attributes: { 'gen_ai.operation.name': 'chat' } }));
    assert.deepEqual([...bare.leftOut.values()], [1, 1]);
    assert.deepEqual(bare.episodes, []);
    // Parents in a circle, keys that objects have of their own, indexes without end.
    const hostile = logOf(
      otlp(
        { id: 'x', parent: 'y', start: 1, attributes: { 'gen_ai.operation.name': 'execute_tool' } },
        {
          id: 'y',
          parent: 'x',
          start: 2,
          attributes: {
            'openinference.span.kind': 'LLM',
            'llm.input_messages.999999.message.role': 'user',
            'llm.input_messages.__proto__.polluted': 'yes',
            'llm.output_messages.0.message.role': 'constructor',
            'llm.output_messages.1.message.role': 'assistant',
            'llm.output_messages.1.message.content': 'ok',
          },
        },
      ),
    );
    assert.deepEqual(said(hostile), [['assistant > ok']]);
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    for (const value of [
      { resourceSpans: [null, 1, { scopeSpans: [{ spans: ['x', {}, { traceId: 1 }] }] }] },
      { resourceSpans: [] },
    ]) {
      assert.deepEqual(logOf(value).episodes, []);
    }
  });
});

describe('conversations', () => {
  it('are read with tools by the ids of their calls, people, names and scores', () => {
    const log = logOf({
      id: 'c-7',
      model: 'm-2',
      score: true,
      answer: 4,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Two and two?' },
            { type: 'image_url', image_url: {} },
          ],
        },
        {
          role: 'assistant',
          name: 'solver',
          content: null,
          tool_calls: [{ id: 'k', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":2}' } }],
        },
        { role: 'tool', tool_call_id: 'k', content: '4' },
        { role: 'assistant', name: 'solver', content: 'It is 4.' },
        { role: 'user', content: 'Sure?' },
        { role: 'assistant', name: 'checker', content: 'Yes.' },
      ],
    });
    assert.deepEqual(said(log), [
      ['solver > add {"a":2,"b":2}', '[add] 4', 'solver > It is 4.', '[user] Sure?', 'checker > Yes.'],
    ]);
    assert.deepEqual(contexts(log)[0]?.[0], ['system: Be brief.', 'user: Two and two?\n[image_url]']);
    const [{ id, question, answer, return: value } = { id: '', question: '', answer: '', return: null }] = log.episodes;
    assert.deepEqual([id, question, answer, value], ['c-7', 'Two and two?\n[image_url]', '4', 1]);
  });

  it('are read from lines, from lists, from requests with their responses, and as AutoGen has them', () => {
    const one = {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Yes' },
      ],
    };
    assert.deepEqual(said(logOf(`# a log\n${JSON.stringify(one)}\n\n${JSON.stringify(one)}\n`)), [
      ['assistant > Yes'],
      ['assistant > Yes'],
    ]);
    assert.deepEqual(said(logOf([one, one, { messages: [] }])), [['assistant > Yes'], ['assistant > Yes']]);
    assert.deepEqual(said(logOf(one.messages)), [['assistant > Yes']]);
    const request = {
      request: { messages: one.messages.slice(0, 1) },
      response: { choices: [{ message: { role: 'assistant', content: 'No' }, finish_reason: 'length' }] },
    };
    const [entry] = logOf(request).episodes[0]?.entries ?? [];
    assert.ok(entry?.kind === 'message');
    assert.deepEqual([entry.text, entry.finish], ['No', 'length']);
    const autogen = [
      { source: 'user', type: 'TextMessage', content: 'Write.' },
      { source: 'writer', type: 'TextMessage', content: 'Draft' },
      { source: 'critic', type: 'TextMessage', content: 'Good' },
    ];
    assert.deepEqual(said(logOf(autogen)), [['writer > Draft', 'critic > Good']]);
    const langchain = [
      { type: 'human', content: 'Go' },
      { type: 'ai', content: '', tool_calls: [{ name: 'f', args: { x: 1 }, id: 'q' }] },
      { type: 'tool', tool_call_id: 'q', content: 'r' },
    ];
    assert.deepEqual(said(logOf(langchain)), [['assistant > f {"x":1}', '[f] r']]);
  });

  it('are refused by the line that is no JSON; other documents are no logs', () => {
    assert.throws(
      () => read('{"messages":[]}\n{oops}\n', 'log.jsonl'),
      (error) => error instanceof C3Error && error.kind === 'input' && error.message.startsWith('log.jsonl:2: '),
    );
    for (const text of ['1', '"text"', '{} x', '[1}{', '{"a":[1,2}', '{"messages":[']) {
      assert.throws(
        () => read(text, 'x'),
        (error) => error instanceof C3Error && error.kind === 'input' && error.message.startsWith('x:1: '),
        text,
      );
    }
    for (const text of ['{}', '[]', '[1]', '{"messages":"x"}', '', '{"a":1}\n{"b":2}']) {
      assert.equal(read(text, 'x'), null, text);
    }
  });
});

describe('a message of a checkpoint', () => {
  it('says nothing by its fields that have no value', () => {
    const none = { lc: 2, type: 'undefined' };
    const kwargs = { content: 'Plan', additional_kwargs: { function_call: none, tool_calls: none, reasoning: none } };
    const said = wholeLog(
      JSON.stringify([
        { role: 'user', content: 'Go' },
        {
          lc: 1,
          type: 'constructor',
          id: ['langchain_core', 'messages', 'AIMessage'],
          kwargs: { ...kwargs, tool_calls: none },
        },
      ]),
    );
    assert.deepEqual(
      said.episodes[0]?.entries.map((entry) => entry.text),
      ['Plan'],
    );
  });
});

describe('an entry', () => {
  const asked = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"ANSWER"}]}';

  it('with half a character, with bytes that are no text or with NaN is read, and counted', () => {
    const halved = wholeLog(asked.replace('ANSWER', String.raw`so \ud83d or \ud83d\ude00`));
    assert.deepEqual(said(halved), [['assistant > so \u{fffd} or \u{1f600}']]);
    const bytes = wholeLog(Buffer.from(asked.replace('ANSWER', 'caf\xe9'), 'latin1'));
    assert.deepEqual(said(bytes), [['assistant > caf\u{fffd}']]);
    const numbers = wholeLog(asked.replace(']}', '],"score":NaN,"cost":-Infinity,"note":"NaN \\" NaN"}'));
    assert.deepEqual([said(numbers), numbers.episodes[0]?.return], [[['assistant > ANSWER']], null]);
    for (const log of [halved, bytes, numbers]) {
      assert.deepEqual([...log.leftOut.values()], [1]);
    }
    assert.deepEqual([...wholeLog(asked.replace('ANSWER', String.raw`\ud83d\ude00`)).leftOut], []);
  });

  it('that is broken costs no other one, and is named by its line', () => {
    const log = wholeLog([asked, '{oops}', asked.slice(0, 30), 'text', asked].join('\n'));
    assert.deepEqual(said(log), [['assistant > ANSWER'], ['assistant > ANSWER']]);
    assert.deepEqual([...log.leftOut], [['entries that are not JSON (line 2; line 3; line 4)', 3]]);
  });
});

describe('a context as text', () => {
  it('is another one for other messages, also where a text looks like a heading', () => {
    const message = (role: 'user' | 'assistant', text: string, name: string | null = null) => ({ role, name, text });
    const texts = [
      [message('user', 'a'), message('user', 'b')],
      [message('user', 'a\n\n### user\nb')],
      [message('user', 'a\n\n\\### user\nb')],
      [message('user', 'a'), message('user', 'b', 'x')],
      [message('user', 'a\n'), message('user', 'b')],
    ].map((messages) => contextText(messages));
    assert.equal(new Set(texts).size, texts.length);
    assert.equal(texts[0], '### user\na\n\n### user\nb');
    assert.equal(texts[1], '### user\na\n\n\\### user\nb');
  });
});
