/** The commands, in the order of the help. The work of a command is loaded when it runs. */
import { command, type Command } from './command.ts';
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
      command(RUN, async () => (await import('./runs.ts')).run),
      command(REPLACE, async () => (await import('./replace.ts')).replace),
      command(PLAN, async () => (await import('./models.ts')).planCommand),
      command(CONVERT, async () => (await import('./convert.ts')).convert),
      command(STATUS, async () => (await import('./jobs.ts')).status),
      command(CANCEL, async () => (await import('./jobs.ts')).cancel),
    ],
  },
  {
    title: 'What a message did',
    commands: [
      command(REPLAY, async () => (await import('./runs.ts')).replay),
      command(BLAME, async () => (await import('./blame.ts')).blame),
      command(TRY, async () => (await import('./trial.ts')).tryCommand),
      command(VERIFY, async () => (await import('./runs.ts')).verify),
      command(KEEP, async () => (await import('./findings.ts')).keep),
      command(CHECK, async () => (await import('./findings.ts')).check),
    ],
  },
  {
    title: 'Results of runs',
    commands: [
      command(TAXONOMY, async () => (await import('./measures.ts')).taxonomy),
      command(LABEL, async () => (await import('./measures.ts')).label),
      command(DIAGNOSE, async () => (await import('./measures.ts')).diagnoseRun),
      command(REPORT, async () => (await import('./report.ts')).report),
      command(NOTE, async () => (await import('./ownRuns.ts')).note),
      command(DELETE, async () => (await import('./ownRuns.ts')).deleteCommand),
    ],
  },
  {
    title: 'Other programs',
    commands: [
      command(RECORD, async () => (await import('./record.ts')).record),
      command(IMPORT, async () => (await import('./exchange.ts')).importFile),
      command(INFER, async () => (await import('./infer.ts')).infer),
      command(EXPORT, async () => (await import('./exchange.ts')).exportRun),
      command(SERVE, async () => (await import('./serve.ts')).serve),
      command(MCP, async () => (await import('./mcp.ts')).mcp),
    ],
  },
  {
    title: 'JSON Lines from standard input',
    commands: [
      command(CREDIT, async () => (await import('./measures.ts')).credit),
      command(GRADE, async () => (await import('./measures.ts')).grade),
      command(GENERATE, async () => (await import('./models.ts')).generate),
      command(SCORE, async () => (await import('./models.ts')).score),
    ],
  },
  {
    title: 'Models and this machine',
    commands: [
      command(MODEL_FOLDER, async () => (await import('./models.ts')).modelCommand),
      command(DOCTOR, async () => (await import('./measures.ts')).doctor),
      command(BENCH, async () => (await import('./bench.ts')).bench),
      command(COMPLETION, async () => {
        const { completionScript } = await import('./completion.ts');
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
