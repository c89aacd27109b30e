// A host product on each framework, compiled and run with the versions that are installed here.
import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, get, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EventInput } from '@indelible/client';
import { expressAudit } from '@indelible/client/express';
import { fastifyAudit } from '@indelible/client/fastify';
import { honoAudit } from '@indelible/client/hono';
import { AuditModule, RequestAudit } from '@indelible/client/nestjs';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { type FastifyRequest, fastify } from 'fastify';
import { type Context, Hono } from 'hono';

const user = {
  id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
  email: 'ana@example.com',
  role: 'admin',
};
const resource = { type: 'queue', id: '5b0d6b1e-3f0c-4f2a-9d61-7f1f2c9b8a10' };
const event = { action: 'update', resource };
const events: EventInput[] = [];
const sink = { record: (recorded: EventInput) => events.push(recorded) };

/** The address that the frameworks see the request come from, behind a proxy that they trust. */
const headers = { 'user-agent': 'a browser', 'x-forwarded-for': '203.0.113.7' };

async function call(port: number): Promise<void> {
  const [answer] = await once(get({ port, host: '127.0.0.1', path: '/act', headers }), 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`the host answered ${answer.statusCode}`);
}

async function callServer(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await call((server.address() as AddressInfo).port);
  server.close();
}

async function onExpress(): Promise<void> {
  const app = express();
  app.set('trust proxy', '127.0.0.1');
  app.use(expressAudit({ sink, actorOf: (_request: express.Request) => user }));
  app.get('/act', (request, response, next) => {
    request.audit.record(event).then((id) => response.end(id), next);
  });
  await callServer(app);
}

async function onFastify(): Promise<void> {
  const app = fastify({ trustProxy: '127.0.0.1', forceCloseConnections: true });
  app.register(fastifyAudit({ sink, actorOf: (_request: FastifyRequest) => user }));
  app.get('/act', (request) => request.audit.record(event));
  await app.listen({ host: '127.0.0.1', port: 0 });
  await call((app.server.address() as AddressInfo).port);
  await app.close();
}

async function onHono(): Promise<void> {
  const app = new Hono<{ Variables: { audit: RequestAudit } }>();
  const getConnInfo = () => ({ remote: { address: '127.0.0.1' } });
  const trustedProxies = 'loopback';
  app.use('*', honoAudit({ sink, actorOf: (_: Context) => user, getConnInfo, trustedProxies }));
  app.get('/act', async (context) => context.text(await context.get('audit').record(event)));
  const answer = await app.request('/act', { headers });
  if (answer.status !== 200) throw new Error(`the host answered ${answer.status}`);
}

class Acts {
  readonly audit: RequestAudit;
  constructor(audit: RequestAudit) {
    this.audit = audit;
  }
  act() {
    return this.audit.record(event);
  }
}
// The effect of the decorators, which Node does not read.
Controller('act')(Acts);
Inject(RequestAudit)(Acts, undefined, 0);
Get()(Acts.prototype, 'act', Object.getOwnPropertyDescriptor(Acts.prototype, 'act') ?? {});

class HostModule {}
const audit = AuditModule.forRoot({ sink, actorOf: () => user });
Module({ imports: [audit], controllers: [Acts] })(HostModule);

async function onNest(): Promise<void> {
  const app = await NestFactory.create(HostModule, { logger: false });
  app.getHttpAdapter().getInstance().set('trust proxy', '127.0.0.1');
  await app.listen(0, '127.0.0.1');
  await call((app.getHttpServer().address() as AddressInfo).port);
  await app.close();
}

for (const host of [onExpress, onFastify, onHono, onNest]) await host();
console.log(JSON.stringify(events));
