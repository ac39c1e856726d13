/** Lint rules that oxlint does not have, as an oxlint plugin. oxlint.config.ts enables them. */

import { globSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import type { RuleTester } from 'oxlint/plugins-dev';
import rooms from '../../rooms.json' with { type: 'json' };

type Rule = Extract<Parameters<RuleTester['run']>[1], { create: unknown }>;
type Visitor = Required<ReturnType<Rule['create']>>;
type Expression = Parameters<NonNullable<Visitor['ImportExpression']>>[0]['source'];
type Variable = Parameters<Rule['create']>[0]['sourceCode']['scopeManager']['scopes'][number]['variables'][number];
type Identifier = Variable['identifiers'][number];
type Node = Variable['defs'][number]['node'];
interface Place {
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

/**
 * The allowed imports of each folder: its own row, or the row FOLDER/* for folders in FOLDER
 * without one.
 */
const ROOMS = new Map<string, readonly string[]>(
  Object.entries(rooms).flatMap(([folder, entries]): [string, readonly string[]][] =>
    folder.endsWith('/*')
      ? globSync(folder, { cwd: join(import.meta.dirname, '..', '..'), withFileTypes: true })
          .filter((found) => found.isDirectory())
          .map(({ name }) => `${folder.slice(0, -1)}${name}`)
          .filter((found) => !Object.hasOwn(rooms, found))
          .map((found) => [found, entries])
      : [[folder, entries]],
  ),
);

/**
 * Returns true if an entry of rooms.json includes a file. An entry is FILE.ts, the files of a
 * folder (FOLDER/*), or a folder with all its content.
 */
function names(entry: string, file: string): boolean {
  if (entry.endsWith('.ts')) {
    return entry === file;
  }
  return entry.endsWith('/*') ? posix.dirname(file) === entry.slice(0, -2) : file.startsWith(`${entry}/`);
}

/** Returns the folder whose row applies to a folder: itself, or the nearest parent with a row. */
const findRoomRow = (folder: string): string | undefined =>
  ROOMS.has(folder) ? folder : folder === '.' ? undefined : findRoomRow(posix.dirname(folder));

/** Returns the name of an imported module, or null if it is computed. */
function readModuleName(node: Expression): string | null {
  if (node.type === 'TemplateLiteral') {
    return node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? null) : null;
  }
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : null;
}

/**
 * Checks imports against rooms.json by their text. Imports of the project are relative with
 * extension.
 */
const arrows: Rule = {
  create(context) {
    const folder = relative(context.cwd, dirname(context.filename)).replaceAll(sep, '/');
    const row = findRoomRow(folder);
    const entries = ROOMS.get(row ?? '');
    if (row === undefined || entries === undefined) {
      return {};
    }
    const check = (node: Expression | null | undefined): void => {
      if (node === null || node === undefined) {
        return;
      }
      const name = readModuleName(node) ?? '';
      const file = name.startsWith('.') ? posix.join(folder, name) : '';
      if (/^(?:src|webview|test)\//u.test(file) && ![`${row}/*`, ...entries].some((entry) => names(entry, file))) {
        const allowed = entries.join(', ') || 'nothing else';
        const message = `${row} may import ${allowed} only; where another arrow is right, add it to rooms.json.`;
        context.report({ node, message });
      }
    };
    return {
      ImportDeclaration: ({ source }) => check(source),
      ExportNamedDeclaration: ({ source }) => check(source),
      ExportAllDeclaration: ({ source }) => check(source),
      ImportExpression: ({ source }) => check(source),
      TSImportType: ({ source }) => check(source),
      TSExternalModuleReference: ({ expression }) => check(expression),
      CallExpression: ({ callee, arguments: [first] }) => {
        if (callee.type === 'Identifier' && callee.name === 'require' && first?.type !== 'SpreadElement') {
          check(first);
        }
      },
    };
  },
};

/** Selectors of refused syntax, with the messages. */
const SYNTAX = {
  PrivateIdentifier: 'Private members are marked `private`, as everywhere here.',
  'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]':
    'A cast through unknown hides a wrong type: check the value.',
  // The following cover cases that the rules of oxlint with the same names do not.
  'UnaryExpression[operator="delete"] > MemberExpression[computed=true]:not([property.type="Literal"])':
    'A computed key is not deleted (no-dynamic-delete): use a Map.',
  [':matches(ClassDeclaration, ClassExpression)[superClass=null]' +
  ' > ClassBody:not(:has(> [static=false]:not([kind="constructor"])))']:
    'A class without members of its instances is no class (no-extraneous-class): use functions and values.',
};

const noRestrictedSyntax: Rule = {
  create: ({ report }) =>
    Object.fromEntries(
      Object.entries(SYNTAX).map(([selector, message]) => [selector, (node: Node) => report({ node, message })]),
    ),
};

/**
 * Returns true if a node is the operand of `typeof` in a type, or part of a qualified name there.
 */
const isTypeOnly = (node: Node): boolean =>
  node.type === 'TSTypeQuery' ||
  ((node.type === 'Identifier' || node.type === 'TSQualifiedName') && isTypeOnly(node.parent));

/**
 * Reports values of the file that only types use, which oxlint's no-unused-vars does not report.
 */
const noTypeOnlyValues: Rule = {
  create({ report, sourceCode }) {
    const known = new Set<Variable>();
    return {
      'TSTypeQuery Identifier': (node: Identifier) => {
        const reference = sourceCode.getScope(node).references.find(({ identifier }) => identifier === node);
        const variable = reference?.resolved;
        const [definition] = variable?.defs ?? [];
        if (variable === undefined || variable === null || definition === undefined || known.has(variable)) {
          return;
        }
        known.add(variable);
        const { type, node: declared, name } = definition;
        const isExported = [declared.parent, declared.parent?.parent].some(
          (around) => around?.type.startsWith('Export') === true,
        );
        const isUsed = variable.references.some((found) => found.isRead() && !isTypeOnly(found.identifier));
        if ((type === 'Variable' || type === 'FunctionName' || type === 'ClassName') && !isExported && !isUsed) {
          report({ node: name, message: `Only types use ${variable.name}: declare a type in place of a value.` });
        }
      },
    };
  },
};

/** Maximum line length. oxfmt wraps code. Lines in strings and lines with URLs may be longer. */
const WIDTH = 120;
const maxLen: Rule = {
  create(context) {
    const wide = new Set<number>();
    for (const [index, line] of context.sourceCode.lines.entries()) {
      if (line.length > WIDTH && Array.from(line).length > WIDTH && !/[^:/?#]:\/\/[^?#]/u.test(line)) {
        wide.add(index + 1);
      }
    }
    if (wide.size === 0) {
      return {};
    }
    const spare = ({ loc }: Place): void => {
      for (let line = loc.start.line; line <= loc.end.line; line++) {
        wide.delete(line);
      }
    };
    return {
      'Literal[value=type(string)], Literal[regex], TemplateElement': spare,
      'Program:exit': () => {
        for (const line of wide) {
          const message = `A line has at most ${WIDTH} characters.`;
          context.report({ loc: { start: { line, column: 0 }, end: { line, column: WIDTH } }, message });
        }
      },
    };
  },
};

export default {
  meta: { name: 'house' },
  rules: {
    arrows,
    'max-len': maxLen,
    'no-restricted-syntax': noRestrictedSyntax,
    'no-type-only-values': noTypeOnlyValues,
  },
};
