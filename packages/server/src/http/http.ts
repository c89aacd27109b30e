import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type ErrorCode,
  errorCodes,
  fieldProblemsMax,
  parseStrictJson,
  problemsText,
} from '@indelible/protocol';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
} from 'fastify';
import type { FastifyValidationResult } from 'fastify/types/schema.js';
import { tookTooLong, unavailability } from '../postgres/db.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { fieldProblem, formats } from './json-schema.ts';
import { largeBodyBytes, parseInTurn } from './large-bodies.ts';
import { AppError, invalid, problemOf, repeatedMember, tooSlow, unavailable } from './problem.ts';
import { refuseMisreadable } from './request-framing.ts';
import { gaveWay } from './strangers-bodies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** JSON Pointers of repeated members of the body. */
    duplicateKeys: string[];
    /** JSON Pointers of numbers of the body that are texts, because a double would change them. */
    numbersAsText: string[];
  }
  interface FastifyContextConfig {
    /** The handler checks path and body itself; else they are checked before it, by the schema. */
    schema?: 'documents';
    /** The handler gets the bytes of the body, and parses them. */
    readsBody?: true;
    /** The handler reports repeated members itself, for each event. */
    judgesDuplicateKeys?: boolean;
  }
}

/** An inbound id is used only if its form cannot forge a log line. */
export function requestId(headers: Record<string, unknown>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w-]{8,64}$/.test(given) ? given : randomUUID();
}

/** Bodies are strict JSON in UTF-8, uncompressed; others are refused unread. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.server.removeAllListeners('clientError').on('clientError', answerBrokenRequest);
  // Node would answer an unknown expectation, which may be ignored (RFC 9110 section 10.1.1).
  app.server.on('checkExpectation', (...call) => app.server.emit('request', ...call));
  refuseMisreadable(app);
  app.decorateRequest('duplicateKeys');
  app.decorateRequest('numbersAsText');
  app.addHook('onRequest', (request, _reply, done) => {
    request.duplicateKeys = [];
    request.numbersAsText = [];
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      throw new AppError('unsupported_media_type', 'compressed bodies are not accepted');
    }
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      requireUtf8(request.headers['content-type'] ?? '', body);
      if (request.routeOptions.config.readsBody) return body;
      const read = () => readJson(body, parseStrictJson);
      const isLarge = body.length > largeBodyBytes;
      const json = isLarge ? await parseInTurn(callerOf(request), read) : read();
      request.duplicateKeys = json.duplicateKeys;
      request.numbersAsText = json.numbersAsText;
      return json.value;
    },
  );
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.duplicateKeys.length === 0 || request.routeOptions.config.judgesDuplicateKeys)
      return done();
    const problems = request.duplicateKeys.slice(0, fieldProblemsMax).map(repeatedMember);
    throw invalid(problems, 'the body repeats a member');
  });
}

const byteOrderMark = Buffer.from('\ufeff');

/** Whose large bodies are parsed one after the other. */
export function callerOf({ principal, ip }: FastifyRequest): string {
  return principal ? (principal.tenantId ?? principal.id) : ip;
}

function requireUtf8(contentType: string, body: Buffer): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1];
  if (charset && !/^utf-?8$/i.test(charset)) {
    throw new AppError('unsupported_media_type', 'bodies are JSON in UTF-8');
  }
  if (!isUtf8(body)) throw new AppError('malformed_json', 'the body is not valid UTF-8');
}

/** What `read` makes of the body. A SyntaxError becomes `malformed_json`. */
export function readJson<T>(body: Buffer, read: (body: Buffer) => T): T {
  try {
    return read(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const detail = body.subarray(0, 3).equals(byteOrderMark)
      ? 'the body begins with a byte order mark: send it without those 3 bytes'
      : undefined;
    throw new AppError('malformed_json', detail);
  }
}

/** One for the process: a schema that several services have is compiled once. */
const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  validateSchema: false,
  verbose: true,
  formats,
});
// Ajv's own keyword compares all pairs, even beyond `maxItems`.
ajv.removeKeyword('uniqueItems').addKeyword({
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (_: boolean, items: unknown[]) => new Set(items).size === items.length,
  error: { message: 'must not hold an item twice' },
});

/**
 * Compiles the schemas of paths and bodies: all problems at once, no coercion, no removal. Schemas
 * of queries and headers are documentation: `readQuery` and `readAsTenant` check those.
 */
const compileSchema: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) =>
  httpPart === 'params' || httpPart === 'body' ? lazily(schema as object) : () => true;

/** Compiles the schema at its first request: all of them are a third of the time of a start. */
function lazily(schema: object): FastifyValidationResult {
  let validate: ValidateFunction | undefined;
  return (value: unknown) => {
    validate ??= ajv.compile(schema);
    return validate(value) || { error: validate.errors ?? [] };
  };
}

/** Fastify loads compilers of its own unless others are named: nothing would use them. */
export const schemaController = {
  compilersFactory: {
    buildValidator: () => {
      throw new Error('enforceSchemas has not set the compiler of schemas');
    },
    buildSerializer: () => () => JSON.stringify,
  },
};

/** Checks path and body of every route by its schema, unless its handler does. */
export function enforceSchemas(app: FastifyInstance): void {
  app.setValidatorCompiler(compileSchema);
  app.addHook('onRoute', (route) => {
    if (route.config?.schema === 'documents') route.validatorCompiler = () => () => true;
  });
}

type Refusals = Record<string, [code: ErrorCode, detail?: string]>;

const fastifyCodes: Refusals = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'malformed_json',
    'the body is shorter or longer than its Content-Length',
  ],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type'],
  FST_ERR_BAD_URL: ['invalid_parameter', 'the path is not valid percent-encoded UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_parameter', 'the path is too long'],
};

/** The AppError that the caller may see; null for an unexpected error. */
export function asAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return null;
  const { code, statusCode, validation, validationContext } = error as FastifyError;
  if (validation) return notOfSchema(validation as ErrorObject[], validationContext);
  const known = code === undefined ? undefined : fastifyCodes[code];
  if (known) return new AppError(...known);
  // Checked before database errors: a caller that closes the connection also gives ECONNRESET.
  if (statusCode === 400) return new AppError('malformed_json', 'the body could not be read');
  if (statusCode && statusCode > 400 && statusCode < 500) return refusalWith(statusCode);
  if (isHangUp(error)) return unavailable(hungUp);
  if (tookTooLong(error)) return tooSlow();
  const reason = unavailability(error);
  return reason === null ? null : unavailable(`${reason}; try again`);
}

/** What Fastify or a plugin refuses: the first code of that status. */
function refusalWith(status: number): AppError {
  const codes = Object.keys(errorCodes) as ErrorCode[];
  return new AppError(codes.find((code) => errorCodes[code].status === status) ?? 'not_found');
}

// Node's error for a streamed answer whose connection closed before the first byte.
const isHangUp = (error: unknown) => codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE';
const hungUp = 'the caller has hung up';

function notOfSchema(validation: readonly ErrorObject[], context: string | undefined): AppError {
  const code = context === 'body' ? 'validation_failed' : 'invalid_parameter';
  const errors = validation.slice(0, fieldProblemsMax).map(fieldProblem);
  return new AppError(code, problemsText(errors), { errors });
}

/** Every error becomes a problem document; an unexpected one is logged and shows no details. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = asAppError(error);
  const route = request.routeOptions.url;
  if (!known) request.log.error({ err: error, route }, 'unexpected error');
  if (isHangUp(error)) request.log.info({ route }, hungUp);
  if (known?.finding !== undefined) request.log.error(known.finding);
  if (known?.code === 'payload_too_large' && isReadAway(request)) reply.removeHeader('connection');
  const problem = problemOf(known ?? new AppError('internal_error'), request.id);
  return reply
    .code(problem.status)
    .headers(known?.headers ?? {})
    .type('application/problem+json')
    .send(JSON.stringify(problem));
}

/** The largest body that is read to its end although it is refused. */
const readAwayBytesMax = 16 * 2 ** 20;

/**
 * Closing a connection on which a body still arrives resets it. The sender, often a proxy, would
 * see the reset instead of the answer.
 */
function isReadAway({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= readAwayBytesMax;
}

const brokenRequests: Refusals = {
  HPE_INVALID_EOF_STATE: ['malformed_json', 'the request ended before its body did'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
  [gaveWay]: [
    'rate_limited',
    'too many unfinished requests without a credential; send the request again',
  ],
  HPE_HEADER_OVERFLOW: ['payload_too_large', 'the headers are larger than this service takes'],
};

/** A malformed request reaches no hook: its problem document is written to the socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const known = brokenRequests[error.code ?? ''];
  const problem = problemOf(
    new AppError(known?.[0] ?? 'invalid_parameter', known?.[1] ?? 'the request is not valid HTTP'),
    randomUUID(),
  );
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `x-request-id: ${problem.requestId}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy(error);
}

/** A path with other methods answers 405 and lists them; any other 404. The body is not read. */
export function refuseUnknownCalls(app: FastifyInstance): void {
  const known: { pattern: RegExp; methods: Set<string> }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const literal = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const source = literal.replace(/:\w+/g, '[^/]+').replace('\\*', '.+');
    const pattern = new RegExp(`^${source}/?$`);
    const methods = new Set([method].flat());
    const same = known.find((route) => route.pattern.source === pattern.source);
    if (same) for (const each of methods) same.methods.add(each);
    else known.push({ pattern, methods });
  });
  const refusalOf = ({ url, method }: FastifyRequest): AppError => {
    const [path = ''] = url.split('?');
    const route = known.find(({ pattern }) => pattern.test(path));
    if (!route || route.methods.has(method)) return new AppError('not_found');
    const headers = { allow: [...route.methods].sort().join(', ') };
    return new AppError('method_not_allowed', undefined, { headers });
  };
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.is404) throw refusalOf(request);
    done(null, payload);
  });
  app.setNotFoundHandler((request, reply) => sendProblem(refusalOf(request), request, reply));
}
