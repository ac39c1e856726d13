/** Runs the team once: `main.mjs FILE QUESTION [TEAM]`; the file is of no use here. */

import { teamOf, tools } from './team.mjs';

const [, question, team] = process.argv.slice(2);
await teamOf(tools, team)(question);
