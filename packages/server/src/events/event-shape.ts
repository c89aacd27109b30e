import { type FieldProblem, pointerOf } from '@indelible/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fieldProblem, formats } from '../json-schema.ts';
import { EventInput, limits } from './schemas.ts';

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, formats });
const validate = ajv.compile(EventInput);

/** Problems of shape, all at once; paths that `known` names already are not reported a second time. */
export function checkEventShape(event: unknown, known: readonly FieldProblem[]): FieldProblem[] {
  const problems = validate(event) ? [] : (validate.errors ?? []).map(fieldProblem);
  const named = new Set(known.map((problem) => problem.path));
  return [...problems, ...longScalars(event)].filter((problem) => !named.has(problem.path));
}

// JSON Schema counts characters; the limit is in bytes, and only long strings need the exact count.
function longScalars(event: unknown): FieldProblem[] {
  const diff = (event as { diff?: unknown } | null)?.diff;
  if (typeof diff !== 'object' || diff === null) return [];
  const problems: FieldProblem[] = [];
  for (const [field, change] of Object.entries(diff)) {
    if (typeof change !== 'object' || change === null) continue;
    for (const [side, value] of Object.entries(change)) {
      if (typeof value !== 'string' || value.length * 3 <= limits.diffStringBytesMax) continue;
      if (Buffer.byteLength(value) <= limits.diffStringBytesMax) continue;
      problems.push({
        path: pointerOf('diff', field, side),
        code: 'too_long',
        message: 'is larger than 32 KiB',
      });
    }
  }
  return problems;
}
