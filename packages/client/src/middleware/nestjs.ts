import { attachAudit, type ExpressRequestLike } from './express.ts';
import { type AuditOptions, RequestAudit } from './request-audit.ts';

export {
  type ActingAs,
  type Actor,
  type AuditInput,
  NotRecordedError,
  RequestAudit,
} from './request-audit.ts';

/** Injects what `AuditModule` was configured with. */
export const AUDIT_OPTIONS: unique symbol = Symbol('AUDIT_OPTIONS');

/** What is used of an ExecutionContext. */
export interface ExecutionContextLike {
  getType(): string;
  switchToHttp(): { getRequest(): unknown };
}

/**
 * Options that are made of what others provide, such
 * as a sink; the first three are as Nest has them.
 */
export interface AuditModuleAsyncOptions<Request, Import, Token, Provided extends unknown[]> {
  imports?: Import[];
  inject?: Token[];
  useFactory(...provided: Provided): AuditOptions<Request> | Promise<AuditOptions<Request>>;
}

// Nest's own constants by their values, so that nothing of Nest is loaded from here.
const [appGuard, nestRequest, requestScope] = ['APP_GUARD', 'REQUEST', 2] as const;

/**
 * Gives every HTTP request `request.audit`, and provides `RequestAudit` for injection everywhere
 * (its users become request-scoped). For Express and Fastify; import it before modules with guards.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
export class AuditModule {
  static forRoot<Request extends ExpressRequestLike>(options: AuditOptions<Request>) {
    return AuditModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync<
    Request extends ExpressRequestLike,
    Import = never,
    Token = never,
    Provided extends unknown[] = [],
  >(options: AuditModuleAsyncOptions<Request, Import, Token, Provided>) {
    const { imports = [], inject = [], useFactory } = options;
    return {
      module: AuditModule,
      global: true,
      imports,
      providers: [
        { provide: AUDIT_OPTIONS, inject, useFactory },
        // The first thing in a request that Nest lets know options and request: before interceptors
        // and pipes, and other guards can record whom they turn away.
        { provide: appGuard, inject: [AUDIT_OPTIONS], useFactory: attachingGuard },
        {
          provide: RequestAudit,
          scope: requestScope,
          inject: [AUDIT_OPTIONS, nestRequest],
          useFactory: attachAudit,
        },
      ],
      exports: [RequestAudit, AUDIT_OPTIONS],
    };
  }
}

function attachingGuard(options: AuditOptions<ExpressRequestLike>) {
  return {
    canActivate(context: ExecutionContextLike): boolean {
      if (context.getType() === 'http') {
        attachAudit(options, context.switchToHttp().getRequest() as ExpressRequestLike);
      }
      return true;
    },
  };
}

/** For a decorator of parameters: `export const Audit = createParamDecorator(requestAudit)`. */
export function requestAudit(_data: unknown, context: ExecutionContextLike): RequestAudit {
  return (context.switchToHttp().getRequest() as { audit: RequestAudit }).audit;
}
