/**
 * A team of LangGraph whose planner may say one token only: what it leaves out, the solver has to guess. Nobody reads
 * what the namer says.
 */

import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';

const QUESTION =
  'In the morning Pam has 2 balloons. Pam takes 8 balloons from Jon. Pam sells 2 balloons. How many balloons does Pam have in the end?';

const asking = (role, maxTokens) =>
  new ChatOpenAI({
    model: 'any',
    temperature: 1,
    maxTokens,
    modelKwargs: { seed: 1 },
    configuration: { defaultHeaders: { 'x-c3-role': role } },
  });
const [namer, planner, solver] = [asking('namer', 8), asking('planner', 1), asking('solver', 48)];
const ask = async (model, system, user) => ({
  messages: [await model.invoke([new SystemMessage(system), new HumanMessage(user)])],
});

const team = new StateGraph(MessagesAnnotation)
  .addNode('namer', ({ messages: [question] }) => ask(namer, 'Name.', `Problem:\n${question.text}`))
  .addNode('planner', ({ messages: [question] }) => ask(planner, 'Plan.', `Problem:\n${question.text}`))
  .addNode('solver', ({ messages: [question, , plan] }) =>
    ask(solver, 'Solve.', `Problem:\n${question.text}\n\nContext:\n${plan.text}`),
  )
  .addEdge(START, 'namer')
  .addEdge('namer', 'planner')
  .addEdge('planner', 'solver')
  .addEdge('solver', END)
  .compile();

const { messages } = await team.invoke({ messages: [{ role: 'user', content: QUESTION }] });
console.log(messages.at(-1).text);
