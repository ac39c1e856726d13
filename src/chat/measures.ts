/** Reads the measures of a model call other than its tokens, under the names in use. */

import { isRecord } from '../shared/guard.ts';
import { parseIfJson, valueAt, type Fields } from './fields.ts';

/** Values are null if the log does not give them. */
export interface CallMeasures {
  /** Seconds until the answer began. */
  readonly firstTokenSeconds: number | null;
  /** The time at which it began, in the form of the log, or undefined. */
  readonly firstToken: unknown;
  readonly cost: number | null;
  readonly temperature: number | null;
}

const TEMPERATURE = ['gen_ai.request.temperature', 'ai.settings.temperature', 'temperature', 'ls_temperature'] as const;
/** Keys of a call's settings, structured or as JSON. */
const SETTINGS = [
  'llm.invocation_parameters',
  'langfuse.observation.model.parameters',
  'model_parameters',
  'modelParameters',
  'invocation_params',
  'model_config',
  'generationConfig',
  'generation_config',
  'config',
  'options',
  'request',
  'body',
] as const;
const COST = [
  'gen_ai.usage.cost',
  'gen_ai.usage.total_cost',
  'llm.cost.total',
  'operation.cost',
  'total_cost',
  'totalCost',
  'calculatedTotalCost',
  'calculated_total_cost',
  'response_cost',
  'cost',
] as const;
/** Keys of objects with the parts of a cost and their sum as `total`. */
const COSTS = ['langfuse.observation.cost_details', 'costDetails', 'cost_details'] as const;
const FIRST_SECONDS = [
  'gen_ai.response.time_to_first_chunk',
  'gen_ai.server.time_to_first_token',
  'gen_ai.server.ttft',
  'timeToFirstToken',
  'time_to_first_token',
] as const;
const FIRST_MILLISECONDS = ['ai.response.msToFirstChunk', 'ai.stream.msToFirstChunk'] as const;
const FIRST_TIME = [
  'langfuse.observation.completion_start_time',
  'completionStartTime',
  'completion_start_time',
  'first_token_time',
] as const;

/** Returns a number from a number or a text, or null if it is negative or neither. */
export function parseAmount(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}

/**
 * Reads the measures of a call.
 * @param places objects that may hold them, in order of precedence
 */
export function readMeasures(...places: readonly Fields[]): CallMeasures {
  const amount = (of: readonly Fields[], keys: readonly string[]): number | null =>
    of.map((place) => parseAmount(valueAt(place, ...keys))).find((one) => one !== null) ?? null;
  const within = (keys: readonly string[]): readonly Fields[] =>
    places.flatMap((place) => keys.map((key) => parseIfJson(place[key])).filter(isRecord));
  const milliseconds = amount(places, FIRST_MILLISECONDS);
  return {
    firstTokenSeconds: amount(places, FIRST_SECONDS) ?? (milliseconds === null ? null : milliseconds / 1000),
    firstToken: places.map((place) => valueAt(place, ...FIRST_TIME)).find((one) => one !== undefined),
    cost: amount(places, COST) ?? amount(within(COSTS), ['total']),
    temperature: amount([...places, ...within(SETTINGS)], TEMPERATURE),
  };
}
