import { type EventFilter, type Scope, uuidFromTypeId } from '@indelible/protocol';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { idParams, uuid } from '../http/field-schemas.ts';
import { answerPage, PageQuery, readPage } from '../http/keyset-page.ts';
import type { AppError } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import { type Database, readTenant, type TenantTx } from '../postgres/db.ts';
import { lookAt, lookAtEvents, type OtherThing } from './look.ts';
import { operatorHeaders } from './operator-access.ts';
import type { RecordAccess } from './record-looks.ts';
import { readAsTenant, type TenantAccess } from './tenant-access.ts';

/** One kind of a tenant's things, such as webhooks or exports. */
interface Kind {
  lookedAt: OtherThing;
  path: string;
  /** The group of calls in the OpenAPI document. */
  tag: string;
  /** With `authenticated` the `input` of each call decides. */
  scope: Scope | 'authenticated';
  /** The prefix of the ids in paths; null: they are UUIDs. */
  idPrefix: string | null;
  /** The error for an id that names none of them. */
  none: () => AppError;
  /** The `input` of a call reports the problems of its body's schema with those of its own. */
  judgesBodies?: boolean;
}

/** A call in the OpenAPI document. The first response has the status of success. */
interface Operation extends Pick<FastifyContextConfig, 'reads'> {
  operationId: string;
  params?: TSchema;
  headers?: TSchema;
  body?: TSchema;
  querystring?: TSchema;
  response: Readonly<Record<number, object>>;
}

/** The answer shows what events match: an operator's record says so, instead of the kind. */
type ShowsEvents = (filter: EventFilter) => void;

export interface TenantCall {
  access: TenantAccess;
  tenantId: string;
  request: FastifyRequest;
  reply: FastifyReply;
  showsEvents: ShowsEvents;
  /** The UUID in the path. Throws `not_found` for an id of another form. */
  id(): string;
  /** What `read` finds by that id. Throws `not_found` if it finds nothing. */
  found<Row>(read: (tx: TenantTx, id: string) => Promise<Row | null | undefined>): Promise<Row>;
}

/** Sends what a call answers; the reply has the status of success. */
type Send<Answer> = (reply: FastifyReply, answer: Answer) => FastifyReply | Promise<FastifyReply>;

const sendIt: Send<unknown> = (reply, answer) => reply.send(answer);

type Verb = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Route = Verb | `${Verb} /${string}`;

/**
 * The calls on one kind of a tenant's things, for the tenant and for operators. An operator's look
 * is recorded before the answer is sent (see `readAsTenant`).
 */
export class TenantCalls {
  readonly #app: FastifyInstance;
  readonly #deps: { db: Database; recordAccess: RecordAccess };
  readonly #kind: Kind;

  constructor(
    app: FastifyInstance,
    deps: { db: Database; recordAccess: RecordAccess },
    kind: Kind,
  ) {
    this.#app = app;
    this.#deps = deps;
    this.#kind = kind;
  }

  on<Answer>(
    route: Route,
    operation: Operation,
    run: (call: TenantCall) => Promise<Answer>,
    send: Send<Answer> = sendIt,
  ): void {
    this.onInput(route, operation, () => null, run, send);
  }

  /**
   * A call at the kind's path or below it. `input` is read before the access is recorded: a request
   * that it refuses has shown nothing.
   */
  onInput<Input, Answer>(
    route: Route,
    { reads, ...operation }: Operation,
    input: (request: FastifyRequest, showsEvents: ShowsEvents) => Input,
    run: (call: TenantCall, input: Input) => Promise<Answer>,
    send: Send<Answer> = sendIt,
  ): void {
    const { path, tag, scope, idPrefix, lookedAt, judgesBodies = false } = this.#kind;
    const [verb, inside = ''] = route.split(' ') as [Verb, string?];
    const status = Number(Object.keys(operation.response)[0]);
    const schema = {
      tags: [tag],
      headers: operatorHeaders,
      ...(inside.includes('/:id') && { params: paramsWith(idPrefix) }),
      ...operation,
    };
    const options = {
      schema,
      config: { scope, ...(reads && { reads }) },
      attachValidation: judgesBodies && operation.body !== undefined,
    };
    this.#app[verb](`${path}${inside}`, options, async (request, reply) => {
      let look = lookAt(lookedAt, request);
      const showsEvents: ShowsEvents = (filter) => {
        look = lookAtEvents(filter);
      };
      const given = input(request, showsEvents);
      const { recordAccess } = this.#deps;
      const answer = await readAsTenant(
        ...([request, recordAccess, () => look] as const),
        async (access) => run({ ...this.#callOf(request, access), reply, showsEvents }, given),
      );
      return send(reply.code(status), answer);
    });
  }

  /** All of them, newest first, page by page. */
  list<Row extends { id: string }>(
    operation: Operation,
    read: (tx: TenantTx, from: string, max: number, access: TenantAccess) => Promise<Row[]>,
    show: (rows: readonly Row[], tenantId: string) => object[] | Promise<object[]>,
  ): void {
    const paged = { querystring: PageQuery, ...operation };
    this.onInput('get', paged, newestPage, ({ access, tenantId }, page) => {
      const rows = (from: string, max: number) =>
        readTenant(this.#deps.db, tenantId, (tx) => read(tx, from, max, access));
      return answerPage(page, rows, (found) => show(found, tenantId));
    });
  }

  #callOf(
    request: FastifyRequest,
    access: TenantAccess,
  ): Omit<TenantCall, 'reply' | 'showsEvents'> {
    const { tenantId } = access;
    const id = () => this.#idIn(request);
    const found: TenantCall['found'] = async (read) => {
      const uuid = id();
      const row = await readTenant(this.#deps.db, tenantId, (tx) => read(tx, uuid));
      if (row) return row;
      throw this.#kind.none();
    };
    return { access, tenantId, request, id, found };
  }

  #idIn({ params }: FastifyRequest): string {
    const { idPrefix, none } = this.#kind;
    const { id } = params as { id: string };
    if (idPrefix === null) return id.toLowerCase();
    const uuid = uuidFromTypeId(idPrefix, id);
    if (uuid === null) throw none();
    return uuid;
  }
}

const newestPage = (request: FastifyRequest) => readPage(request, 'newest');

const paramsWith = (idPrefix: string | null) =>
  idPrefix === null ? Type.Object({ id: uuid('As listed.') }) : idParams(`\`${idPrefix}…\``);
