/** Drives a LangGraph program of yours for `c3 replay --team`. Import this before the program. */

import { randomUUID } from 'node:crypto';
import { drive, wrapped } from './driver.mjs';

/** Tools of LangChain that run only where the log does not have their results; give these to ToolNode. */
export const recordedTools = (tools) =>
  tools.map((tool) => {
    const invoke = wrapped(tool.name, (...given) => tool.invoke(...given));
    // LangGraph makes a message of what is no message yet.
    return new Proxy(tool, { get: (target, key) => (key === 'invoke' ? invoke : Reflect.get(target, key, target)) });
  });

/**
 * @param graph a compiled graph
 * @param input from a question to the graph's input; `{ messages: [{ role: 'user', content: question }] }` unless given
 * @param outcome from the last state to `{ text, return }`; the text of its last message unless given
 * @param config of each invocation; every pass has a thread of its own
 */
export function driveLangGraph({ graph, input = asMessages, outcome = lastMessage, config = {} }) {
  drive(async (question) => {
    const configurable = { ...config.configurable, thread_id: randomUUID() };
    return outcome(await graph.invoke(await input(question), { ...config, configurable }), question);
  });
}

const asMessages = (question) => ({ messages: [{ role: 'user', content: question }] });
const lastMessage = ({ messages = [] }) => ({ text: messages.at(-1)?.text ?? String(messages.at(-1)?.content ?? '') });
