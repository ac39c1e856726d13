/**
 * The file of a finding: a message, its context, and everything that drawing it again needs except the
 * weights. The file is small and readable, to be kept beside the code. Edits by hand are checked like
 * a configuration.
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
import { hashContext } from '../../team/contextKey.ts';
import { readDocument, type KeyPath } from '../../team/document.ts';
import { configSchema, type RunConfig } from '../../training/config/config.ts';
import { examineConfig, toFaults } from '../../training/config/configFaults.ts';
import { readConfig } from '../../training/config/readConfig.ts';

/** Version of the file format. */
const VERSION = 1;
/** Columns at which texts are folded. */
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
  /** Hash of the weights that drew. */
  weights: hash,
  environment,
  /** Returns of the draws: `?` if one could not be scored, `*` if it has the text of the message. */
  draws: z
    .string()
    .refine((text) => parseDraws(text) !== null, {
      error: `must be ${FINDING_DRAWS.least} to ${FINDING_DRAWS.most} returns, as 0 1* ?`,
    })
    .transform((text) => parseDraws(text) ?? []),
});
/** One draw: its return, or null if not scored, and whether its text is that of the message. */
export interface Draw {
  readonly return: number | null;
  readonly same: boolean;
}

const formatDraws = (draws: readonly Draw[]): string =>
  draws.map(({ return: value, same }) => `${value === null ? '?' : String(value)}${same ? '*' : ''}`).join(' ');

/** Returns null if the text is not a list of draws. */
function parseDraws(text: string): readonly Draw[] | null {
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
  /** The message in the store that it was kept from. */
  from: z.strictObject({ run: z.string(), message: z.int().min(1) }),
  problem,
  /** Entries before the message, in order: messages by the ids of their turns, and events. */
  before: z.array(z.union([said, event], { error: 'must be {as, said} or an event of an environment' })),
  message: said,
  context: z.strictObject({ key: z.string().regex(/^\d+$/u), text: z.string() }),
  drawn,
  /** The folder of the model, relative to the file, or the name of a bundled model. */
  model: z.string().min(1),
  protocol: z.string(),
  config: z.record(z.string(), z.unknown()),
});

export type FindingFile = Omit<z.infer<typeof schema>, 'config'> & { readonly config: RunConfig };

/** Known keys, for suggestions in errors about unknown keys. */
const KNOWN_FINDING_KEYS = {
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

/** Keys of a configuration that a finding has elsewhere, or that do not affect continuations. */
const OMITTED_CONFIG_KEYS = ['title', 'model', 'protocol', 'begin', 'output'] as const;

/** Reads a finding. @throws C3Error('input') naming file, line and key */
export async function readFinding(path: string): Promise<FindingFile> {
  const bytes = await readRegular(path, MAX_YAML_BYTES, 'name an existing finding');
  return parseFinding(bytes.toString('utf8'), path);
}

/** Parses the text of a finding. @param source name of the file in errors @throws as readFinding */
export function parseFinding(text: string, source: string): FindingFile {
  const document = readDocument(text, source);
  const value = typeof document.value === 'object' && document.value !== null ? document.value : {};
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.flatMap((issue) => toFaults(issue, KNOWN_FINDING_KEYS, value));
    // A misspelled key also causes the error of a missing key.
    const fault = faults.find(({ of }) => of === 'key') ?? faults[0];
    throw document.error(fault?.path ?? [], fault?.sentence ?? 'is not a finding.');
  }
  const { config: given, ...finding } = parsed.data;
  const { config, faults } = examineConfig(configSchema, { ...given, title: finding.title });
  const [fault] = faults;
  if (config === null || fault !== undefined) {
    const path: KeyPath = fault === undefined ? [] : fault.path;
    throw document.error(['config', ...path], fault?.sentence ?? 'is not a configuration.');
  }
  if (hashContext(finding.context.text).key !== finding.context.key) {
    throw document.error(
      ['context', 'text'],
      'differs from the kept text, whose hash is context.key; undo the edit, or keep the message again.',
    );
  }
  return { ...finding, config };
}

/**
 * Formats a finding as the text of its file.
 * @throws C3Error('input') if it is too long to be read again
 */
export function formatFindingFile({ config, ...finding }: FindingFile): string {
  const { drawn: by, ...rest } = finding;
  const document = new Document({
    ...rest,
    drawn: { ...by, draws: formatDraws(by.draws) },
    config: selectGivenKeys(config),
  });
  document.commentBefore = ' A message that was kept as a test: `c3 check` draws it again and compares.';
  const text = document.toString({ lineWidth: WIDTH, blockQuote: 'literal' });
  if (text.length > MAX_YAML_CHARACTERS) {
    throw new C3Error(
      'input',
      `Message ${finding.from.message} cannot be kept as a test: with its context it is longer than a finding may be; choose an earlier message.`,
    );
  }
  const back = parseFinding(text, 'the finding');
  if (!isDeepStrictEqual(omitFreeKeys(back), omitFreeKeys({ ...finding, config }))) {
    throw new C3Error(
      'input',
      `Message ${finding.from.message} cannot be kept as a test: its run has settings of an earlier version, which a configuration cannot express.`,
    );
  }
  return text;
}

const omitFreeKeys = ({ config, ...finding }: FindingFile): object => ({
  ...finding,
  config: { ...config, ...Object.fromEntries(OMITTED_CONFIG_KEYS.map((key) => [key, null])) },
});

/** Returns the keys of a configuration that differ from the defaults. */
function selectGivenKeys(config: RunConfig): Record<string, unknown> {
  const given = selectDifferingKeys(config, readConfig('', 'the defaults'));
  return Object.fromEntries(Object.entries(given).filter(([key]) => !OMITTED_CONFIG_KEYS.some((one) => one === key)));
}

function selectDifferingKeys(value: object, usual: object): Record<string, unknown> {
  const defaults: Readonly<Record<string, unknown>> = { ...usual };
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, own]: [string, unknown]) => {
      const other = defaults[key];
      if (isDeepStrictEqual(own, other)) {
        return [];
      }
      return isMapping(own) && isMapping(other) ? [[key, selectDifferingKeys(own, other)]] : [[key, own]];
    }),
  );
}

const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
