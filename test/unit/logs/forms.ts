/** One conversation of an agent with tools, in the forms in which libraries, servers and tracers write it. */

export interface Call {
  readonly id: string;
  readonly name: string;
  /** What the tool is asked, and what it gave. */
  readonly asked: string;
  readonly gave: string;
}

/** What a model said in one call. */
export interface Turn {
  readonly text: string;
  readonly reasoning: string | null;
  readonly calls: readonly Call[];
  /** What a person says after it; null where nobody does. */
  readonly then: string | null;
}

export interface Talk {
  readonly system: string;
  readonly question: string;
  /** The last of them calls no tools. */
  readonly turns: readonly Turn[];
}

type Json = Readonly<Record<string, unknown>>;

const given = ({ asked }: Call): Json => ({ q: asked });
const json = (value: unknown): string => JSON.stringify(value);

/** Messages as OpenAI's chat completions have them. */
export const openAi = (talk: Talk): Json[] => [
  { role: 'system', content: talk.system },
  { role: 'user', content: [{ type: 'text', text: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    {
      role: 'assistant',
      content: text,
      ...(reasoning !== null && { reasoning_content: reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: json(given(call)) },
        })),
      }),
    },
    ...calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: call.gave })),
    ...(then === null ? [] : [{ role: 'user', content: then }]),
  ]),
];

/** Anthropic's: the results of all tools and a person's words in one message. */
export const anthropic = (talk: Talk): Json[] => [
  { role: 'user', content: talk.question },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => {
    const results = calls.map((call, index) => ({
      type: 'tool_result',
      tool_use_id: call.id,
      content: index % 2 === 0 ? call.gave : [{ type: 'text', text: call.gave }],
    }));
    const words = then === null ? [] : [{ type: 'text', text: then }];
    return [
      {
        role: 'assistant',
        content: [
          ...(reasoning === null ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'abc' }]),
          { type: 'text', text },
          ...calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: given(call) })),
        ],
      },
      ...(results.length + words.length > 0 ? [{ role: 'user', content: [...results, ...words] }] : []),
    ];
  }),
];

const gemini = (talk: Talk): Json[] => [
  { role: 'user', parts: [{ text: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    {
      role: 'model',
      parts: [
        ...(reasoning === null ? [] : [{ text: reasoning, thought: true }]),
        { text },
        ...calls.map((call) => ({ functionCall: { name: call.name, args: given(call) } })),
      ],
    },
    ...(calls.length > 0
      ? [
          {
            role: 'user',
            parts: calls.map((call) => ({ functionResponse: { name: call.name, response: { answer: call.gave } } })),
          },
        ]
      : []),
    ...(then === null ? [] : [{ role: 'user', parts: [{ text: then }] }]),
  ]),
];

/** Items of OpenAI's responses. */
const items = (talk: Talk): Json[] => [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    ...(reasoning === null
      ? []
      : [{ type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: reasoning }] }]),
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
    ...calls.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: json(given(call)),
    })),
    ...calls.map((call) => ({ type: 'function_call_output', call_id: call.id, output: call.gave })),
    ...(then === null ? [] : [{ role: 'user', content: then }]),
  ]),
];

const langChain = (talk: Talk, wrap: (type: string, kwargs: Json) => Json): Json[] => [
  wrap('system', { content: talk.system }),
  wrap('human', { content: talk.question }),
  ...talk.turns.flatMap(({ text, reasoning, calls, then }) => [
    wrap('ai', {
      content: text,
      additional_kwargs: reasoning === null ? {} : { reasoning_content: reasoning },
      tool_calls: calls.map((call) => ({ id: call.id, name: call.name, args: given(call), type: 'tool_call' })),
    }),
    ...calls.map((call) => wrap('tool', { content: call.gave, tool_call_id: call.id })),
    ...(then === null ? [] : [wrap('human', { content: then })]),
  ]),
];
const CLASSES: Readonly<Record<string, string>> = {
  system: 'SystemMessage',
  human: 'HumanMessage',
  ai: 'AIMessage',
  tool: 'ToolMessage',
};
const constructed = (type: string, kwargs: Json): Json => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', CLASSES[type]],
  kwargs,
});

const pydantic = (talk: Talk): Json[] => [
  {
    kind: 'request',
    parts: [
      { part_kind: 'system-prompt', content: talk.system },
      { part_kind: 'user-prompt', content: talk.question },
    ],
  },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => {
    const parts = [
      ...calls.map((call) => ({
        part_kind: 'tool-return',
        tool_name: call.name,
        content: call.gave,
        tool_call_id: call.id,
      })),
      ...(then === null ? [] : [{ part_kind: 'user-prompt', content: [then] }]),
    ];
    return [
      {
        kind: 'response',
        parts: [
          ...(reasoning === null ? [] : [{ part_kind: 'thinking', content: reasoning }]),
          { part_kind: 'text', content: text },
          ...calls.map((call) => ({
            part_kind: 'tool-call',
            tool_name: call.name,
            args: json(given(call)),
            tool_call_id: call.id,
          })),
        ],
      },
      ...(parts.length > 0 ? [{ kind: 'request', parts }] : []),
    ];
  }),
];

/** Messages of a page of the AI SDK: what a tool gave stands in the message that called it. */
const aiSdkPage = (talk: Talk): Json[] => [
  { role: 'user', parts: [{ type: 'text', text: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    {
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        ...(reasoning === null ? [] : [{ type: 'reasoning', text: reasoning }]),
        { type: 'text', text },
        ...calls.map((call) => ({
          type: `tool-${call.name}`,
          toolCallId: call.id,
          state: 'output-available',
          input: given(call),
          output: call.gave,
        })),
      ],
    },
    ...(then === null ? [] : [{ role: 'user', parts: [{ type: 'text', text: then }] }]),
  ]),
];

const bedrock = (talk: Talk): Json[] => [
  { role: 'user', content: [{ text: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    {
      role: 'assistant',
      content: [
        ...(reasoning === null ? [] : [{ reasoningContent: { reasoningText: { text: reasoning } } }]),
        { text },
        ...calls.map((call) => ({ toolUse: { toolUseId: call.id, name: call.name, input: given(call) } })),
      ],
    },
    ...(calls.length + (then === null ? 0 : 1) > 0
      ? [
          {
            role: 'user',
            content: [
              ...calls.map((call) => ({ toolResult: { toolUseId: call.id, content: [{ json: { it: call.gave } }] } })),
              ...(then === null ? [] : [{ text: then }]),
            ],
          },
        ]
      : []),
  ]),
];

const shareGpt = (talk: Talk): Json[] => [
  { from: 'system', value: talk.system },
  { from: 'human', value: talk.question },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    { from: 'gpt', value: [reasoning ?? '', text].join('\n') },
    ...calls.flatMap((call) => [
      { from: 'function_call', value: json({ name: call.name, arguments: given(call) }) },
      { from: 'observation', value: call.gave },
    ]),
    ...(then === null ? [] : [{ from: 'human', value: then }]),
  ]),
];

/** Parts of OpenTelemetry's conventions. */
const genAi = (talk: Talk): Json[] => [
  { role: 'user', parts: [{ type: 'text', content: talk.question }] },
  ...talk.turns.flatMap(({ text, reasoning, calls, then }): Json[] => [
    {
      role: 'assistant',
      parts: [
        ...(reasoning === null ? [] : [{ type: 'reasoning', content: reasoning }]),
        { type: 'text', content: text },
        ...calls.map((call) => ({ type: 'tool_call', id: call.id, name: call.name, arguments: given(call) })),
      ],
      finish_reason: 'stop',
    },
    ...calls.map((call) => ({
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: call.id, response: { it: call.gave } }],
    })),
    ...(then === null ? [] : [{ role: 'user', parts: [{ type: 'text', content: then }] }]),
  ]),
];

/** The messages of a talk up to each answer, with that: how tracers see it, call by call. */
interface Asked {
  readonly before: readonly Json[];
  readonly said: Json;
  readonly turn: Turn;
}
function callsOf(talk: Talk, form: (talk: Talk) => Json[], isAnswer: (message: Json) => boolean): Asked[] {
  const all = form(talk);
  return all
    .flatMap((message, at) => (isAnswer(message) ? [{ before: all.slice(0, at), said: message }] : []))
    .map((asked, index) => ({
      ...asked,
      turn: talk.turns[index] ?? { text: '', reasoning: null, calls: [], then: null },
    }));
}
const isAssistant = ({ role }: Json): boolean => role === 'assistant';

type Attributes = Readonly<Record<string, unknown>>;
interface Step {
  readonly name: string;
  readonly attributes: Attributes;
  readonly events?: readonly { readonly name: string; readonly attributes: Attributes }[];
}

const otlpValue = (value: unknown): unknown =>
  typeof value === 'string'
    ? { stringValue: value }
    : Array.isArray(value)
      ? { arrayValue: { values: value.map(otlpValue) } }
      : typeof value === 'object' && value !== null
        ? { kvlistValue: { values: otlpPairs(value) } }
        : { stringValue: String(value) };
const otlpPairs = (attributes: object): unknown[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) }));

const TRACE = '5b8efff798038103d269b633813fc60c';
/** Spans one after another, each a second. */
const spansOf = (steps: readonly Step[]): Json[] =>
  steps.map(({ name, attributes, events = [] }, index) => ({
    traceId: TRACE,
    spanId: String(index + 1).padStart(16, '0'),
    name,
    startTimeUnixNano: `${1_700_000_000 + index}000000000`,
    endTimeUnixNano: `${1_700_000_000 + index}900000000`,
    attributes: otlpPairs(attributes),
    events: events.map((event) => ({ name: event.name, attributes: otlpPairs(event.attributes) })),
  }));
const otlp = (steps: readonly Step[]): unknown => ({ resourceSpans: [{ scopeSpans: [{ spans: spansOf(steps) }] }] });

const toolSpans = (turn: Turn): Step[] =>
  turn.calls.map((call) => ({
    name: `execute_tool ${call.name}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.name,
      'gen_ai.tool.call.id': call.id,
      'gen_ai.tool.call.result': call.gave,
    },
  }));

const indexed = (prefix: string, messages: readonly Json[], inner: string): Attributes =>
  Object.fromEntries(
    messages.flatMap((message, index) =>
      Object.entries(message).flatMap(([key, value]): [string, unknown][] => {
        const at = `${prefix}.${index}.${inner}${key}`;
        if (key === 'tool_calls' && Array.isArray(value)) {
          return (value as { id: string; function: { name: string; arguments: string } }[]).flatMap((call, number) => {
            const own = inner === '' ? `${at}.${number}` : `${at}.${number}.tool_call`;
            return inner === ''
              ? [
                  [`${own}.id`, call.id],
                  [`${own}.name`, call.function.name],
                  [`${own}.arguments`, call.function.arguments],
                ]
              : [
                  [`${own}.id`, call.id],
                  [`${own}.function.name`, call.function.name],
                  [`${own}.function.arguments`, call.function.arguments],
                ];
          });
        }
        return [[at, typeof value === 'string' ? value : json(value)]];
      }),
    ),
  );

/** Plain texts, as tracers flatten them. */
const flat = (talk: Talk): Json[] =>
  openAi(talk).map(({ reasoning_content: reasoning, content, ...message }) => ({
    ...message,
    content: [
      ...(typeof reasoning === 'string' ? [reasoning] : []),
      Array.isArray(content) ? (content as { text: string }[]).map(({ text }) => text).join('\n') : String(content),
    ].join('\n'),
  }));

const withTools =
  (step: (asked: Asked) => Step) =>
  (asked: Asked): Step[] => [step(asked), ...toolSpans(asked.turn)];

/** Each form as the text of a log. */
export const FORMS: Readonly<Record<string, (talk: Talk) => string>> = {
  'messages of OpenAI': (talk) => json({ messages: openAi(talk) }),
  'messages in a list': (talk) => json(openAi(talk)),
  'messages in lines': (talk) => openAi(talk).map(json).join('\n'),
  'messages as JSON in a text': (talk) => json({ id: 7, messages: json(openAi(talk)) }),
  'a batch of OpenAI': (talk) => {
    const [said] = openAi(talk).slice(-1);
    const request = {
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'm', messages: openAi(talk).slice(0, -1) },
    };
    return json({ request, response: { status_code: 200, body: { choices: [{ index: 0, message: said }] } } });
  },
  'a prompt with its completion': (talk) =>
    json({ prompt: openAi(talk).slice(0, -1), completion: openAi(talk).slice(-1), reward: 1 }),
  'messages of Anthropic': (talk) => json({ system: talk.system, messages: anthropic(talk) }),
  'a request of Anthropic with its response': (talk) =>
    json({
      request: { system: [{ type: 'text', text: talk.system }], messages: anthropic(talk).slice(0, -1) },
      response: { ...anthropic(talk).at(-1), stop_reason: 'end_turn', type: 'message' },
    }),
  'contents of Gemini': (talk) =>
    json({ systemInstruction: { parts: [{ text: talk.system }] }, contents: gemini(talk) }),
  'a request of Gemini with its response': (talk) =>
    json({
      request: { system_instruction: { parts: [{ text: talk.system }] }, contents: gemini(talk).slice(0, -1) },
      response: { candidates: [{ content: gemini(talk).at(-1), finishReason: 'STOP' }] },
    }),
  'items of responses': (talk) => json({ instructions: talk.system, input: items(talk) }),
  'LangChain, types': (talk) => json(langChain(talk, (type, kwargs) => ({ type, ...kwargs }))),
  'LangChain, data': (talk) => json(langChain(talk, (type, data) => ({ type, data }))),
  'LangChain, constructors': (talk) => json({ messages: langChain(talk, constructed) }),
  'messages of pydantic-ai': (talk) => json(pydantic(talk)),
  'messages of a page': (talk) => json({ messages: aiSdkPage(talk) }),
  'messages of Bedrock': (talk) => json({ system: [{ text: talk.system }], messages: bedrock(talk) }),
  ShareGPT: (talk) => json([{ id: 'x', conversations: shareGpt(talk) }]),
  'sessions of Claude Code': (talk) =>
    anthropic(talk)
      .map((message, index) =>
        json({
          type: message['role'],
          uuid: `u${index}`,
          parentUuid: index === 0 ? null : `u${index - 1}`,
          isSidechain: false,
          sessionId: 's',
          message: { ...message, id: `msg_${index}` },
        }),
      )
      .join('\n'),
  'GenAI, attributes': (talk) =>
    json(
      otlp(
        callsOf(talk, genAi, isAssistant).flatMap(
          withTools(({ before, said }) => ({
            name: 'chat m',
            attributes: {
              'gen_ai.operation.name': 'chat',
              'gen_ai.system_instructions': json([{ type: 'text', content: talk.system }]),
              'gen_ai.input.messages': json(before),
              'gen_ai.output.messages': [said],
            },
          })),
        ),
      ),
    ),
  'GenAI, events': (talk) =>
    json(
      otlp(
        callsOf(talk, flat, isAssistant).map(({ before, said }) => ({
          name: 'chat m',
          attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
          events: [
            ...before.map(({ role, ...message }) => ({
              name: `gen_ai.${String(role)}.message`,
              attributes: {
                ...message,
                id: message['tool_call_id'] ?? '',
                ...('tool_calls' in message && { tool_calls: json(message['tool_calls']) }),
              },
            })),
            { name: 'gen_ai.choice', attributes: { index: '0', message: json(said), finish_reason: 'stop' } },
          ],
        })),
      ),
    ),
  'GenAI, records of a log': (talk) => {
    const calls = callsOf(talk, flat, isAssistant);
    const spans = calls.map(() => ({ name: 'chat m', attributes: { 'gen_ai.operation.name': 'chat' } }));
    const logRecords = calls.flatMap(({ before, said }, index) =>
      [
        ...before.map(({ role, ...message }) => [`gen_ai.${String(role)}.message`, message] as const),
        ['gen_ai.choice', { index: 0, message: said }] as const,
      ].map(([eventName, body]) => ({
        timeUnixNano: '1700000000000000000',
        eventName,
        traceId: TRACE,
        spanId: String(index + 1).padStart(16, '0'),
        body: otlpValue(body),
      })),
    );
    return `${json(otlp(spans))}\n${json({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })}`;
  },
  'pydantic-ai, events in an attribute': (talk) =>
    json(
      otlp(
        callsOf(talk, flat, isAssistant).map(({ before, said }) => ({
          name: 'chat m',
          attributes: {
            'gen_ai.operation.name': 'chat',
            events: json([
              ...before.map((message) => ({ 'event.name': `gen_ai.${String(message['role'])}.message`, ...message })),
              { 'event.name': 'gen_ai.choice', index: 0, message: said },
            ]),
          },
        })),
      ),
    ),
  OpenInference: (talk) =>
    json(
      otlp(
        callsOf(talk, flat, isAssistant).map(({ before, said }) => ({
          name: 'ChatCompletion',
          attributes: {
            'openinference.span.kind': 'LLM',
            ...indexed('llm.input_messages', before, 'message.'),
            ...indexed('llm.output_messages', [said], 'message.'),
          },
        })),
      ),
    ),
  'spans of Phoenix': (talk) =>
    spansOf(callsOf(talk, flat, isAssistant).map(() => ({ name: 'ChatCompletion', attributes: {} })))
      .map((span, index) => {
        const { before, said } = callsOf(talk, flat, isAssistant)[index] ?? { before: [], said: {} };
        return json({
          name: span['name'],
          context: { trace_id: TRACE, span_id: span['spanId'] },
          parent_id: null,
          start_time: `2025-01-01T00:00:${String(index).padStart(2, '0')}.000000+00:00`,
          attributes: {
            openinference: { span: { kind: 'LLM' } },
            llm: { input_messages: before.map((message) => ({ message })), output_messages: [{ message: said }] },
          },
        });
      })
      .join('\n'),
  OpenLLMetry: (talk) =>
    json(
      otlp(
        callsOf(talk, flat, isAssistant).map(({ before, said }) => ({
          name: 'openai.chat',
          attributes: {
            'llm.request.type': 'chat',
            ...indexed('gen_ai.prompt', before, ''),
            ...indexed('gen_ai.completion', [said], ''),
          },
        })),
      ),
    ),
  Logfire: (talk) =>
    json(
      otlp(
        callsOf(talk, openAi, isAssistant).map(({ before, said }) => ({
          name: "Chat Completion with 'm'",
          attributes: {
            'gen_ai.request.model': 'm',
            request_data: json({ model: 'm', messages: before }),
            response_data: json({ message: said, usage: { prompt_tokens: 3 } }),
          },
        })),
      ),
    ),
  MLflow: (talk) =>
    json({
      info: { trace_id: TRACE },
      data: {
        spans: callsOf(talk, openAi, isAssistant).map(({ before, said }, index) => ({
          trace_id: TRACE,
          span_id: `s${index}`,
          name: 'Completions',
          start_time_unix_nano: 1_700_000_000_000_000_000 + index * 1_000_000_000,
          attributes: {
            'mlflow.spanType': '"CHAT_MODEL"',
            'mlflow.spanInputs': json({ messages: before }),
            'mlflow.spanOutputs': json({ choices: [{ message: said }] }),
          },
        })),
      },
    }),
  'runs of LangSmith': (talk) =>
    callsOf(
      talk,
      (one) => langChain(one, constructed),
      ({ id }) => (id as string[]).at(-1) === 'AIMessage',
    )
      .map(({ before, said }, index) =>
        json({
          id: `r${index}`,
          trace_id: 't',
          run_type: 'llm',
          start_time: `2025-01-01T00:00:${String(index).padStart(2, '0')}`,
          inputs: { messages: [before] },
          outputs: { generations: [[{ text: '', message: said }]] },
        }),
      )
      .join('\n'),
  'observations of Langfuse': (talk) =>
    json({
      data: callsOf(talk, openAi, isAssistant).map(({ before, said }, index) => ({
        id: `o${index}`,
        traceId: 't',
        type: 'GENERATION',
        startTime: `2025-01-01T00:00:${String(index).padStart(2, '0')}.000Z`,
        input: before,
        output: said,
      })),
    }),
  'calls of Weave': (talk) =>
    callsOf(talk, openAi, isAssistant)
      .map(({ before, said }, index) =>
        json({
          id: `w${index}`,
          trace_id: 't',
          op_name: 'weave:///me/project/op/openai.chat.completions.create:abc',
          started_at: `2025-01-01T00:00:${String(index).padStart(2, '0')}.000Z`,
          inputs: { messages: before },
          output: { choices: [{ message: said }] },
        }),
      )
      .join('\n'),
  'traces of the Agents SDK': (talk) =>
    json({
      data: callsOf(talk, openAi, isAssistant).map(({ before, said }, index) => ({
        object: 'trace.span',
        id: `span_${index}`,
        trace_id: 't',
        parent_id: null,
        started_at: `2025-01-01T00:00:${String(index).padStart(2, '0')}.000Z`,
        span_data: { type: 'generation', input: before, output: [said], model: 'm' },
      })),
    }),
};

/** Forms that have no place for a system prompt. */
export const WITHOUT_SYSTEM: ReadonlySet<string> = new Set(['messages of a page', 'sessions of Claude Code']);
