/** Parses untrusted YAML in time linear in its length. */

import {
  Composer,
  Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  YAMLParseError,
  type CST,
  type ErrorCode,
} from 'yaml';

/** Most characters of a text; configurations and protocols are shorter. */
export const MAX_YAML_CHARACTERS = 1 << 18;
/** Most bytes of its file: UTF-8 takes up to four bytes for a character. */
export const MAX_YAML_BYTES = 4 * MAX_YAML_CHARACTERS;
/** Deepest nesting of collections; more would exhaust the stack of the recursive composer. */
const MAX_DEPTH = 64;

/**
 * Parses one JSON or YAML 1.2 document; its errors are in the order of the text. It differs from the
 * library in three points: keys must be single values, depth and length are bounded, and repeated keys
 * are found in linear time.
 * @param lines receives the starts of the lines
 */
export function parseYaml(text: string, lines = new LineCounter()): Document {
  if (text.length > MAX_YAML_CHARACTERS) {
    return refuseDocument(0, `the text has ${text.length} characters; the limit is ${MAX_YAML_CHARACTERS}`);
  }
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const deep = findTooDeep(tokens);
  if (deep !== null) {
    return refuseDocument(deep, `values are nested deeper than ${MAX_DEPTH}`);
  }
  let document: Document | undefined;
  for (const composed of new Composer({ uniqueKeys: false }).compose(tokens, true, text.length)) {
    if (document !== undefined) {
      document.errors.push(fault(composed.range[0], 'MULTIPLE_DOCS', 'the text holds multiple documents; keep one'));
      break;
    }
    document = composed;
  }
  if (document === undefined) {
    return refuseDocument(0, 'the text holds no document');
  }
  document.errors.push(...findKeyFaults(document.contents));
  document.errors.sort((a, b) => a.pos[0] - b.pos[0]);
  return document;
}

const fault = (start: number, code: ErrorCode, message: string): YAMLParseError =>
  new YAMLParseError([start, start + 1], code, message);

/** Returns the plain value of a document. @throws its first error or warning */
export function readYamlValue(document: Document): unknown {
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) {
    throw fault;
  }
  return document.toJS();
}

function refuseDocument(start: number, message: string): Document {
  const document = new Document(null);
  document.errors.push(fault(start, 'RESOURCE_EXHAUSTION', message));
  return document;
}

/** Returns the offset at which nesting is too deep, or null. */
function findTooDeep(tokens: readonly CST.Token[]): number | null {
  const open: (readonly [token: CST.Token, depth: number])[] = tokens.map((token) => [token, 0]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [token, depth] = next;
    if (depth > MAX_DEPTH) {
      return token.offset;
    }
    if (token.type === 'document') {
      if (token.value !== undefined) {
        open.push([token.value, depth]);
      }
    } else if ('items' in token) {
      for (const { key, value } of token.items) {
        if (key !== undefined && key !== null) {
          open.push([key, depth + 1]);
        }
        if (value !== undefined) {
          open.push([value, depth + 1]);
        }
      }
    }
  }
  return null;
}

/** Returns errors for repeated keys of a mapping, and for keys that are collections or aliases. */
function findKeyFaults(contents: unknown): YAMLParseError[] {
  const found: YAMLParseError[] = [];
  const open = [contents];
  while (open.length > 0) {
    const node = open.pop();
    if (isSeq(node)) {
      for (const item of node.items) {
        open.push(item);
      }
    }
    if (!isMap(node)) {
      continue;
    }
    const seen = new Set<unknown>();
    for (const { key, value } of node.items) {
      open.push(value);
      const start = isScalar(key) ? key.range?.[0] : node.range?.[0];
      if (!isScalar(key)) {
        found.push(fault(start ?? 0, 'NON_STRING_KEY', 'a key must be a single value'));
      } else if (seen.has(key.value)) {
        found.push(fault(start ?? 0, 'DUPLICATE_KEY', 'Map keys must be unique'));
      } else {
        seen.add(key.value);
      }
    }
  }
  return found;
}
