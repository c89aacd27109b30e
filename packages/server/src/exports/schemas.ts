import { csvColumns, csvFurtherColumns } from '@indelible/protocol';
import type { Static } from 'typebox';
import { operatorHeaders } from '../access/operator-access.ts';
import {
  answer,
  countOrNull,
  described,
  exact,
  idParams,
  idWith,
  named,
  nullable,
  queryText,
  time,
  timeOrNull,
  uuid,
} from '../http/field-schemas.ts';
import { filterSchema, storedFilters } from '../http/filter-schema.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';

/* `readExportInput` also checks the filters, and columns by the format. */
const ExportInput = named('ExportInput', {
  filters: Type.Optional(filterSchema('EventFilters')),
  format: Type.Enum(['csv', 'ndjson']),
  columns: Type.Optional(
    Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: Type.Enum([...csvColumns, ...csvFurtherColumns]),
      minItems: 1,
      maxItems: csvColumns.length + csvFurtherColumns.length,
      uniqueItems: true,
      description: `Of CSV, in this order; the first ${csvColumns.length} unless told otherwise.`,
    }),
  ),
});
export type ExportInput = Static<typeof ExportInput>;

const ExportJob = described('ExportJob', 'The export as it is now.', {
  id: idWith('exp_'),
  mode: Type.Enum(['stream', 'job'], {
    description: '`stream`: sent with the answer, and not kept.',
  }),
  status: Type.Enum(['queued', 'running', 'ready', 'failed', 'expired', 'cancelled']),
  format: Type.Enum(['csv', 'ndjson']),
  columns: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  filters: storedFilters(),
  rowsDone: Type.Integer({ minimum: 0 }),
  rowsTotal: countOrNull('Null until it is known.'),
  bytes: countOrNull('Size of the file, or what was sent of one that broke off.'),
  sha256: nullable({ pattern: '^[0-9a-f]{64}$', description: 'Of the whole file.' }),
  createdAt: time('When it was asked for.'),
  finishedAt: timeOrNull('When it came to its end, whichever.'),
  expiresAt: timeOrNull('Until when the file is kept.'),
  requestedBy: exact({ id: uuid('Who asked for it.'), email: nullable({}) }),
  error: nullable({ description: 'Why it failed, for people.' }),
  retryReason: nullable({
    description: 'Why the last attempt failed, until the next one begins.',
  }),
  notified: Type.Array(Type.String(), { description: 'Who was told by e-mail.' }),
  notice: nullable({ description: 'Why no mail was sent, if so.' }),
});

const tags = ['Exports'];
const file = (description: string) =>
  answer(description, ['text/csv', Type.String()], ['application/x-ndjson', Type.String()]);
const params = idParams('`exp_…`');
const headerText = (description: string) => Type.String({ maxLength: 1_024, description });

export const createSchema = {
  operationId: 'createExport',
  summary: 'Export events',
  description:
    'All events that match, in the order of the list. The export is recorded first, and contains what was ' +
    'recorded before it. Up to 10,000 rows are sent with the answer. More of them, or `Prefer: respond-async`, ' +
    'make a job: poll `Location`, or wait for the e-mail.',
  headers: Type.Object({
    ...operatorHeaders.properties,
    prefer: Type.Optional(headerText('`respond-async` makes a job in any case.')),
  }),
  body: ExportInput,
  response: { 200: file('The file.'), 202: ExportJob },
};

export const getSchema = {
  operationId: 'getExport',
  summary: 'An export and how far it has come',
  description: 'For polling; a job that has ended has a `finishedAt`.',
  response: { 200: ExportJob },
};

export const cancelSchema = {
  operationId: 'cancelExport',
  'x-refuses': [409],
  summary: 'Cancel an export that has not ended',
  description: '`409` for an export that has ended.',
  response: { 200: ExportJob },
};

export const listSchema = {
  operationId: 'listExports',
  summary: 'Exports, newest first',
  description: 'Also those that were sent with their answer, and those whose file has expired.',
  response: { 200: pageOf('ExportJobPage', ExportJob, 'One page of exports, newest first.') },
};

export const downloadSchema = {
  operationId: 'downloadExport',
  'x-refuses': [409, 410],
  summary: 'Download the file of an export',
  description:
    'Records the download and redirects to a link that opens the file without a credential for 5 minutes, ' +
    'also in ranges. The file is kept for 7 days, then the answer is `410`.',
  response: {
    200: file('The file, once the redirect is followed.'),
    302: Type.Null({ description: 'The link, in `Location`.' }),
  },
};

export const fileSchema = {
  tags,
  operationId: 'getExportFile',
  'x-refuses': [403, 409, 410, 416],
  summary: 'The file behind a download link',
  description: '`downloadExport` makes the link; its signature is the credential.',
  params,
  querystring: Type.Object({
    tenant: uuid('Whose file it is.'),
    until: queryText('Until when the link opens it.'),
    signature: queryText('Of the link.'),
  }),
  headers: Type.Object({
    range: Type.Optional(headerText('One range of bytes.')),
    'if-range': Type.Optional(headerText('The `ETag` a part was taken of.')),
  }),
  security: [],
  response: { 200: file('The file.'), 206: file('A part of the file.') },
};
