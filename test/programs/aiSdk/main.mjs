/**
 * Runs the team once: `main.mjs SPANS QUESTION [TEAM]`. OpenTelemetry's exporter sends its spans to where the
 * environment says, and to a collector that keeps them in a file.
 */

import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { registerTelemetry } from 'ai';
import { solve } from './team.mjs';

const [file, question, team] = process.argv.slice(2);
const collector = createServer(async (request, response) => {
  appendFileSync(file, `${(await request.toArray()).join('')}\n`);
  response.end('{}');
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const url = `http://127.0.0.1:${collector.address().port}/v1/traces`;
const spanProcessors = [new OTLPTraceExporter(), new OTLPTraceExporter({ url })].map(
  (exporter) => new SimpleSpanProcessor(exporter),
);
const provider = new NodeTracerProvider({ spanProcessors });
provider.register();
registerTelemetry(new OpenTelemetry());
await provider.getTracer('team').startActiveSpan('team', async (span) => {
  await solve(question, team);
  span.end();
});
await provider.shutdown();
collector.close();
