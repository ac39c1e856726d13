/** Programs as people write them with each library; each gives what its library recorded of it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MODEL = 'gpt-4o-mini';
const json = (value) => `${JSON.stringify(value)}\n`;

/** A question, a prompt and a tool whose texts are planted. */
function talk(marks) {
  return {
    system: marks.mark('asked', 'You answer tersely.'),
    question: marks.mark('asked', 'How warm is it?'),
    get then() {
      return marks.mark('asked', 'And tomorrow?');
    },
    lookup: () => marks.mark('gave', '18 degrees'),
  };
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const CHAT_TOOLS = [{ type: 'function', function: { name: 'lookup', description: 'Looks it up.', parameters } }];

/** Spans of this process, as OpenTelemetry's exporter of JSON sends them. */
function spansIn(libraries) {
  const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = libraries('@opentelemetry/sdk-trace-node');
  const { JsonTraceSerializer } = libraries('@opentelemetry/otlp-transformer');
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  return {
    provider,
    within: (work) =>
      provider.getTracer('team').startActiveSpan('team', async (span) => {
        await work();
        span.end();
      }),
    text: async () => {
      await provider.forceFlush();
      return `${Buffer.from(JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans()))}\n`;
    },
  };
}

/** The tool loop that people write around the client of OpenAI. */
async function chatLoop(client, { system, question, then, lookup }, stream) {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ];
  for (const asked of [null, then]) {
    if (asked !== null) {
      messages.push({ role: 'user', content: asked });
    }
    for (let turn = 0; turn < 3; turn++) {
      const message = await chatOnce(client, messages, stream);
      messages.push(message);
      for (const { id } of message.tool_calls ?? []) {
        messages.push({ role: 'tool', tool_call_id: id, content: lookup() });
      }
      if (message.tool_calls === undefined) {
        break;
      }
    }
  }
}

async function chatOnce(client, messages, stream) {
  const asked = { model: MODEL, messages: structuredClone(messages), tools: CHAT_TOOLS, temperature: 0.5 };
  if (!stream) {
    return (await client.chat.completions.create(asked)).choices[0].message;
  }
  let content = '';
  let call;
  for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
    const delta = choices[0]?.delta ?? {};
    content += delta.content ?? '';
    for (const one of delta.tool_calls ?? []) {
      call ??= { ...one, function: { ...one.function, arguments: '' } };
      call.function.arguments += one.function?.arguments ?? '';
    }
  }
  if (call === undefined) {
    return { role: 'assistant', content };
  }
  delete call.index;
  return { role: 'assistant', content, tool_calls: [call] };
}

async function responsesLoop(client, { system, question, lookup }) {
  const tools = [{ type: 'function', name: 'lookup', description: 'Looks it up.', parameters, strict: false }];
  const input = [{ role: 'user', content: question }];
  for (let turn = 0; turn < 3; turn++) {
    const { output } = await client.responses.create({ model: MODEL, instructions: system, input, tools });
    input.push(...output);
    const calls = output.filter(({ type }) => type === 'function_call');
    input.push(...calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: lookup() })));
    if (calls.length === 0) {
      return;
    }
  }
}

async function messagesLoop(client, { system, question, lookup }) {
  const tools = [{ name: 'lookup', description: 'Looks it up.', input_schema: parameters }];
  const messages = [{ role: 'user', content: question }];
  for (let turn = 0; turn < 3; turn++) {
    const said = structuredClone(messages);
    const { content } = await client.messages.create({
      model: 'claude-x',
      max_tokens: 99,
      system,
      messages: said,
      tools,
    });
    messages.push({ role: 'assistant', content });
    const results = content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: lookup() }));
    if (results.length === 0) {
      return;
    }
    messages.push({ role: 'user', content: results });
  }
}

const openaiSpans =
  (library, name, work) =>
  async ({ libraries, marks }) => {
    const spans = spansIn(libraries);
    const { OpenAIInstrumentation } = libraries(library);
    const openai = libraries('openai');
    const instrumentation = new OpenAIInstrumentation();
    instrumentation.setTracerProvider(spans.provider);
    instrumentation.manuallyInstrument(library.startsWith('@traceloop') ? openai.OpenAI : openai);
    await spans.within(() => work(new openai.OpenAI(), talk(marks)));
    return { file: `${name}.json`, text: await spans.text() };
  };

/** An agent of LangChain whose conversation is summarized as it grows. */
async function agentOf(libraries, marks, checkpointer) {
  const { createAgent, summarizationMiddleware, tool } = libraries('langchain');
  const { ChatOpenAI } = libraries('@langchain/openai');
  const { z } = libraries('zod');
  const { system, question, then, lookup } = talk(marks);
  const look = tool(lookup, { name: 'lookup', description: 'Looks it up.', schema: z.object({ city: z.string() }) });
  const model = new ChatOpenAI({ model: MODEL });
  const summarizer = new ChatOpenAI({ model: 'summarizer' });
  const middleware = [summarizationMiddleware({ model: summarizer, trigger: { messages: 4 }, keep: { messages: 2 } })];
  const agent = createAgent({ model, tools: [look], systemPrompt: system, checkpointer, middleware });
  const config = { configurable: { thread_id: 'one' } };
  for (const content of [question, then]) {
    await agent.invoke({ messages: [{ role: 'user', content }] }, config);
  }
}

const langchainSpans =
  (library, name) =>
  async ({ libraries, marks }) => {
    const spans = spansIn(libraries);
    const { LangChainInstrumentation } = libraries(library);
    const callbackManagerModule = libraries('@langchain/core/callbacks/manager');
    const instrumentation = new LangChainInstrumentation();
    instrumentation.setTracerProvider(spans.provider);
    instrumentation.manuallyInstrument(
      library.startsWith('@traceloop') ? { callbackManagerModule } : callbackManagerModule,
    );
    const { MemorySaver } = libraries('@langchain/langgraph');
    await spans.within(() => agentOf(libraries, marks, new MemorySaver()));
    return { file: `${name}.json`, text: await spans.text() };
  };

export const PROGRAMS = {
  openInferenceOpenai: openaiSpans(
    '@arizeai/openinference-instrumentation-openai',
    'openInferenceOpenai',
    (client, said) => chatLoop(client, said, false),
  ),
  openInferenceStream: openaiSpans(
    '@arizeai/openinference-instrumentation-openai',
    'openInferenceStream',
    (client, said) => chatLoop(client, said, true),
  ),
  openInferenceResponses: openaiSpans(
    '@arizeai/openinference-instrumentation-openai',
    'openInferenceResponses',
    responsesLoop,
  ),
  traceloopOpenai: openaiSpans('@traceloop/instrumentation-openai', 'traceloopOpenai', (client, said) =>
    chatLoop(client, said, false),
  ),
  traceloopStream: openaiSpans('@traceloop/instrumentation-openai', 'traceloopStream', (client, said) =>
    chatLoop(client, said, true),
  ),
  openInferenceLangChain: langchainSpans('@arizeai/openinference-instrumentation-langchain', 'openInferenceLangChain'),
  traceloopLangChain: langchainSpans('@traceloop/instrumentation-langchain', 'traceloopLangChain'),
  async langGraph({ libraries, marks }) {
    const { SqliteSaver } = libraries('@langchain/langgraph-checkpoint-sqlite');
    const folder = mkdtempSync(join(tmpdir(), 'c3-corpus-'));
    const path = join(folder, 'langGraph.sqlite');
    const saver = SqliteSaver.fromConnString(path);
    await agentOf(libraries, marks, saver);
    saver.db.pragma('journal_mode = DELETE');
    saver.db.close();
    const text = readFileSync(path);
    rmSync(folder, { recursive: true });
    return { file: 'langGraph.sqlite', text };
  },
  async aiSdk({ libraries, marks }) {
    const spans = spansIn(libraries);
    const { generateText, stepCountIs, streamText, tool } = libraries('ai');
    const { openai } = libraries('@ai-sdk/openai');
    const { z } = libraries('zod');
    const { system, question, then, lookup } = talk(marks);
    const look = tool({ description: 'Looks it up.', inputSchema: z.object({ city: z.string() }), execute: lookup });
    const given = { system, tools: { lookup: look }, stopWhen: stepCountIs(3) };
    const telemetry = (functionId) => ({ experimental_telemetry: { isEnabled: true, functionId } });
    await spans.within(async () => {
      await generateText({ model: openai.chat(MODEL), prompt: question, ...given, ...telemetry('planner') });
      const { text } = streamText({ model: openai.chat(MODEL), prompt: then, ...given, ...telemetry('writer') });
      await text;
      const last = marks.mark('asked', 'And in a week?');
      await generateText({ model: openai(MODEL), prompt: last, ...given, ...telemetry('responder') });
    });
    return { file: 'aiSdk.json', text: await spans.text() };
  },
  async openaiAgents({ libraries, marks }) {
    const { addTraceProcessor, Agent, run, setOpenAIAPI, tool } = libraries('@openai/agents');
    const { z } = libraries('zod');
    // Its traces hold what is said by this protocol alone: of responses they have the ids.
    setOpenAIAPI('chat_completions');
    const items = [];
    const keep = (item) => Promise.resolve(void items.push(item.toJSON()));
    const none = () => Promise.resolve();
    addTraceProcessor({
      onTraceStart: none,
      onTraceEnd: keep,
      onSpanStart: none,
      onSpanEnd: keep,
      shutdown: none,
      forceFlush: none,
    });
    const { system, question, then, lookup } = talk(marks);
    const look = tool({
      name: 'lookup',
      description: 'Looks it up.',
      parameters: z.object({ city: z.string() }),
      execute: lookup,
    });
    const planner = new Agent({ name: 'planner', instructions: system, model: MODEL, tools: [look] });
    const writer = new Agent({ name: 'writer', instructions: marks.mark('asked', 'You write.'), model: MODEL });
    const { finalOutput } = await run(planner, question);
    await run(writer, `${then} ${finalOutput}`);
    return { file: 'openaiAgents.jsonl', text: items.map(json).join('') };
  },
  async openai({ libraries, marks, calls }) {
    const { OpenAI } = libraries('openai');
    await chatLoop(new OpenAI(), talk(marks), false);
    return { file: 'openai.jsonl', text: calls.map(({ request, response }) => json({ request, response })).join('') };
  },
  async openaiResponses({ libraries, marks, calls }) {
    const { OpenAI } = libraries('openai');
    await responsesLoop(new OpenAI(), talk(marks));
    return {
      file: 'openaiResponses.jsonl',
      text: calls.map(({ request, response }) => json({ request, response })).join(''),
    };
  },
  async anthropic({ libraries, marks, calls, server }) {
    const { Anthropic } = libraries('@anthropic-ai/sdk');
    await messagesLoop(new Anthropic({ baseURL: server.origin }), talk(marks));
    return {
      file: 'anthropic.jsonl',
      text: calls.map(({ request, response }) => json({ request, response })).join(''),
    };
  },
};
