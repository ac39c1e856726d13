/** Runs the team once: `main.mjs FILE QUESTION`; the file is of no use here. */
import { teamOf, tools } from './team.mjs';

const [, question] = process.argv.slice(2);
await teamOf(tools)(question);
