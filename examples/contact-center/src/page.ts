import type { FastifyReply } from 'fastify';
import { type Html, html } from './html.ts';
import { resourceTypes } from './resource-types.ts';
import type { Visit } from './visit.ts';

/** Sends one screen of the product. */
export function sendPage(
  reply: FastifyReply,
  visit: Visit | null,
  title: string,
  body: Html,
  code = 200,
): FastifyReply {
  reply.code(code).type('text/html; charset=utf-8').header('cache-control', 'no-store');
  return reply.send(page(visit, title, body).text);
}

/** What may be wider than a phone scrolls by itself, also by keyboard. */
export function wide(label: string, content: Html): Html {
  return html`<div class="wide" role="region" aria-label="${label}" tabindex="0">${content}</div>`;
}

function page(visit: Visit | null, title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Contact centre</title>
<style>${style}</style>
<header>
  <strong>Contact centre</strong>
  ${visit && html`<span>${visit.tenant?.name ?? 'Operator team'}</span>`}
  ${visit && navigation(visit, title)}
</header>
${
  visit?.reason &&
  html`<p class="operator" role="status">You are in the account of
  ${visit.tenant?.name} as an operator: “${visit.reason}”. They see this, and what you do.</p>`
}
<main>
<h1>${title}</h1>
${body}
</main>
</html>`;
}

function navigation({ person, tenant }: Visit, title: string): Html {
  const screens: [string, string][] = [
    ...resourceTypes.map(({ name, plural }): [string, string] => [`/configure/${name}`, plural]),
    ['/recordings', 'Recordings'],
    ['/activity', 'Activity'],
    ['/audit', 'Audit log'],
  ];
  return html`<nav>
  ${
    tenant &&
    screens.map(([href, text]) => {
      const isHere = text === title && html` aria-current="page"`;
      return html`<a href="${href}"${isHere}>${text}</a>`;
    })
  }
  ${person.role === 'superadmin' && html`<a href="/operator">Accounts</a>`}
  <form method="post" action="/sign-out"><button>Sign out ${person.name}</button></form>
</nav>`;
}

const style = html`
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { margin: 0; }
header, nav { display: flex; flex-wrap: wrap; gap: .4rem 1.1rem; align-items: center; }
header { padding: .6rem 1.5rem; border-bottom: 1px solid var(--line); }
nav { flex: 1 1 18rem; } nav a { color: inherit; } nav form { margin-left: auto; }
nav [aria-current] { font-weight: 600; text-decoration: none; }
main { padding: 0 1.5rem 1.5rem; max-width: 80rem; }
.wide { overflow-x: auto; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; margin: 0; }
.operator { margin: 0; padding: .5rem 1.5rem; background: #7a2e00; color: #fff; }
.problem { border-left: 4px solid #b3261e; padding: .25rem .75rem; }
.card { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .6rem; border: 1px solid var(--line);
  border-radius: .5rem; padding: .75rem 1rem; margin: 0 0 .75rem; }
.fields { grid-column: 1 / -1; grid-row: 2; }
.fields, .card > form { display: flex; flex-wrap: wrap; gap: .6rem 1.1rem; align-items: end; }
.people { display: grid; grid-template-columns: minmax(9rem, auto) 1fr; gap: .6rem 1rem; align-items: center;
  justify-content: start; max-width: 32rem; }
.people form { display: contents; } .people span { min-width: 0; overflow-wrap: anywhere; }
label { display: grid; grid-template-columns: minmax(0, 1fr); gap: .1rem; font-size: .85rem; max-width: 100%; }
input, select, textarea, button { font: inherit; font-size: 1rem; padding: .3rem .6rem; max-width: 100%;
  box-sizing: border-box; border: 1px solid var(--line); border-radius: .35rem; }
button { cursor: pointer; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .35rem .75rem .35rem 0; white-space: nowrap; }
iframe { width: 100%; height: 80vh; border: 1px solid var(--line); border-radius: .5rem; }`;
