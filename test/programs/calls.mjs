/** A program without any library, for tests of drivers: a planner that may call a tool, then a writer. */

import { wrapped } from '../../media/drivers/driver.mjs';

/** How often the tool ran in this process. */
const ran = { count: 0 };
const sum = wrapped('sum', ([a, b]) => {
  ran.count++;
  return `${a + b} (run ${ran.count})`;
});
const TOOLS = [{ type: 'function', function: { name: 'sum', parameters: {} } }];

async function ask(role, messages, stream = false) {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(role !== null && { 'x-c3-role': role }) },
    body: JSON.stringify({ model: 'm', messages, tools: TOOLS, stream }),
  });
  if (!response.ok) {
    throw new Error(`status ${response.status}`);
  }
  if (!stream) {
    return (await response.json()).choices[0].message;
  }
  const pieces = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'));
  return Object.assign({}, ...pieces.map((line) => JSON.parse(line.slice('data: '.length)).choices[0].delta));
}

export async function program(question) {
  console.log('what a program prints goes elsewhere');
  const messages = [{ role: 'user', content: question }];
  const first = await ask('planner', messages);
  messages.push(first);
  for (const { id, function: call } of first.tool_calls ?? []) {
    messages.push({ role: 'tool', tool_call_id: id, content: await sum(JSON.parse(call.arguments)) });
  }
  const { content } = first.tool_calls ? await ask('planner', messages) : first;
  const { content: text } = await ask(
    null,
    [
      { role: 'system', content: 'Write.' },
      { role: 'user', content },
    ],
    true,
  );
  return { text, return: text.includes('19') ? 1 : 0 };
}
