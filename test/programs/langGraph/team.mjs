/** A team of LangGraph that asks as the bundled team of arithmetic is asked: a planner, then an actor. */
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';

const asking = (role, maxTokens) =>
  new ChatOpenAI({
    model: 'c3-arithmetic',
    temperature: 1,
    maxTokens,
    modelKwargs: { seed: 7 },
    configuration: { defaultHeaders: { 'x-c3-role': role } },
  });
const planner = asking('planner', 16);
const actor = asking('actor', 48);
const ask = async (model, system, user) => {
  const said = await model.invoke([new SystemMessage(system), new HumanMessage(user)]);
  return { messages: [said] };
};

/** @param checkpointer null for none */
export const buildTeam = (checkpointer = null) =>
  new StateGraph(MessagesAnnotation)
    .addNode('planner', ({ messages: [question] }) => ask(planner, 'Plan.', `Problem:\n${question.text}`))
    .addNode('actor', ({ messages: [question, plan] }) =>
      ask(actor, 'Solve.', `Problem:\n${question.text}${plan.text === '' ? '' : `\n\nContext:\n${plan.text}`}`),
    )
    .addEdge(START, 'planner')
    .addEdge('planner', 'actor')
    .addEdge('actor', END)
    .compile(checkpointer === null ? {} : { checkpointer });
