/**
 * A finding as a file: a message, the context that it was said in, and all that drawing it again needs but the weights.
 * Small and readable, to be kept beside the code; what is edited by hand is checked as a configuration is.
 */
import { isDeepStrictEqual } from 'node:util';
import { Document } from 'yaml';
import { z } from 'zod';
import { EXPECTATIONS, FINDING_DRAWS } from '../../domain/answer.ts';
import { MAX_EVENT_TEXT, type Json } from '../../domain/episode.ts';
import { readRegular } from '../../files/regularFile.ts';
import { isReturn } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import { MAX_YAML_BYTES, MAX_YAML_CHARACTERS } from '../../shared/text/yaml.ts';
import { contextKey } from '../../team/contextKey.ts';
import { readDocument, type KeyPath } from '../../team/document.ts';
import { configSchema, type RunConfig } from '../../training/config/config.ts';
import { examine, faultsOf } from '../../training/config/configFaults.ts';
import { readConfig } from '../../training/config/readConfig.ts';

/** Of this form of the file. */
const VERSION = 1;
/** Columns at which its texts are folded. */
const WIDTH = 100;
const HASH = /^[0-9a-f]{64}$/u;

const hash = z.string().regex(HASH, { error: 'must be 64 hexadecimal digits' });
const said = z.strictObject({ as: z.string().min(1), said: z.string() });
const event = z.strictObject({
  source: z.string(),
  text: z.string().max(MAX_EVENT_TEXT),
  json: z.json().transform((value): Json => value),
  answers: z.array(z.string()).optional(),
  done: z.string().nullable(),
  derived: z.boolean(),
  streamKey: z.string(),
  closing: z.boolean(),
});
const problem = z.strictObject({
  uid: z.string(),
  uidSha: hash,
  question: z.string(),
  answer: z.string(),
  source: z.string(),
  level: z.number().nullable(),
  tests: z
    .strictObject({
      tests: z.array(z.string()).readonly(),
      test: z.string(),
      entryPoint: z.string().nullable(),
      setup: z.string(),
      prefix: z.string(),
      reads: z.literal('value').optional(),
    })
    .optional(),
});
const environment = z.strictObject({
  runtime: z.string(),
  provider: z.string(),
  device: z.string(),
  threads: z.int().min(1),
  platform: z.string(),
});
const drawn = z.strictObject({
  /** The hash of the weights that drew. */
  weights: hash,
  environment,
  /** The return of each draw, with a star where it said the message; a question mark where it could not be scored. */
  draws: z
    .string()
    .refine((text) => readDraws(text) !== null, {
      error: `must be ${FINDING_DRAWS.least} to ${FINDING_DRAWS.most} returns, as 0 1* ?`,
    })
    .transform((text) => readDraws(text) ?? []),
});
/** One draw: what it returned, null where it could not be scored, and whether it said the message of the finding. */
export interface Draw {
  readonly return: number | null;
  readonly same: boolean;
}

const writeDraws = (draws: readonly Draw[]): string =>
  draws.map(({ return: value, same }) => `${value === null ? '?' : String(value)}${same ? '*' : ''}`).join(' ');

/** Null where the text is none. */
function readDraws(text: string): readonly Draw[] | null {
  const parts = text.split(' ');
  const draws = parts.flatMap((part): Draw[] => {
    const [, number = '', star = ''] = /^(\?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\*?)$/u.exec(part) ?? [];
    const value = number === '?' ? null : Number(number);
    return number === '' || (value !== null && !isReturn(value)) ? [] : [{ return: value, same: star !== '' }];
  });
  const { least, most } = FINDING_DRAWS;
  return draws.length === parts.length && draws.length >= least && draws.length <= most ? draws : null;
}

const schema = z.strictObject({
  finding: z.literal(VERSION),
  title: z.string(),
  expect: z.enum(EXPECTATIONS),
  /** Where the message is in the store that it was kept from. */
  from: z.strictObject({ run: z.string(), message: z.int().min(1) }),
  problem,
  /** What came before the message, in order: messages by the ids of their turns, and what environments said. */
  before: z.array(z.union([said, event], { error: 'must be {as, said} or an event of an environment' })),
  message: said,
  context: z.strictObject({ key: z.string().regex(/^\d+$/u), text: z.string() }),
  drawn,
  /** The folder of the model, relative to the file, or a name of one that comes with the product. */
  model: z.string().min(1),
  protocol: z.string(),
  config: z.record(z.string(), z.unknown()),
});

export type FindingFile = Omit<z.infer<typeof schema>, 'config'> & { readonly config: RunConfig };

/** What is known here of a key that is not. */
const KNOWN = {
  values: {
    ...Object.fromEntries(Object.keys(schema.shape).map((key) => [key, null])),
    from: { run: '', message: 1 },
    message: { as: '', said: '' },
    context: { key: '', text: '' },
    problem: Object.fromEntries(Object.keys(problem.shape).map((key) => [key, null])),
    drawn: Object.fromEntries(Object.keys(drawn.shape).map((key) => [key, null])),
  },
  paths: Object.keys(schema.shape),
};

/** Keys of a configuration that a finding has by itself, or that say nothing of how episodes go on. */
const WITHOUT = ['title', 'model', 'protocol', 'begin', 'output'] as const;

/**
 * Reads a finding.
 * @throws C3Error('input') naming file, line and key
 */
export async function readFinding(path: string): Promise<FindingFile> {
  const bytes = await readRegular(path, MAX_YAML_BYTES, 'name an existing finding');
  return parseFinding(bytes.toString('utf8'), path);
}

/** The same of a text. @param source how messages name it */
export function parseFinding(text: string, source: string): FindingFile {
  const document = readDocument(text, source);
  const value = typeof document.value === 'object' && document.value !== null ? document.value : {};
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.flatMap((issue) => faultsOf(issue, KNOWN, value));
    // A key that is misspelled is missing, too.
    const fault = faults.find(({ of }) => of === 'key') ?? faults[0];
    throw document.error(fault?.path ?? [], fault?.sentence ?? 'is not a finding.');
  }
  const { config: given, ...finding } = parsed.data;
  const { config, faults } = examine(configSchema, { ...given, title: finding.title });
  const [fault] = faults;
  if (config === null || fault !== undefined) {
    const path: KeyPath = fault === undefined ? [] : fault.path;
    throw document.error(['config', ...path], fault?.sentence ?? 'is not a configuration.');
  }
  if (contextKey(finding.context.text).key !== finding.context.key) {
    throw document.error(
      ['context', 'text'],
      'is another text than the one that was kept, whose hash is context.key; take the edit back, or keep the message again.',
    );
  }
  return { ...finding, config };
}

/**
 * A finding as the text of its file.
 * @throws C3Error('input') where it would be longer than is read
 */
export function findingText({ config, ...finding }: FindingFile): string {
  const { drawn: by, ...rest } = finding;
  const document = new Document({ ...rest, drawn: { ...by, draws: writeDraws(by.draws) }, config: keysGiven(config) });
  document.commentBefore = ' A message that was kept as a test: `c3 check` draws it again and compares.';
  const text = document.toString({ lineWidth: WIDTH, blockQuote: 'literal' });
  if (text.length > MAX_YAML_CHARACTERS) {
    throw new C3Error(
      'input',
      `Message ${finding.from.message} cannot be kept as a test: with its context it is longer than a finding may be; choose an earlier message.`,
    );
  }
  const back = parseFinding(text, 'the finding');
  if (!isDeepStrictEqual(withoutTitle(back), withoutTitle({ ...finding, config }))) {
    throw new C3Error(
      'input',
      `Message ${finding.from.message} cannot be kept as a test: its run has settings of an earlier version, which a configuration cannot say.`,
    );
  }
  return text;
}

const withoutTitle = ({ config, ...finding }: FindingFile): object => ({
  ...finding,
  config: { ...config, ...Object.fromEntries(WITHOUT.map((key) => [key, null])) },
});

/** The keys of a configuration that are not the defaults. */
function keysGiven(config: RunConfig): Record<string, unknown> {
  const given = differing(config, readConfig('', 'the defaults'));
  return Object.fromEntries(Object.entries(given).filter(([key]) => !WITHOUT.some((one) => one === key)));
}

function differing(value: object, usual: object): Record<string, unknown> {
  const defaults: Readonly<Record<string, unknown>> = { ...usual };
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, own]: [string, unknown]) => {
      const other = defaults[key];
      if (isDeepStrictEqual(own, other)) {
        return [];
      }
      return isMapping(own) && isMapping(other) ? [[key, differing(own, other)]] : [[key, own]];
    }),
  );
}

const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
