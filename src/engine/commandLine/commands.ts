/** The commands, in the order of the help. The work of a command is loaded when it runs. */

import { defineCommand, type Command } from './command.ts';
import type { Declaration } from './declared/declaration.ts';
import { CREDIT, GENERATE, GRADE, SCORE } from './declared/lines.ts';
import { BENCH, COMPLETION, DOCTOR, MODEL_FOLDER } from './declared/machine.ts';
import { BLAME, CHECK, KEEP, REPLAY, TRY, VERIFY } from './declared/messages.ts';
import { EXPORT, IMPORT, INFER, MCP, RECORD, SERVE } from './declared/programs.ts';
import { DELETE, DIAGNOSE, LABEL, NOTE, REPORT, TAXONOMY } from './declared/results.ts';
import { CANCEL, CONVERT, PLAN, REPLACE, RUN, STATUS } from './declared/runs.ts';
import type { CommandGroup } from './help.ts';

export const GROUPS: readonly CommandGroup[] = [
  {
    title: 'Runs of teams',
    commands: [
      defineCommand(RUN, async () => (await import('./runs.ts')).run),
      defineCommand(REPLACE, async () => (await import('./replace.ts')).replace),
      defineCommand(PLAN, async () => (await import('./models.ts')).planCommand),
      defineCommand(CONVERT, async () => (await import('./convert.ts')).convert),
      defineCommand(STATUS, async () => (await import('./jobs.ts')).status),
      defineCommand(CANCEL, async () => (await import('./jobs.ts')).cancel),
    ],
  },
  {
    title: 'What a message did',
    commands: [
      defineCommand(REPLAY, async () => (await import('./runs.ts')).replay),
      defineCommand(BLAME, async () => (await import('./blame.ts')).blame),
      defineCommand(TRY, async () => (await import('./trial.ts')).tryCommand),
      defineCommand(VERIFY, async () => (await import('./runs.ts')).verify),
      defineCommand(KEEP, async () => (await import('./findings.ts')).keep),
      defineCommand(CHECK, async () => (await import('./findings.ts')).check),
    ],
  },
  {
    title: 'Results of runs',
    commands: [
      defineCommand(TAXONOMY, async () => (await import('./measures.ts')).taxonomy),
      defineCommand(LABEL, async () => (await import('./measures.ts')).label),
      defineCommand(DIAGNOSE, async () => (await import('./measures.ts')).diagnoseRun),
      defineCommand(REPORT, async () => (await import('./report.ts')).report),
      defineCommand(NOTE, async () => (await import('./ownRuns.ts')).note),
      defineCommand(DELETE, async () => (await import('./ownRuns.ts')).deleteCommand),
    ],
  },
  {
    title: 'Other programs',
    commands: [
      defineCommand(RECORD, async () => (await import('./record.ts')).record),
      defineCommand(IMPORT, async () => (await import('./exchange.ts')).importFile),
      defineCommand(INFER, async () => (await import('./infer.ts')).infer),
      defineCommand(EXPORT, async () => (await import('./exchange.ts')).exportRun),
      defineCommand(SERVE, async () => (await import('./serve.ts')).serve),
      defineCommand(MCP, async () => (await import('./mcp.ts')).mcp),
    ],
  },
  {
    title: 'JSON Lines from standard input',
    commands: [
      defineCommand(CREDIT, async () => (await import('./measures.ts')).credit),
      defineCommand(GRADE, async () => (await import('./measures.ts')).grade),
      defineCommand(GENERATE, async () => (await import('./models.ts')).generate),
      defineCommand(SCORE, async () => (await import('./models.ts')).score),
    ],
  },
  {
    title: 'Models and this machine',
    commands: [
      defineCommand(MODEL_FOLDER, async () => (await import('./models.ts')).modelCommand),
      defineCommand(DOCTOR, async () => (await import('./measures.ts')).doctor),
      defineCommand(BENCH, async () => (await import('./bench.ts')).bench),
      defineCommand(COMPLETION, async () => {
        const { buildCompletionScript: completionScript } = await import('./completion.ts');
        return ({ shell }, { print }) => {
          print(completionScript(shell, DECLARED));
          return Promise.resolve();
        };
      }),
    ],
  },
];

/** The declarations of all commands. */
export const DECLARED: readonly Declaration[] = GROUPS.flatMap(({ commands }) => commands).map(
  ({ declared }) => declared,
);

export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  GROUPS.flatMap(({ commands }) => commands).map((one) => [one.declared.name, one]),
);
