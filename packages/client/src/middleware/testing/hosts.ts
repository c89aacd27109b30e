import 'reflect-metadata';
import type { Server } from 'node:http';
import { type HttpBindings, serve } from '@hono/node-server';
import {
  type CanActivate,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  ForbiddenException,
  Inject,
  Injectable,
  Module,
  Post,
  Req,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import type { AuditSink } from '../../audit-sink.ts';
import { listening, type Running } from '../../testing/listening.ts';
import { expressAudit } from '../express.ts';
import { fastifyAudit } from '../fastify.ts';
import { type AuditVariables, honoAudit } from '../hono.ts';
import { AuditModule, RequestAudit, requestAudit } from '../nestjs.ts';
import { type Act, act, claimsOf, type Gate, type User, userOf } from './host-rules.ts';

/* The host product on each framework. Authentication runs after the middleware, as is usual. */

export interface HostOptions {
  sink: AuditSink;
  gate: Gate;
  /** Address of the proxy. */
  trusted?: string;
}

export interface Host extends Running {
  server: Server;
}

export const hosts: Record<string, (options: HostOptions) => Promise<Host>> = {
  Fastify: startFastify,
  Express: startExpress,
  Hono: startHono,
  NestJS: startNest,
};

declare module 'fastify' {
  interface FastifyRequest {
    user: User | null;
  }
}

async function startFastify({ sink, gate, trusted }: HostOptions): Promise<Host> {
  const app = fastify({ trustProxy: trusted ?? false, forceCloseConnections: true });
  app.register(
    fastifyAudit({
      sink,
      actorOf: (request: FastifyRequest) => request.user,
      tenantOf: (request) => request.user?.tenantId,
      claimsOf: (request) => claimsOf(request.headers['x-claims']),
    }),
  );
  app.decorateRequest('user', null);
  app.addHook('preHandler', async (request) => {
    request.user = userOf(request.headers['x-user']);
  });
  app.post<{ Body: Act }>('/act', (request) => act(request.audit, request.body, gate));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { server: app.server, ...(await listening(app.server)) };
}

interface SignedIn extends express.Request {
  user?: User | null;
}

async function startExpress({ sink, gate, trusted }: HostOptions): Promise<Host> {
  const app = express();
  if (trusted) app.set('trust proxy', trusted);
  app.use(
    expressAudit({
      sink,
      actorOf: (request: SignedIn) => request.user,
      tenantOf: (request) => request.user?.tenantId,
      claimsOf: (request) => claimsOf(request.headers['x-claims']),
    }),
  );
  app.use(express.json(), (request: SignedIn, _response, next) => {
    request.user = userOf(request.headers['x-user']);
    next();
  });
  app.post('/act', async (request, response) => {
    response.json(await act(request.audit, request.body, gate));
  });
  // Express would print the error.
  app.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => {
    response.status(500).json({});
  });
  const server = app.listen(0, '127.0.0.1');
  return { server, ...(await listening(server)) };
}

type Env = { Bindings: HttpBindings; Variables: AuditVariables & { user: User | null } };

async function startHono({ sink, gate, trusted }: HostOptions): Promise<Host> {
  const app = new Hono<Env>();
  app.use(
    honoAudit({
      sink,
      actorOf: (context: Context<Env>) => context.get('user'),
      tenantOf: (context) => context.get('user')?.tenantId,
      claimsOf: (context) => claimsOf(context.req.header('x-claims')),
      ...(trusted ? { trustedProxies: [trusted] } : {}),
    }),
  );
  app.use(async (context, next) => {
    context.set('user', userOf(context.req.header('x-user')));
    await next();
  });
  app.post('/act', async (context) => {
    return context.json((await act(context.get('audit'), await context.req.json(), gate)) ?? {});
  });
  app.onError((_error, context) => context.json({}, 500));
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }) as Server;
  return { server, ...(await listening(server)) };
}

const Audit = createParamDecorator(requestAudit);

/** Signs in; refuses and records blocked users. */
class SignInGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<SignedIn>();
    request.user = userOf(request.headers['x-user']);
    if (request.headers['x-blocked'] === undefined) return true;
    const id = String(request.headers['x-blocked']);
    await request.audit.record({ action: 'read', resource: { type: 'recording', id } });
    throw new ForbiddenException();
  }
}

/** Records without access to the HTTP request. */
class Queues {
  readonly audit: RequestAudit;
  constructor(audit: RequestAudit) {
    this.audit = audit;
  }
}

// The effect of `@Injectable()`, `@Inject(…)`, `@Controller()` and so on.
Injectable()(Queues);
Inject(RequestAudit)(Queues, undefined, 0);

const SINK = Symbol('the sink');
const GATE = Symbol('the gate');

class QueuesController {
  readonly queues: Queues;
  readonly gate: Gate;
  constructor(queues: Queues, gate: Gate) {
    this.queues = queues;
    this.gate = gate;
  }
  act(request: SignedIn, audit: RequestAudit) {
    if (audit !== this.queues.audit) throw new Error('a request has one audit');
    return act(audit, request.body, this.gate);
  }
}
Controller('act')(QueuesController);
UseGuards(SignInGuard)(QueuesController);
Inject(Queues)(QueuesController, undefined, 0);
Inject(GATE)(QueuesController, undefined, 1);
Post()(
  QueuesController.prototype,
  'act',
  Object.getOwnPropertyDescriptor(QueuesController.prototype, 'act') as PropertyDescriptor,
);
Req()(QueuesController.prototype, 'act', 0);
Audit()(QueuesController.prototype, 'act', 1);

async function startNest({ sink, gate, trusted }: HostOptions): Promise<Host> {
  class SinkModule {}
  Module({ providers: [{ provide: SINK, useValue: sink }], exports: [SINK] })(SinkModule);
  class HostModule {}
  Module({
    imports: [
      AuditModule.forRootAsync({
        imports: [SinkModule],
        inject: [SINK],
        useFactory: (provided: AuditSink) => ({
          sink: provided,
          actorOf: (request: SignedIn) => request.user,
          tenantOf: (request: SignedIn) => request.user?.tenantId,
          claimsOf: (request: SignedIn) => claimsOf(request.headers['x-claims']),
        }),
      }),
    ],
    controllers: [QueuesController],
    providers: [Queues, { provide: GATE, useValue: gate }],
  })(HostModule);
  const app = await NestFactory.create<NestExpressApplication>(HostModule, { logger: false });
  if (trusted) app.set('trust proxy', trusted);
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as Server;
  return { server, ...(await listening(server)) };
}
