/**
 * @module
 * Looks of the dashboard: system fonts, two themes by the reader's preference, from 390 px on. States differ by word and shape, never
 * by colour alone.
 */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f6f7f9; --ink: #1c1f24; --muted: #565e6b; --line: #d3d8e0; --focus: #0050b3;
  --short: #0072b2; --long: #b06a00; --down: #00795a; --good: #00693e; --warn: #8a5a00; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --panel: #1c2027; --ink: #e7eaee; --muted: #a8b1bd; --line: #3a414d; --focus: #8ec5ff;
    --short: #58b4e8; --long: #f0a63a; --down: #3fcf9f; --good: #5fd49a; --warn: #f0b95a; --bad: #ff8f85;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
a.skip { position: absolute; left: -9999px; }
a.skip:focus { left: 12px; top: 8px; background: var(--panel); color: var(--ink); padding: 6px 10px; z-index: 2; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; padding: 14px 20px; border-bottom: 1px solid var(--line); }
h1 { font-size: 20px; margin: 0; flex: 1 1 auto; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 0 0 8px; }
h3 { font-size: 15px; margin: 0; overflow-wrap: anywhere; }
button { font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--muted); border-radius: 6px; padding: 6px 14px; min-height: 36px; }
main { max-width: 1280px; margin: 0 auto; padding: 14px 20px 48px; display: grid; gap: 16px; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; min-width: 0; }
.cards { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); }
.pair { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); align-items: start; }
.muted { color: var(--muted); }
.head { display: flex; justify-content: space-between; gap: 8px; align-items: baseline; flex-wrap: wrap; }
.big { font-size: 30px; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.2; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 6px 0; font-variant-numeric: tabular-nums; }
dt { color: var(--muted); }
dd { margin: 0; text-align: right; }
dl.left dd { text-align: left; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
#lanes { height: 170px; overflow: hidden; }
svg text { fill: var(--muted); font-size: 11px; }
.axis { stroke: var(--line); fill: none; }
.key { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 6px 0 0; padding: 0; list-style: none; color: var(--muted); font-size: 13px; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 5px; vertical-align: -1px; }
ul.lines { margin: 0; padding: 0; list-style: none; display: grid; gap: 6px; }
ul.lines li { padding-left: 10px; border-left: 4px solid var(--line); overflow-wrap: anywhere; }
li.good { border-color: var(--good) !important; } li.warn { border-color: var(--warn) !important; border-left-style: double !important; } li.bad { border-color: var(--bad) !important; }
.good b { color: var(--good); } .warn b { color: var(--warn); } .bad b { color: var(--bad); }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
pre { overflow: auto; max-height: 340px; margin: 8px 0 0; font: 12.5px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
summary { cursor: pointer; color: var(--muted); }
.hidden-visually { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 480px) { header, main { padding-left: 12px; padding-right: 12px; } .panel { padding: 12px; } }
@media (prefers-reduced-motion: no-preference) { .big { transition: color .2s; } }
`
