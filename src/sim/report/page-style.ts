/**
 * @module
 * Looks of the report: system fonts, one column, two themes by the reader's preference. Colours are Okabe and Ito's, told apart with
 * any colour vision, darkened or lightened to stand on either ground.
 */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f6f7f9; --ink: #1c1f24; --muted: #5a6270; --line: #d6dae1; --mark: #e2f0e6;
  --c0: #56606e; --c1: #b06a00; --c2: #0072b2; --c3: #8a3f86; --c4: #c0392b; --c5: #00795a; --c6: #7a6a00; --c7: #3f4a9a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --panel: #1c2027; --ink: #e7eaee; --muted: #a3acb9; --line: #353b46; --mark: #1f3a2c;
    --c0: #aab4c2; --c1: #f0a63a; --c2: #58b4e8; --c3: #d79bd2; --c4: #ff8a73; --c5: #3fcf9f; --c6: #e5d550; --c7: #9aa6ff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 44px 0 8px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font-size: 15px; margin: 0 0 6px; }
p { margin: 6px 0 10px; max-width: 75ch; }
.muted, caption, footer { color: var(--muted); }
.badge { display: inline-block; padding: 1px 8px; border: 1px solid var(--muted); border-radius: 10px;
  font-size: 12px; letter-spacing: .04em; text-transform: uppercase; vertical-align: 4px; }
dl.setup { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 16px 0; }
dl.setup dt { color: var(--muted); }
dl.setup dd { margin: 0; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; min-width: 0; }
.grid { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); }
.stack { display: grid; gap: 16px; margin: 12px 0; }
.chart { position: relative; height: 300px; }
.chart.tall { height: 360px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; width: 100%; }
caption { text-align: left; padding: 2px 0 6px; font-size: 13px; }
th, td { padding: 4px 7px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th[scope=row], thead th:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--muted); font-weight: 600; }
td.best { background: var(--mark); }
details > summary { cursor: pointer; color: var(--muted); margin-top: 8px; }
ul { padding-left: 20px; max-width: 85ch; }
@media print { .panel { break-inside: avoid; } }
`
