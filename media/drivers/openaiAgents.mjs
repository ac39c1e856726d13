/**
 * Drives a program of yours with the OpenAI Agents SDK for `c3 replay --team`. Import this before the program, which
 * asks by chat completions: `setOpenAIAPI('chat_completions')`.
 */

import { drive, wrapped } from './driver.mjs';

/** Function tools that run only where the log does not have their results; give these to the agents. */
export const recordedTools = (tools) =>
  tools.map((tool) => ({ ...tool, invoke: wrapped(tool.name, (...given) => tool.invoke(...given)) }));

/**
 * @param run from a question to the result of a run: `(question) => run(agent, question)`
 * @param outcome from that result to `{ text, return }`; its final output unless given
 */
export function driveAgents({ run, outcome = finalOutput }) {
  drive(async (question) => outcome(await run(question), question));
}

const finalOutput = ({ finalOutput: said }) => ({ text: typeof said === 'string' ? said : JSON.stringify(said ?? '') });
