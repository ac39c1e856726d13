/**
 * Finds the name that a system prompt gives its reader: "You are the lister", "Your name is Ada",
 * "Role: judge", `<role>judge</role>`. A prompt may hold any bytes, so only its beginning is read,
 * each sentence by itself. A name that is too long, or one of several different names in a prompt,
 * does not count.
 */

import type { ChatMessage } from '../chat/messages.ts';

/** The most characters of a prompt, its sentences or tags, and characters of a sentence. */
const MOST_READ = 4000;
const MOST_PLACES = 120;
const MOST_SENTENCE = 240;
/** The most words and characters of a name. */
const MOST_WORDS = 5;
const MOST_CHARACTERS = 40;

/**
 * The certainty of a name, from the most certain one:
 * - 0: the prompt says that it is a name
 * - 1: the prompt says who the reader is
 * - 2: the prompt describes the reader
 * - 3: the name is a value under a key, which may be that of a tool
 */
type Sureness = 0 | 1 | 2 | 3;
interface Found {
  readonly name: string;
  readonly sureness: Sureness;
}

/** Words that fit every model and tell none apart. */
const GENERIC_WORDS = words(
  `agent ai artificial assistant assistants being bot chatbot chat collaborator companion component computer
  conversational corporation entity engine expert generator gpt helper human inc individual instance intelligence
  intelligent language large llm machine member model node one part participant partner people person product
  professional program recipient role someone something specialist speaker system team teammate text tool user virtual`,
);
/** Names of models, which do not identify the reader. */
const MODELS = words('chatgpt claude copilot deepseek gemini gemma gpt grok kimi llama mistral openai phi qwen');
/** Words that only describe a reader. */
const DESCRIPTIVE_WORDS = words(
  `accurate advanced amazing autonomous autoregressive best brilliant capable careful clear concise creative curious
  detailed diligent efficient empathetic exceptional experienced expert extremely fast friendly good great harmless helpful
  highly honest incredibly insightful intelligent kind knowledgeable meticulous nice patient polite powerful precise
  professional proficient really reliable respectful responsible rigorous seasoned skilled skillful smart talented
  thorough thoughtful top trained trusted unbiased useful versatile very warm wise world-class top-tier`,
);
/** Words that no name begins with: they continue the sentence, or are ordinals. */
const NO_BEGINNING = words(
  `able about absolutely adjacent all allowed already also always an and another any asked at aware being both capable
  chatting currently deployed done encouraged equipped every everything expected finished first fifth final following
  forbidden fourth free from given going good here i if in interacting it its last left like limited living looking
  likely made my never new next no not nothing now obligated of off on only operating or other our out part permitted
  playing prohibited provided ready required responsible right running same second set so some still strictly supposed
  sure talking tasked tenth that their them then there these they third this those to together told under unable up
  used using welcome what when where which who whose why with working writing wrong your`,
);
/** Words that end a preceding name. */
const NAME_ENDINGS = words(
  `a also an and are as assigned at based be because been before behind below beside between built but by called can capable charged
  collaborating created dedicated deployed designed during for from has have having helping here if in inside into is
  it just like made must named now of on or over playing powered responsible running should so specialised specialising
  specialized specializing tasked than that the then this to trained under using was when where whether which while who
  whose will with within without work working you your`,
);
/** Lower-case words that name an occupation. Directly after "you are", such a word is a name. */
const OCCUPATION =
  /^(?:[a-z]{2,}(?:er|or|ist|ian|eer|ant)|critic|judge|coach|scribe|guide|lead|chief|clerk|host|spy)$/u;
const NOT_OCCUPATIONS = words(
  `better bigger clever eager either elder ever faster former further greater inner insider inferior junior latter
  major minor neither older outer particular poor popular prior proper senior significant slower smaller sober stronger
  super superior tender upper younger important instant brilliant relevant vigilant tolerant elegant constant`,
);

/** Words before a statement, such as greetings or an invitation to imagine. */
const LEAD =
  /^(?:(?:hi|hey|hello|welcome|(?:imagine|pretend|assume|suppose)(?= (?:that )?you)|remember|note|now|today|here|please|system|context|instructions?|important|in this \w{1,20}|for this \w{1,20}|from now on|i want|i need|i would like)\b[,:!]? (?:that )?){1,2}/iu;
const TITLES = /\b(Dr|Mr|Mrs|Ms|Prof|St)\. /gu;
const NAME_KEY = String.raw`(?:(?:agent|assistant|bot|your|my|character|speaker)[ _-]?)?name`;
const ROLE_KEY = String.raw`(?:(?:agent|assistant|your|team|assigned)[ _-]?)?(?:role|persona|identity|character)|agent`;

interface Opening {
  readonly pattern: RegExp;
  readonly sureness: Sureness;
  /** True if a name may follow without an article and in lower case. */
  readonly plain: boolean;
}
/** The beginnings of sentences, without a `LEAD`, that precede a name. */
const OPENINGS: readonly Opening[] = [
  { pattern: /^(?:and )?your (?:\w{1,12} )?name(?: is|'s| will be|:| =) /iu, sureness: 0, plain: true },
  { pattern: /^you(?: are|'re| will be) (?:called|named|known as|dubbed) /iu, sureness: 0, plain: true },
  { pattern: /^you go by (?:the name (?:of )?)?/iu, sureness: 0, plain: true },
  { pattern: /^(?:you )?(?:answer|respond) to the name (?:of )?/iu, sureness: 0, plain: true },
  { pattern: new RegExp(`^(?:${NAME_KEY}) ?[:=] ?`, 'iu'), sureness: 3, plain: true },
  { pattern: new RegExp(`^(?:${ROLE_KEY}) ?[:=] ?(?:you are )?`, 'iu'), sureness: 1, plain: true },
  {
    pattern:
      /^your (?:\w{1,12} )?(?:role|job|persona|identity|position|part|character|title|function)(?: (?:here|in (?:the|this|our) [a-z]{2,16}(?: [a-z]{2,16})?))?(?: is|'s| will be|:)(?: to (?:be|act as|serve as)| that of| as)? /iu,
    sureness: 1,
    plain: true,
  },
  {
    pattern:
      /^(?:you |to |you(?: are|'re|'ll| will|'ve been| have been| were| must| should) )?(?:play|playing|take|taking|took|assume|assuming|assigned|adopt|given|fill|perform in|have)(?: on)? (?:the|a) (?:role|part|persona|identity|position|character) (?:of|as) /iu,
    sureness: 1,
    plain: true,
  },
  { pattern: /^in your (?:role|capacity|position) as /iu, sureness: 1, plain: true },
  {
    pattern:
      /^(?:(?:you|your task is|your job is)(?: to| are| will| must| should|'re|'ll| are to| are going to)? (?:to )?)?(?:acting|act|serve|serving|function|functioning|operate|operating|work|working|behave|speak|speaking|answer|respond|reply) as /iu,
    sureness: 1,
    plain: true,
  },
  {
    pattern:
      /^you(?: are|'re| will be| will now be|'ll be|r are| play| will play| were| shall be)(?: now| currently| today| simply| just| here)? /iu,
    sureness: 1,
    plain: false,
  },
  { pattern: /^(?:to be|be) (?=(?:the|an?) )/iu, sureness: 1, plain: false },
  { pattern: /^as /iu, sureness: 2, plain: false },
];

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/u));
}

/** Returns the system messages of a conversation as one text. */
export const systemPrompt = (messages: readonly ChatMessage[]): string =>
  messages
    .filter(({ role }) => role === 'system')
    .map(({ text }) => text)
    .join('\n');

/** Returns the name that a system prompt gives, or null if it gives none or several different ones. */
export function findPromptName(prompt: string): string | null {
  const text = plainText(cut(prompt, MOST_READ));
  const found = [...findNamesInTags(text), ...findNamesInHeadings(text), ...splitSentences(text).flatMap(saidIn)];
  for (const sureness of [0, 1, 2, 3]) {
    const [first, ...others] = found.filter((one) => one.sureness === sureness).map(({ name }) => name);
    if (first !== undefined) {
      return others.every((other) => isSame(first, other)) ? first : null;
    }
  }
  return null;
}

/** Cuts a text. A cut text ends in a sign that no name precedes. */
const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}<` : text);

/** Returns true if a name contains all words of the other: "planner", "Planner of trips". */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => new Set(name.toLowerCase().split(/[\s_-]+/u)));
  return a === undefined || b === undefined || a.isSubsetOf(b) || b.isSubsetOf(a);
}

/** Returns a text without the signs that only emphasize or quote words. */
const plainText = (text: string): string =>
  text
    .replace(/[’‘]/gu, "'")
    .replace(/[*`"“”„«»[\]]|__|'(?=[\s.,;:!?)]|$)|(?<=[\s(:=]|^)'/gu, '')
    .replace(/[^\S\n]+/gu, ' ')
    .replace(TITLES, '$1\u2024 ');

const rateKey = (key: string): Sureness => (/name/iu.test(key) ? 3 : 1);

/** Returns the names in tags and in their attributes. */
function findNamesInTags(text: string): readonly Found[] {
  return [
    ...text.matchAll(
      /<(name|agent[_-]?name|role|agent[_-]?role|persona|identity|agent|character)\b([^<>\n]{0,120})>([^<>]{0,200})/giu,
    ),
  ]
    .slice(0, MOST_PLACES)
    .flatMap(([, tag = '', attributes = '', inside = '']) => {
      const attribute = /\b(?:name|role)=([^=<>]{1,60}?)(?:$| \w+=|\/)/iu.exec(attributes)?.[1];
      const name = nameIn((attribute ?? inside).trim(), true);
      return name === null ? [] : [{ ...name, sureness: rateKey(tag) }];
    });
}

/** Returns the names in headings and below them: "# Role", "## Planner agent". */
function findNamesInHeadings(text: string): readonly Found[] {
  const below = [
    ...text.matchAll(
      /(?:^|\n)[#=[ ]{1,8}(?:your |agent |assistant )?(name|role|persona|identity|agent)[\]=: ]{0,8}\n{1,2} ?([^\n]{1,80})/giu,
    ),
  ]
    .slice(0, MOST_PLACES)
    .map(([, key = '', line = '']) => ({ key, line }));
  const first =
    /^\s{0,20}#{1,6} ([^\n#:]{1,60}?) (?:agent|assistant|prompt|system prompt|instructions)\s*(?:\n|$)/iu.exec(
      text,
    )?.[1];
  const of = below.flatMap(({ key, line }) => {
    const name = nameIn(line.trim(), true);
    return name === null ? [] : [{ ...name, sureness: rateKey(key) }];
  });
  const title = first === undefined ? null : nameIn(first, true);
  return title === null ? of : [...of, { ...title, sureness: 2 }];
}

/** Returns the sentences of a text, each from its first word on. */
function splitSentences(text: string): readonly string[] {
  return text
    .replace(/<[^<>\n]{0,120}>/gu, '\n')
    .split(/\n|(?<=[.!?;]\)?) /u, MOST_PLACES)
    .map((sentence) =>
      cut(sentence, MOST_SENTENCE)
        .replace(/^[\s>#*•\d.()[\]{},|:=–—-]+/u, '')
        .replace(LEAD, ''),
    );
}

/** Returns the name that a sentence gives. */
function saidIn(sentence: string): readonly Found[] {
  const clean = sentence.replace(/^(?:you to|to|me to) /iu, '');
  for (const { pattern, sureness, plain } of OPENINGS) {
    const begin = pattern.exec(clean)?.[0];
    if (begin !== undefined) {
      const rest = clean.slice(begin.length);
      const name = nameIn(rest, plain);
      const isCertain = name === null || sureness !== 2 || isCommand(rest, name.name);
      return name === null || !isCertain ? [] : [{ ...name, sureness: surest(sureness, name.sureness) }];
    }
  }
  return [];
}

/** Combines the certainty of a sentence and of its name: 0 if either is 0, or else the lower. */
const surest = (opening: Sureness, own: Sureness): Sureness =>
  opening === 0 || own === 0 ? 0 : opening > own ? opening : own;

/** Returns true if "as the planner" continues as an instruction, unlike "As the day ends, ...". */
const isCommand = (rest: string, name: string): boolean =>
  /^[^,:]{1,60}[,:]/u.test(rest) &&
  (/^[^,:]{1,60}[,:] (?:you|your)\b/iu.test(rest) || OCCUPATION.test(name.toLowerCase().split(/[ _-]/u).at(-1) ?? ''));

/**
 * Returns the name with which a text begins, and its certainty.
 * @param plain true if a name may stand without an article and in lower case
 */
function nameIn(text: string, plain: boolean): Found | null {
  const article = /^(?:the|our|this|an?|one of (?:the|our)) /iu.exec(text)?.[0] ?? '';
  const isAny = /^(?:an?|one) /iu.test(article);
  const rest = dropDescriptiveWords(text.slice(article.length));
  const read = /^(?:[\p{L}\p{N}][\p{L}\p{N}\p{M}'&./+_\u2024-]*[ ]?)+/u.exec(rest)?.[0] ?? '';
  const all = read.trim().split(' ');
  const end = all.findIndex(
    (word, at) =>
      NAME_ENDINGS.has(word.toLowerCase()) && !(at > 0 && /^(?:of|the)$/u.test(word) && isUpper(all[at + 1])),
  );
  const named = /^(?:named|called)$/iu.test(all[end] ?? '') || all[end] === 'known' ? all.slice(end + 1).join(' ') : '';
  if (named !== '' && article !== '') {
    const name = nameIn(named, true);
    return name === null ? null : { ...name, sureness: 0 };
  }
  const kept = keepNameNouns((end < 0 ? all : all.slice(0, end)).map((word) => word.replace(/[.'/+&-]+$/u, '')));
  const isWhole = end >= 0 || /^(?:[^\p{L}\p{N}<({[]|\(|$)/u.test(rest.slice(read.trimEnd().length).trimStart());
  const name = kept.join(' ').replaceAll('\u2024', '.');
  const [first = ''] = kept;
  const isBounded = kept.length <= MOST_WORDS && name.length <= MOST_CHARACTERS && name !== '';
  if (!isWhole || !isBounded || NO_BEGINNING.has(first.toLowerCase()) || isGenericName(kept)) {
    return null;
  }
  if (article === '' && !plain && !standsAlone(kept, all)) {
    return null;
  }
  return { name, sureness: isAny ? 2 : 1 };
}

/** Removes leading words that only describe the reader: "careful, thorough and patient editor". */
function dropDescriptiveWords(text: string): string {
  let rest = text;
  for (;;) {
    const [found = '', word = ''] = /^([a-z-]{1,20})(?:,? and |, | )/u.exec(rest) ?? [];
    if (!DESCRIPTIVE_WORDS.has(word)) {
      return rest;
    }
    rest = rest.slice(found.length);
  }
}

const isUpper = (word: string | undefined): boolean => /^\p{Lu}/u.test(word ?? '');

/** Returns the words of a name, without "agent" after an occupation. */
function keepNameNouns(all: readonly string[]): readonly string[] {
  const nouns = all.filter((word) => word !== '');
  const [last, before] = [nouns.at(-1)?.toLowerCase(), nouns.at(-2)?.toLowerCase()];
  return last === 'agent' && before !== undefined && OCCUPATION.test(before) ? nouns.slice(0, -1) : nouns;
}

const isGenericName = (kept: readonly string[]): boolean =>
  MODELS.has(kept[0]?.toLowerCase().split(/[-\d]/u, 1)[0] ?? '') ||
  kept.every((word) => GENERIC_WORDS.has(word.toLowerCase()) || DESCRIPTIVE_WORDS.has(word.toLowerCase()));

/** Returns true if words are a name without an article: written as one, or a single occupation. */
function standsAlone(kept: readonly string[], all: readonly string[]): boolean {
  const [first = ''] = kept;
  const isSign = (word: string): boolean =>
    isUpper(word) || /^(?:\p{N}+|of|the)$|[\p{L}\p{N}]_[\p{L}\p{N}]|\p{L}-?\p{N}/u.test(word);
  const isOwn = isSign(first) && !/^(?:of|the)$/u.test(first) && kept.every(isSign);
  const isAgent =
    /^(?:agent|player|speaker|expert|team|member|node|worker|solver)$/iu.test(first) &&
    kept.length === 2 &&
    /^(?:\p{Lu}|\p{N}{1,3})$/u.test(kept[1] ?? '');
  const isDoer = kept.length === 1 && all.length === 1 && OCCUPATION.test(first) && !NOT_OCCUPATIONS.has(first);
  return isOwn || isAgent || isDoer;
}
