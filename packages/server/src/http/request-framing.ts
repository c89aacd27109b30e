import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { AppError } from './problem.ts';

/**
 * Refuses requests that a proxy before the service may read in another way than Node, and closes
 * their connection: what follows may be no request to that proxy.
 */
export function refuseMisreadable(app: FastifyInstance): void {
  const refused = new WeakMap<object, string>();
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const problem = refused.get(socket) ?? framingProblem(request.raw);
    if (problem === null) return done();
    refused.set(socket, problem);
    reply.header('connection', 'close');
    throw new AppError('invalid_parameter', problem);
  });
}

/** RFC 9112 sections 3.2 and 6.1. Null if there is none. */
function framingProblem({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return 'a request of HTTP/1.0 cannot have the header `Transfer-Encoding`';
  const isHost = (text: string, at: number) => at % 2 === 0 && text.toLowerCase() === 'host';
  const hosts = rawHeaders.filter(isHost).length;
  if (hosts > 1) return 'a request needs one header `Host`, not several';
  return hosts === 0 && httpVersion === '1.1' ? 'a request needs the header `Host`' : null;
}

/**
 * Answers `100 Continue` (RFC 9110 section 10.1.1) once the caller's credential was judged. Node
 * closes the connection of a caller who is refused before. Add this hook last.
 */
export function askForBodies(app: FastifyInstance): void {
  // Node would answer before the first hook.
  app.server.on('checkContinue', (...call) => app.server.emit('request', ...call));
  app.addHook('preParsing', ({ headers }, reply, payload, done) => {
    if (/^100-continue$/i.test(headers.expect ?? '')) reply.raw.writeContinue();
    done(null, payload);
  });
}
