/** A team of the AI SDK that asks as a bundled team is asked: one after the other. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';
import { asked, teamNamed } from '../teams.mjs';

async function ask({ role, system, model, maxTokens }, prompt) {
  const provider = createOpenAICompatible({
    name: 'c3',
    baseURL: process.env.OPENAI_BASE_URL,
    apiKey: process.env.OPENAI_API_KEY,
    headers: { 'x-c3-role': role },
  });
  const { text } = await generateText({
    model: provider(model),
    system,
    prompt,
    maxOutputTokens: maxTokens,
    temperature: 1,
    seed: 7,
    maxRetries: 0,
    telemetry: { functionId: role },
  });
  return text;
}

/** @returns what each role says, in order */
export async function solve(question, name = 'arithmetic') {
  const said = [];
  for (const role of teamNamed(name)) {
    said.push(await ask(role, asked(question, said)));
  }
  return said;
}
