/**
 * Makes test/fixtures/logs/corpus again: `record.mjs LIBRARIES [PROGRAM]`, where LIBRARIES is a folder outside of the
 * tree into which the versions below were installed (`npm install` of what `record.mjs` without arguments prints).
 * Each program runs in a process of its own, asks the planting server, and what its library writes is kept with all
 * that was planted.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PROGRAMS } from './programs.mjs';
import { Marks, plantingServer } from './server.mjs';

const VERSIONS = {
  '@ai-sdk/openai': '3.0.141',
  '@anthropic-ai/sdk': '1.14.0',
  '@arizeai/openinference-instrumentation-langchain': '4.1.1',
  '@arizeai/openinference-instrumentation-openai': '4.2.7',
  '@langchain/core': '1.4.0',
  '@langchain/langgraph': '1.7.3',
  '@langchain/langgraph-checkpoint-sqlite': '1.0.4',
  '@langchain/openai': '1.5.8',
  '@openai/agents': '0.20.0',
  '@opentelemetry/otlp-transformer': '0.223.1',
  '@opentelemetry/sdk-trace-node': '2.12.1',
  '@traceloop/instrumentation-langchain': '0.27.0',
  '@traceloop/instrumentation-openai': '0.27.0',
  ai: '6.0.326',
  langchain: '1.5.14',
  openai: '6.49.0',
  zod: '4.6.7',
};
/** Characters or bytes of what is kept packed. */
const LARGE = 50_000;
const OUT = join(import.meta.dirname, '../../fixtures/logs/corpus');

const [folder, name] = process.argv.slice(2);
if (folder === undefined) {
  console.log(
    Object.entries(VERSIONS)
      .map(([library, version]) => `${library}@${version}`)
      .join(' '),
  );
} else if (name === undefined) {
  mkdirSync(OUT, { recursive: true });
  const planted = Object.keys(PROGRAMS).map((program) => {
    const args = [import.meta.filename, folder, program];
    return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  });
  writeFileSync(join(OUT, 'planted.jsonl'), planted.join(''));
} else {
  const libraries = createRequire(join(folder, 'package.json'));
  for (const [library, version] of Object.entries(VERSIONS)) {
    const found = libraries(join(folder, 'node_modules', library, 'package.json')).version;
    if (found !== version) {
      throw new Error(`${library} is ${found} in ${folder}; install ${version}.`);
    }
  }
  const marks = new Marks();
  const calls = [];
  const server = await plantingServer(marks, (call) => calls.push(call));
  Object.assign(process.env, { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none' });
  const { file: plain, text } = await PROGRAMS[name]({ libraries, marks, server, calls });
  server.close();
  const isLarge = text.length > LARGE;
  const file = isLarge ? `${plain}.gz` : plain;
  writeFileSync(join(OUT, file), isLarge ? gzipSync(text, { level: 9 }) : text);
  // What a library does not write, such as a prompt that is no part of a state, nobody can read.
  const written = Object.entries(marks.all).map(([by, all]) => [by, all.filter((mark) => text.includes(mark))]);
  process.stdout.write(`${JSON.stringify({ file, ...Object.fromEntries(written) })}\n`, () => process.exit(0));
}
