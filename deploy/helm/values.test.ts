import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentedVariables } from '../testing/documented-variables.ts';

test('the values may name each documented variable but secrets, and those that the chart sets', () => {
  const schema = JSON.parse(
    readFileSync(join(import.meta.dirname, 'indelible/values.schema.json'), 'utf8'),
  );
  const secret = [
    ...['DATABASE_URL', 'DATABASE_POOLER_URL', 'DATABASE_OWNER_URL'],
    ...['PLATFORM_API_KEY', 'SESSION_SECRET', 'METRICS_TOKEN', 'AUTH_JWT_SECRET', 'SMTP_URL'],
  ];
  const set = ['HOST', 'PORT', 'DATA_DIR', 'SIGNING_KEY_FILE', 'CATALOGUE_FILE'];
  const plain = documentedVariables().filter((name) => ![...secret, ...set].includes(name));
  expect(schema.properties.env.propertyNames.enum.toSorted()).toEqual(plain.toSorted());
});
