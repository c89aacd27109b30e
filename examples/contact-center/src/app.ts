import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import { fastifyAudit } from '@indelible/client/fastify';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { sinkOf } from './audit.ts';
import { hookRoutes } from './hooks.ts';
import type { HostDeps } from './host-deps.ts';
import { html } from './html.ts';
import { sendPage } from './page.ts';
import { InputError } from './resource-types.ts';
import { accountScreens } from './screens/accounts.ts';
import { activityScreen, auditScreen } from './screens/audit.ts';
import { configureScreens } from './screens/configure.ts';
import { recordingScreens } from './screens/recordings.ts';
import { type Visit, visitOf } from './visit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** On every screen but the sign-in. */
    visit: Visit | null;
  }
}

/** The product, ready to listen. */
export async function buildHost(deps: HostDeps): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(cookies, { secret: deps.cookieSecret });
  // One text for each name, whatever is sent.
  const parser = (text: string) => Object.fromEntries(new URLSearchParams(text));
  await app.register(forms, { parser });
  app.decorateRequest('visit', null);
  await app.register(
    fastifyAudit<FastifyRequest>({
      sink: sinkOf(deps.pool),
      actorOf: ({ visit }) => visit && { ...visit.person, reason: visit.reason },
      tenantOf: ({ visit }) => visit?.tenant?.id,
    }),
  );
  app.setErrorHandler((error, request, reply) => {
    const sentence = inputProblem(error);
    if (sentence !== null) {
      return sendPage(reply, request.visit, 'That did not work', problem(sentence), 400);
    }
    console.error(error);
    return sendPage(reply, request.visit, 'Something went wrong', problem('Try again later.'), 500);
  });
  hookRoutes(app, deps);
  await app.register(async (screens) => {
    guard(screens);
    accountScreens(screens, deps);
    configureScreens(screens, deps);
    recordingScreens(screens, deps);
    auditScreen(screens, deps);
    activityScreen(screens, deps);
  });
  return app;
}

/** What is wrong with what was sent, in words; null when it is not the visitor's doing. */
function inputProblem(error: unknown): string | null {
  if (error instanceof InputError) return error.message;
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  // Class 22 of PostgreSQL: a text that is no UUID, or that no column can hold.
  return statusCode < 500 || /^22...$/.test(code) ? 'This cannot be used.' : null;
}

const problem = (message: string) => html`<p class="problem" role="alert">${message}</p>`;

/** Screens are for those who are signed in; forms are sent from our own pages alone. */
function guard(screens: FastifyInstance): void {
  screens.addHook('preHandler', async (request, reply) => {
    const { origin } = request.headers;
    if (request.method === 'POST' && origin !== `${request.protocol}://${request.host}`) {
      return reply.code(403).send('This form was sent from somewhere else.');
    }
    request.visit = visitOf(request);
    const { url = '' } = request.routeOptions;
    if (url === '/sign-in') return;
    if (!request.visit) return reply.redirect('/sign-in', 303);
    const isOutside = url === '/' || url === '/operator' || url === '/sign-out';
    if (!request.visit.tenant && !isOutside) return reply.redirect('/operator', 303);
  });
}
