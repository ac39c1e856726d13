/**
 * A team of the OpenAI Agents SDK that asks as the bundled team of arithmetic is asked: a planner with a tool, which
 * hands over to an actor. The small model calls no tools, so its text is converted to the calls.
 */
import { Agent, handoff, OpenAIChatCompletionsModel, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

setTracingDisabled(true);

const asking = (role, maxTokens) => {
  const client = new OpenAI({ defaultHeaders: { 'x-c3-role': role } });
  const model = new OpenAIChatCompletionsModel(client, 'c3-arithmetic');
  return async (request, system, user) => {
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
const planning = asking('planner', 16);
const acting = asking('actor', 48);
const called = (name, args) => ({
  usage: new Usage(),
  output: [{ type: 'function_call', callId: name, name, status: 'completed', arguments: JSON.stringify(args) }],
});
const itemsOf = ({ input }) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input);
const questionOf = (request) => {
  const { content } = itemsOf(request).find(({ role }) => role === 'user');
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
};
const planOf = (request) =>
  JSON.parse(itemsOf(request).find(({ type, name }) => type === 'function_call' && name === 'note').arguments).plan;

const plannerModel = {
  getResponse: async (request) =>
    itemsOf(request).some(({ type }) => type === 'function_call_result')
      ? called('transfer_to_actor', {})
      : called('note', { plan: await planning(request, 'Plan.', `Problem:\n${questionOf(request)}`) }),
};
const actorModel = {
  getResponse: async (request) => {
    const plan = planOf(request);
    const context = plan === '' ? '' : `\n\nContext:\n${plan}`;
    const text = await acting(request, 'Solve.', `Problem:\n${questionOf(request)}${context}`);
    const content = [{ type: 'output_text', text }];
    return { usage: new Usage(), output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
  },
};

export const tools = [
  tool({
    name: 'note',
    description: 'Notes a plan.',
    parameters: z.object({ plan: z.string() }),
    execute: ({ plan }) => `noted ${plan}`,
  }),
];

/** @param tools of the planner */
export function teamOf(tools) {
  const actor = new Agent({ name: 'actor', model: actorModel });
  const planner = new Agent({ name: 'planner', model: plannerModel, tools, handoffs: [handoff(actor)] });
  return async (question) => (await run(planner, question)).finalOutput;
}
