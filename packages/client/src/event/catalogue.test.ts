import { join } from 'node:path';
import { contactCenter } from '@indelible/protocol';
import ts from 'typescript';
import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  type AuditSink,
  createClient,
  defineCatalogue,
  type EventInput,
  type IndelibleClient,
} from '../index.ts';
import { createOutbox } from '../outbox/index.ts';
import { createRecorder } from '../recorder/index.ts';
import { captureAudit } from '../testing/index.ts';

const catalogue = defineCatalogue({
  actions: ['refund', 'invoice.refund', '2fa_enabled'],
  resourceTypes: ['invoice', 'crm.deal'],
});
const options = { url: 'http://127.0.0.1:9', key: null };

type EventOf<C extends IndelibleClient<never, never>> = Parameters<C['record']>[0];
type Words<A extends string, R extends string> = { action: A; resource: { type: R; id: string } };

test('a client with a catalogue takes known words and its own, and any other is a type error', () => {
  const client = createClient({ ...options, catalogue });
  type Event = EventOf<typeof client>;
  type Rest = { actor: EventInput['actor'] };
  expectTypeOf<Words<'update', 'queue'> & Rest>().toExtend<Event>();
  expectTypeOf<Words<'refund', 'invoice'> & Rest>().toExtend<Event>();
  expectTypeOf<Words<'invoice.refund', 'crm.deal'> & Rest>().toExtend<Event>();
  expectTypeOf<Words<'refnd', 'invoice'> & Rest>().not.toExtend<Event>();
  expectTypeOf<Words<'refund', 'invoic'> & Rest>().not.toExtend<Event>();
  expectTypeOf(client.recordBatch).parameter(0).toEqualTypeOf<readonly Event[]>();
  expectTypeOf(catalogue.event).parameter(0).toEqualTypeOf<Event>();
});

test('recorder, outbox and capture take a catalogue as the client does', () => {
  type Event = Parameters<typeof catalogue.event>[0];
  const recorder = createRecorder({ client: createClient(options), catalogue });
  const outbox = createOutbox({ catalogue }).with(async () => {});
  const capture = captureAudit({ catalogue });
  expectTypeOf(recorder.record).parameter(0).toEqualTypeOf<Event>();
  expectTypeOf(outbox.inTransaction).parameter(1).toEqualTypeOf<Event>();
  expectTypeOf(outbox.sink).returns.toHaveProperty('record').parameter(0).toEqualTypeOf<Event>();
  expectTypeOf(capture.record).parameter(0).toEqualTypeOf<Event>();
  const sinks: AuditSink[] = [recorder, capture, outbox.sink(null)];
  expect(sinks).toHaveLength(3);
});

test('a client without a catalogue may write every word that the service takes', () => {
  const client = createClient(options);
  expectTypeOf<EventOf<typeof client>>().toEqualTypeOf<EventInput>();
  expectTypeOf<string>().toExtend<EventInput['action']>();
  expectTypeOf<string>().toExtend<EventInput['resource']['type']>();
});

test('an event checked by a catalogue is one for any sink', () => {
  expectTypeOf(catalogue.event).returns.toExtend<EventInput>();
  const actor = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' };
  const resource = { type: 'invoice', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' } as const;
  const event = { actor, action: 'refund', resource } as const;
  expect(catalogue.event(event)).toBe(event);
});

test.each([
  ['Refund', 'not a snake_case word'],
  [`a${'b'.repeat(64)}`, 'not a snake_case word'],
  ['heartbeat', contactCenter.notRecordable[1].why],
])('the action %s, which the service would refuse, cannot be declared', (action, why) => {
  expect(() => defineCatalogue({ actions: [action] })).toThrow(why);
});

test('words are judged by the catalogue of the service, when it is given', () => {
  const catalogueFile = { events: { notRecordable: [{ actions: ['ping'], why: 'Noise.' }] } };
  expect(defineCatalogue({ resourceTypes: ['call'], catalogueFile }).resourceTypes).toEqual([
    'call',
  ]);
  expect(() => defineCatalogue({ actions: ['ping'], catalogueFile })).toThrow('Noise.');
});

test('a resource type that is never recorded cannot be declared', () => {
  expect(() => defineCatalogue({ resourceTypes: ['call'] })).toThrow('call-detail record');
});

describe('in an editor', () => {
  const file = join(import.meta.dirname, 'editor.ts');
  let source = '';
  let version = 0;
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(version) : '0'),
    getScriptSnapshot: (name) => {
      const text = name === file ? source : ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCompilationSettings: () => ({
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      types: [],
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getCurrentDirectory: () => import.meta.dirname,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    ...(ts.sys.realpath === undefined ? {} : { realpath: ts.sys.realpath }),
  });

  /** The errors of a file. */
  function errorsOf(text: string) {
    version += 1;
    source = text;
    return service.getSemanticDiagnostics(file).map(({ messageText }) => messageText);
  }

  /** What the editor makes of an event that is being written. */
  function editor(event: string, option: string) {
    const errors = errorsOf(`import { createClient, defineCatalogue } from '../index.ts';
const catalogue = defineCatalogue({
  actions: ['refund', 'invoice.refund', '2fa_enabled'],
  resourceTypes: ['invoice', 'crm.deal'],
});
const client = createClient({ url: '', key: null, ${option} });
client.record({ ${event} });`);
    const at = source.lastIndexOf("''") + 1;
    return {
      names: () => service.getCompletionsAtPosition(file, at, {})?.entries.map(({ name }) => name),
      errors,
    };
  }

  test('known actions and resource types are offered, and own ones beside them', () => {
    const actions = editor("action: ''", 'catalogue').names();
    expect(actions).toEqual(expect.arrayContaining(['refund', 'update', 'login_failed']));
    const types = editor("resource: { type: '' }", 'catalogue').names();
    expect(types).toEqual(expect.arrayContaining(['invoice', 'queue', 'recording_policy']));
    const open = editor("action: ''", '').names();
    expect(open).toEqual(expect.arrayContaining(['update', 'login_failed']));
    expect(open).not.toContain('refund');
  });

  test('a misspelt action is an error that says which word was meant', () => {
    const errors = JSON.stringify(editor("action: 'refnd'", 'catalogue').errors);
    expect(errors).toContain(`Did you mean`);
    expect(errors).toContain('refund');
  });

  test.each(['express', 'nestjs', 'fetch'])(
    'the words that a host gives to @indelible/client/%s hold for the audit of a request',
    (name) => {
      const errors = errorsOf(`import { defineCatalogue } from '../index.ts';
import type { RequestAudit } from '../middleware/${name}.ts';
const catalogue = defineCatalogue({ actions: ['refund'], resourceTypes: ['invoice'] });
declare module '../middleware/${name}.ts' {
  interface AuditWords { catalogue: typeof catalogue }
}
declare const audit: RequestAudit;
const resource = { type: 'invoice', externalId: 'inv_17' } as const;
audit.record({ action: 'refund', resource });
audit.record({ action: 'refnd', resource });
audit.event({ action: 'refund', resource: { type: 'invoic', externalId: 'inv_17' } });`);
      const said = errors.map((error) => JSON.stringify(error));
      expect(said).toEqual([expect.stringContaining('refnd'), expect.stringContaining('invoic')]);
    },
  );
});
