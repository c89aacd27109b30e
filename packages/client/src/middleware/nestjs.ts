import { attachAudit, type ExpressRequestLike } from './express.ts';
import { type AuditOptions, RequestAudit } from './request-audit.ts';

export * from './request-audit.ts';

/** Injects the options of `AuditModule`. */
export const AUDIT_OPTIONS: unique symbol = Symbol('AUDIT_OPTIONS');

/** The used part of an ExecutionContext. */
export interface ExecutionContextLike {
  getType(): string;
  switchToHttp(): { getRequest(): unknown };
}

/** Options that depend on other providers, such as a sink; the first three are those of Nest. */
export interface AuditModuleAsyncOptions<Request, Import, Token, Provided extends unknown[]> {
  imports?: Import[];
  inject?: Token[];
  useFactory(...provided: Provided): AuditOptions<Request> | Promise<AuditOptions<Request>>;
}

// The values of Nest's constants, so that this file does not load Nest.
const [appGuard, nestRequest, requestScope] = ['APP_GUARD', 'REQUEST', 2] as const;

/**
 * Adds `request.audit` to every HTTP request, and provides `RequestAudit` for injection everywhere
 * (its users become request-scoped). For Express and Fastify. Import it before modules with guards.
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
        // A global guard is the first code in a request that knows options and request: before
        // interceptors and pipes. So other guards can record refused requests.
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
