/** Runs the team once, with LangGraph's own checkpoints in a file: `main.mjs CHECKPOINTS QUESTION [TEAM]`. */

import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { buildTeam } from './team.mjs';

const [checkpoints, question, name] = process.argv.slice(2);
const team = buildTeam(SqliteSaver.fromConnString(checkpoints), name);
await team.invoke({ messages: [{ role: 'user', content: question }] }, { configurable: { thread_id: 'one' } });
