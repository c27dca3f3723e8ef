/**
 * @module
 * The dashboard's page: complete in one answer, it fetches nothing but its events. A security policy allows its own script and style
 * alone, by their hashes.
 */
import { createHash } from 'node:crypto'
import { PAGE_SCRIPT } from './page-script.js'
import { PAGE_STYLE } from './page-style.js'

export interface DashboardPage {
  readonly html: string
  /** Content-Security-Policy. */
  readonly policy: string
}

const hash = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

export function dashboardPage(title: string): DashboardPage {
  const shown = title.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
  const policy = `default-src 'none'; connect-src 'self'; script-src ${hash(PAGE_SCRIPT)}; style-src ${hash(PAGE_STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<a class="skip" href="#main">To the numbers</a>
<header>
<h1>${shown}</h1>
<span id="link" class="muted">connecting</span>
<button id="pause" type="button" aria-pressed="false">Pause updates</button>
</header>
<main id="main" tabindex="-1">
<p id="empty" class="panel" hidden>Nothing to show yet: no engine is attached.</p>
<p id="said" class="hidden-visually" role="status" aria-live="polite"></p>
<section aria-labelledby="h-classes"><h2 id="h-classes">Classes</h2><div id="classes" class="cards"></div></section>
<section class="panel" aria-labelledby="h-lanes"><h2 id="h-lanes">The last minute</h2>
<svg id="lanes" role="img" viewBox="0 0 1000 220" preserveAspectRatio="none" aria-label="Two lanes over the last minute"></svg>
<ul class="key"><li><i data-key="short"></i>short path, shared stage</li><li><i data-key="long"></i>long path, shared stage</li><li><i data-key="down"></i>downstream</li></ul>
<p id="lanes-text" class="muted"></p></section>
<div class="pair">
<section class="panel" aria-labelledby="h-view"><h2 id="h-view">The view</h2><p id="phase"></p><ul id="view" class="lines"></ul></section>
<section class="panel" aria-labelledby="h-cap"><h2 id="h-cap">Cap and pressure</h2><p id="cap-text"></p>
<svg id="cap" role="img" viewBox="0 0 460 190" aria-label="SMs of the shared stage against memory pressure"></svg></section>
</div>
<div class="pair">
<section class="panel" aria-labelledby="h-health"><h2 id="h-health">Health</h2><ul id="health" class="lines"></ul></section>
<section class="panel" aria-labelledby="h-configuration"><h2 id="h-configuration">Configuration</h2>
<p id="reloaded" class="muted"></p><div id="changed" class="scroll"></div>
<details><summary>All of it</summary><pre id="configuration" tabindex="0"></pre></details></section>
</div>
</main>
<noscript>This page needs JavaScript; the same numbers are on the metrics port.</noscript>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`
  return { html, policy }
}
