/** A team of LangGraph that asks as a bundled team is asked: one after the other. */

import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { asked, teamNamed } from '../teams.mjs';

const nodeOf = ({ role, system, model, maxTokens }) => {
  const chat = new ChatOpenAI({
    model,
    temperature: 1,
    maxTokens,
    modelKwargs: { seed: 7 },
    configuration: { defaultHeaders: { 'x-c3-role': role } },
  });
  return async ({ messages: [question, ...said] }, { configurable = {} }) => {
    const prompt = asked(
      question.text,
      said.map(({ text }) => text),
    );
    const headers = configurable.episode === undefined ? {} : { 'x-c3-episode': configurable.episode };
    const options = { options: { headers } };
    return { messages: [await chat.invoke([new SystemMessage(system), new HumanMessage(prompt)], options)] };
  };
};

/** @param checkpointer null for none */
export function buildTeam(checkpointer = null, name = 'arithmetic') {
  const graph = new StateGraph(MessagesAnnotation);
  let before = START;
  for (const one of teamNamed(name)) {
    graph.addNode(one.role, nodeOf(one)).addEdge(before, one.role);
    before = one.role;
  }
  return graph.addEdge(before, END).compile(checkpointer === null ? {} : { checkpointer });
}
