import type { Graph, Value } from './graph.ts';
import { add } from './ops/elementwise.ts';

/**
 * Reverse-mode differentiation on a graph: appends the nodes that compute d(loss)/d(parameter).
 * @param loss a scalar
 * @param parameters values of the graph (usually inputs)
 * @returns one gradient per parameter, of its shape, in the order given
 * @throws when a parameter does not influence the loss, or a node on the way has no vjp
 */
export function gradients(g: Graph, loss: Value, parameters: readonly Value[]): readonly Value[] {
  const nodes = [...g.nodes];
  const reachable = new Set(parameters.map((value) => value.name));
  for (const node of nodes) {
    if (node.inputs.some((value) => reachable.has(value.name))) for (const output of node.outputs) reachable.add(output.name);
  }
  const cotangents = new Map<string, Value>([[loss.name, g.scalar(1)]]);
  for (const node of nodes.reverse()) {
    const incoming = node.outputs.map((value) => cotangents.get(value.name));
    if (incoming.every((value) => value === undefined) || !node.outputs.some((value) => reachable.has(value.name))) continue;
    if (node.vjp === undefined) {
      if (node.inputs.some((value) => reachable.has(value.name) && value.dtype.startsWith('float'))) {
        throw new Error(`No derivative is known for the node that makes ${node.outputs[0]?.name ?? '?'}.`);
      }
      continue;
    }
    node.vjp(incoming).forEach((cotangent, index) => {
      const input = node.inputs[index];
      if (input === undefined || cotangent === undefined || !reachable.has(input.name)) return;
      const known = cotangents.get(input.name);
      cotangents.set(input.name, known === undefined ? cotangent : add(g, known, cotangent));
    });
  }
  return parameters.map((parameter) => {
    const gradient = cotangents.get(parameter.name);
    if (gradient === undefined) throw new Error(`The loss does not depend on ${parameter.name}.`);
    return gradient;
  });
}
