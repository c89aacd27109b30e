import { type HttpAnswer, listen, type Received } from '@indelible/testing/http-receiver';

interface Item {
  _index: string;
  _id: string;
  status: number;
  result?: string;
  error?: { type: string; reason: string; caused_by: { type: string; reason: string } };
}

/**
 * A small Elasticsearch, by its documentation: the bulk API with a result for each item, and
 * dynamic mapping: the first value of a field decides its type; dates are detected in texts unless
 * the index name begins with `logs-`, whose built-in template disables that.
 */
export async function elasticReceiver() {
  const state = {
    /** The accepted `Authorization`. */
    authorization: 'ApiKey aWQ6a2V5',
    /** Statuses for items of the next messages, by id. */
    trouble: new Map<string, number>(),
    /** Whether the key may do more than write. */
    mayMonitor: true,
    documents: new Map<string, Record<string, unknown>>(),
  };
  const types = new Map<string, string>();
  const receiver = await listen((request) => {
    if (request.headers.authorization !== state.authorization) {
      return problem(401, 'security_exception', 'unable to authenticate with provided credentials');
    }
    if (`${request.method} ${request.path}` === 'GET /') return root();
    if (`${request.method} ${request.path}` !== 'POST /_bulk') {
      return problem(405, 'method_not_allowed', 'Incorrect HTTP method');
    }
    return bulk(request);
  });

  function root(): HttpAnswer {
    if (!state.mayMonitor) {
      const reason = 'action [cluster:monitor/main] is unauthorized for API key id [id]';
      return problem(403, 'security_exception', reason);
    }
    return { status: 200, body: { version: { number: '9.1.0' }, tagline: 'You Know, for Search' } };
  }

  function bulk({ body, headers, query }: Received): HttpAnswer {
    const isNdjson = headers['content-type'] === 'application/x-ndjson';
    if (!isNdjson) return problem(406, 'media_type_header_exception', 'Invalid media-type');
    if (!body.endsWith('\n')) {
      const reason = 'The bulk request must be terminated by a newline [\\n]';
      return problem(400, 'illegal_argument_exception', reason);
    }
    const lines = body.slice(0, -1).split('\n');
    const items: { create: Item }[] = [];
    for (let at = 0; at < lines.length; at += 2) {
      const { create } = JSON.parse(lines[at] ?? '');
      items.push({ create: index(create, JSON.parse(lines[at + 1] ?? '')) });
    }
    const errors = items.some(({ create }) => create.status >= 300);
    return { status: 200, body: filtered({ took: 3, errors, items }, query.get('filter_path')) };
  }

  function index(
    { _index, _id }: { _index: string; _id: string },
    document: Record<string, unknown>,
  ): Item {
    const trouble = state.trouble.get(_id);
    if (trouble !== undefined) {
      return refused(_index, _id, trouble, 'es_rejected_execution_exception', 'queue is full');
    }
    if (state.documents.has(_id)) {
      const reason = `[${_id}]: version conflict, document already exists`;
      return refused(_index, _id, 409, 'version_conflict_engine_exception', reason);
    }
    const conflict = mappingConflict(types, _index, document);
    if (conflict !== null) return refused(_index, _id, 400, 'document_parsing_exception', conflict);
    state.documents.set(_id, document);
    return { _index, _id, status: 201, result: 'created' };
  }

  return Object.assign(state, receiver);
}

function refused(_index: string, _id: string, status: number, type: string, reason: string): Item {
  // As long as a real explanation, which quotes the refused value.
  const caused_by = {
    type: 'illegal_argument_exception',
    reason: `For input: "${'x'.repeat(600)}"`,
  };
  return { _index, _id, status, error: { type, reason, caused_by } };
}

function problem(status: number, type: string, reason: string): HttpAnswer {
  return { status, body: { error: { root_cause: [{ type, reason }], type, reason }, status } };
}

/** Only what `filter_path` names: of an item its id, status and error, or the error itself. */
function filtered(
  answer: { took: number; errors: boolean; items: { create: Item }[] },
  path: string | null,
) {
  if (path === null) return answer;
  const isWhole = path.split(',').includes('items.*.error');
  const items = answer.items.map(({ create: { _id, status, error } }) => {
    if (!error) return { create: { _id, status } };
    const { type, reason } = error;
    return { create: { _id, status, error: isWhole ? error : { type, reason } } };
  });
  return { errors: answer.errors, items };
}

/** The first field whose value does not match the type from an earlier document. */
function mappingConflict(
  types: Map<string, string>,
  index: string,
  document: Record<string, unknown>,
): string | null {
  const detectsDates = !index.startsWith('logs-');
  for (const [field, value] of leaves(document)) {
    const key = `${index} ${field}`;
    const found = typeOf(value, detectsDates);
    const known = types.get(key) ?? found;
    types.set(key, known);
    const fits = known === found || (known === 'text' && found !== 'object');
    if (!fits) return `failed to parse field [${field}] of type [${known}]`;
  }
  return null;
}

function typeOf(value: unknown, detectsDates: boolean): string {
  if (typeof value === 'number') return 'long';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'object') return 'object';
  const isDate = detectsDates && /^\d{4}(-\d\d(-\d\d)?)?(T[\d:.]+Z?)?$/.test(String(value));
  return isDate ? 'date' : 'text';
}

/** Every field with a value, by its dotted path; arrays count as their values, null as none. */
function leaves(value: unknown, path = ''): [field: string, value: unknown][] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((each) => leaves(each, path));
  if (typeof value !== 'object') return [[path, value]];
  const below = Object.entries(value).flatMap(([name, each]) =>
    leaves(each, path === '' ? name : `${path}.${name}`),
  );
  return path === '' ? below : [[path, value], ...below];
}
