/**
 * How a command is declared: its name, arguments and options, each with a sentence, and examples. The reader of
 * arguments, the types of what a command is given, help, completion and the guide all come from the declaration.
 */

interface Described {
  /** What it is, in one sentence or two. */
  readonly help: string;
}

/** A text as it is given. Completion offers files for `file`, and folders for `folder`. */
interface TextKind extends Described {
  readonly kind: 'text' | 'file' | 'folder';
  /** The name of the value in help, such as `FILE`. */
  readonly value: string;
  readonly fallback?: string;
  /** Values that completion offers; the command itself says which others it takes. */
  readonly suggests?: readonly string[];
}

/** One of several names. */
interface ChoiceKind extends Described {
  readonly kind: 'choice';
  readonly choices: readonly string[];
  /** The name of the value in help. Default: the list of choices. */
  readonly value?: string;
  readonly fallback?: string;
}

export type OptionKind =
  | (Described & { readonly kind: 'flag' })
  | (Described & { readonly kind: 'texts'; readonly value: string })
  | (Described & { readonly kind: 'whole'; readonly value: string; readonly least: number; readonly fallback?: number })
  | (Described & { readonly kind: 'amount'; readonly value: string; readonly least?: number })
  | TextKind
  | ChoiceKind;

/** An option; a command that is not given a required one is refused. */
export type Option = OptionKind & { readonly required?: true };

/** The number of a row, such as that of a message. */
interface RowKind extends Described {
  readonly kind: 'row';
  readonly value: string;
}

/** An argument without a name. It is required unless it is optional. */
export type Argument = (RowKind | TextKind | ChoiceKind) & { readonly optional?: true };

/** A command as a user sees it. Names in camelCase are written with dashes: `atMost` is `--at-most`. */
export interface Declaration {
  readonly name: string;
  /** What the command does, in one sentence. */
  readonly summary: string;
  /** What else must be known to use it. */
  readonly details?: string;
  /** In their order. */
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly options: Readonly<Record<string, Option>>;
  /** The arguments after `--`. Left out: the command takes none. */
  readonly rest?: Described & { readonly value: string };
  /** Complete command lines, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  /**
   * Whether nothing is left half done: Ctrl+C then ends it at once, even if a damaged store keeps it reading without
   * end.
   */
  readonly onlyReads?: (args: readonly string[]) => boolean;
}

type Value<Kind> = Kind extends { readonly kind: 'flag' }
  ? boolean
  : Kind extends { readonly kind: 'texts' }
    ? readonly string[]
    : Kind extends { readonly kind: 'whole' | 'amount' | 'row' }
      ? number
      : Kind extends { readonly choices: readonly (infer Choice)[] }
        ? Choice
        : string;

type OptionValue<Kind> = Kind extends
  | { readonly kind: 'flag' | 'texts' }
  | { readonly fallback: number | string }
  | { readonly required: true }
  ? Value<Kind>
  : Value<Kind> | null;

type ArgumentValue<Kind> = Kind extends { readonly optional: true }
  ? Kind extends { readonly fallback: string }
    ? Value<Kind>
    : Value<Kind> | null
  : Value<Kind>;

/** What a command is given: a value for each argument and option; null where one is left out and has no fallback. */
export type Given<Declared extends Declaration> = {
  readonly [Name in keyof Declared['arguments']]: ArgumentValue<Declared['arguments'][Name]>;
} & OptionsGiven<Declared['options']> & {
    /** The options that were named, whatever their value. */
    readonly named: Named<keyof Declared['options']>;
    /** The arguments after `--`. */
    readonly rest: readonly string[];
  };

export interface Named<Name> {
  readonly has: (name: Name) => boolean;
}

/** The values of some options alone. */
export type OptionsGiven<Options extends Declaration['options']> = {
  readonly [Name in keyof Options]: OptionValue<Options[Name]>;
};

/** `--at-most` for `atMost`. */
export const flagOf = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;

/** The name of an option's value in help, such as `N` or `turn|class`. A flag has none. */
export function valueWords(kind: Option | Argument): string {
  if (kind.kind === 'flag') {
    return '';
  }
  return kind.kind === 'choice' ? (kind.value ?? kind.choices.join('|')) : kind.value;
}

/** The values that completion offers; empty where there is no list of them. */
export function knownValues(kind: Option | Argument): readonly string[] {
  if (kind.kind === 'choice') {
    return kind.choices;
  }
  return 'suggests' in kind ? kind.suggests : [];
}

/** A text with a small first letter, without its final full stop: within a sentence. */
export const withinSentence = (text: string): string =>
  `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`.replace(/\.$/u, '');

/** `a, b or c`. */
export const orWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
