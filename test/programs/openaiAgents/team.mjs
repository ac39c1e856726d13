/**
 * A bundled team in the OpenAI Agents SDK: each agent hands over to the next one, and some note what they say with a
 * tool first. The small models call no tools, so these calls are made of their texts.
 */

import { Agent, handoff, OpenAIChatCompletionsModel, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { asked, teamNamed } from '../teams.mjs';

setTracingDisabled(true);

const asking = ({ role, system, model: name, maxTokens }) => {
  const client = new OpenAI({ defaultHeaders: { 'x-c3-role': role } });
  const model = new OpenAIChatCompletionsModel(client, name);
  return async (request, user) => {
    const { output } = await model.getResponse({
      ...request,
      systemInstructions: system,
      input: user,
      tools: [],
      handoffs: [],
      modelSettings: { temperature: 1, maxTokens, providerData: { seed: 7 } },
    });
    return output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');
  };
};
const called = (name, place, args) => {
  const rest = { name, status: 'completed', arguments: JSON.stringify(args) };
  return { type: 'function_call', callId: `${name}_${place}`, ...rest };
};
const itemsOf = ({ input }) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input);
const textIn = (content) => (typeof content === 'string' ? content : content.map(({ text }) => text).join(''));
const questionOf = (request) => textIn(itemsOf(request).find(({ role }) => role === 'user').content);
/** What the agents said, as a text or as a note. */
const saidIn = (items) =>
  items.flatMap(({ type, role, content, name, arguments: given }) => {
    const noted = type === 'function_call' && name === 'note';
    return noted ? [JSON.parse(given).text] : role === 'assistant' ? [textIn(content)] : [];
  });

/**
 * @param place in the order in which the agents speak
 * @param next who is handed over to
 */
function modelOf(one, place, next) {
  const ask = asking(one);
  const over = next === undefined ? [] : [called(`transfer_to_${next.role}`, place, {})];
  const outputFor = async (request) => {
    const said = saidIn(itemsOf(request));
    if (said.length > place) {
      return over;
    }
    const text = await ask(request, asked(questionOf(request), said));
    if (one.notes) {
      return [called('note', place, { text })];
    }
    const content = [{ type: 'output_text', text }];
    return [{ type: 'message', role: 'assistant', status: 'completed', content }, ...over];
  };
  return { getResponse: async (request) => ({ usage: new Usage(), output: await outputFor(request) }) };
}

export const tools = [
  tool({
    name: 'note',
    description: 'Notes what was said.',
    parameters: z.object({ text: z.string() }),
    execute: ({ text }) => `noted ${text}`,
  }),
];

/**
 * @param tools of those that note what they say
 * @returns from a question to what each agent says, in order
 */
export function teamOf(tools, name = 'arithmetic') {
  const roles = teamNamed(name);
  const first = roles.reduceRight((next, one, place) => {
    const model = modelOf(one, place, roles[place + 1]);
    return new Agent({
      name: one.role,
      model,
      tools: one.notes ? tools : [],
      handoffs: next === null ? [] : [handoff(next)],
    });
  }, null);
  return async (question) => {
    const { history } = await run(first, question);
    return saidIn(history);
  };
}
