/**
 * The contract's descriptors as data, out of `@temporalio/proto`.
 *
 * Place: below proto.ts, which makes the engine's types of them. The package's module builds a root of its own from the
 * same data, which costs a start a quarter of a second of CPU and serves the official SDK alone. So the module's text is
 * run with a root that does nothing but keep what it is given.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { invariant } from '../kernel/invariant.ts';

/** A namespace, message, enum or service as JSON, as far as we look into it. */
export type DescriptorNode = {
  nested?: Record<string, DescriptorNode>;
  oneofs?: Record<string, { oneof: string[] }>;
  fields?: Record<string, { options?: object }>;
};

const MODULE = '@temporalio/proto/protos/json-module.js';
/** The name under which the module keeps its root. */
const ROOT = '__temporal';

/** The text of a CommonJS module, compiled. */
type LoadModule = (require: () => unknown, module: object) => void;

/** Package or folder of packages → what is in it. A copy of the caller's own. */
export function contractJson(): Record<string, DescriptorNode> {
  const path = createRequire(import.meta.url).resolve(MODULE);
  const given: Record<string, DescriptorNode>[] = [];
  const root = {
    addJSON(json: Record<string, DescriptorNode>) {
      given.push(json);
      return root;
    },
  };
  const library = { roots: { [ROOT]: root } };
  const load = compileFunction(readFileSync(path, 'utf8'), ['require', 'module']) as LoadModule;
  load(() => library, {});
  const [contract] = given;
  invariant(
    contract !== undefined && given.length === 1,
    `${MODULE} does not hold the contract where this release looks for it: install the locked version with npm ci`,
  );
  return contract;
}
