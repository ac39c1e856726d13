/**
 * The form of a command's declaration: its name, its arguments and options with a sentence each, and
 * examples. The reader of arguments, the types of their values, the help, completion and the guide all
 * use the declaration.
 */

interface Described {
  /** One or two sentences for the help. */
  readonly help: string;
}

/** A text value. Completion offers files for `file`, and folders for `folder`. */
interface TextKind extends Described {
  readonly kind: 'text' | 'file' | 'folder';
  /** The name of the value in help, such as `FILE`. */
  readonly value: string;
  readonly fallback?: string;
  /** Values that completion offers; the command itself checks the value. */
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

/** An option; a command without a required option is refused. */
export type Option = OptionKind & { readonly required?: true };

/** The number of a row, such as that of a message. */
interface RowKind extends Described {
  readonly kind: 'row';
  readonly value: string;
}

/** A positional argument, which is required unless `optional` is set. */
export type Argument = (RowKind | TextKind | ChoiceKind) & { readonly optional?: true };

/** A command as users see it. Names in camelCase get dashes: `atMost` is `--at-most`. */
export interface Declaration {
  readonly name: string;
  /** One sentence on what the command does. */
  readonly summary: string;
  /** Further information that users need. */
  readonly details?: string;
  /** Arguments in their order. */
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly options: Readonly<Record<string, Option>>;
  /** The arguments after `--`, if the command takes any. */
  readonly rest?: Described & { readonly value: string };
  /** Complete command lines, each with an explanation. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  /**
   * Returns true if the command writes nothing. Ctrl+C then ends it at once, even if a damaged store
   * makes its reading endless.
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

/** The parsed values of a command's arguments and options; null if one is left out and has no fallback. */
export type Given<Declared extends Declaration> = {
  readonly [Name in keyof Declared['arguments']]: ArgumentValue<Declared['arguments'][Name]>;
} & OptionsGiven<Declared['options']> & {
    /** The options that were given, whatever their value. */
    readonly named: Named<keyof Declared['options']>;
    /** The arguments after `--`. */
    readonly rest: readonly string[];
  };

export interface Named<Name> {
  readonly has: (name: Name) => boolean;
}

/** The values of some options. */
export type OptionsGiven<Options extends Declaration['options']> = {
  readonly [Name in keyof Options]: OptionValue<Options[Name]>;
};

/** Returns the flag of an option: `--at-most` for `atMost`. */
export const toFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;

/** Returns the name of an option's value in help, such as `N` or `turn|class`; empty for a flag. */
export function formatValueName(kind: Option | Argument): string {
  if (kind.kind === 'flag') {
    return '';
  }
  return kind.kind === 'choice' ? (kind.value ?? kind.choices.join('|')) : kind.value;
}

/** Returns the values that completion offers; empty if there is no list. */
export function listKnownValues(kind: Option | Argument): readonly string[] {
  if (kind.kind === 'choice') {
    return kind.choices;
  }
  return 'suggests' in kind ? kind.suggests : [];
}

/** Adapts a sentence for use within another one: small first letter, no full stop. */
export const embedSentence = (text: string): string =>
  `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`.replace(/\.$/u, '');

/** Joins words as `a, b or c`. */
export const joinWithOr = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
