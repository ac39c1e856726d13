/** A team of the AI SDK that asks as the bundled team of arithmetic is asked: a planner, then an actor. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const asking = (role, maxOutputTokens) => async (system, prompt) => {
  const provider = createOpenAICompatible({
    name: 'c3',
    baseURL: process.env.OPENAI_BASE_URL,
    apiKey: process.env.OPENAI_API_KEY,
    headers: { 'x-c3-role': role },
  });
  const { text } = await generateText({
    model: provider('c3-arithmetic'),
    system,
    prompt,
    maxOutputTokens,
    temperature: 1,
    seed: 7,
    maxRetries: 0,
    telemetry: { functionId: role },
  });
  return text;
};
const plan = asking('planner', 16);
const act = asking('actor', 48);

/** @returns what the actor says */
export async function solve(question) {
  const planned = await plan('Plan.', `Problem:\n${question}`);
  return act('Solve.', `Problem:\n${question}${planned === '' ? '' : `\n\nContext:\n${planned}`}`);
}
