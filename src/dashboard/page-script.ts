/**
 * @module
 * The script of the dashboard: takes events in, writes numbers at once and draws at most twice a second. Plain browser JavaScript in a
 * string, because it is shipped inside the page. Text goes in as text, never as markup.
 */
export const PAGE_SCRIPT = `
(() => {
  const $ = (id) => document.getElementById(id)
  const SVG = 'http://www.w3.org/2000/svg'
  const colours = { short: 'var(--short)', long: 'var(--long)', down: 'var(--down)' }
  for (const mark of document.querySelectorAll('[data-key]')) mark.style.background = colours[mark.getAttribute('data-key')]
  let lanes = [], spans = [], last = null, paused = false, drawnAt = 0, said = '', saidAt = 0
  const cards = new Map()

  const make = (tag, text, cls) => {
    const e = document.createElement(tag)
    if (text !== undefined) e.textContent = text
    if (cls) e.className = cls
    return e
  }
  const shape = (tag, attributes) => {
    const e = document.createElementNS(SVG, tag)
    for (const k in attributes) e.setAttribute(k, attributes[k])
    return e
  }
  const set = (e, text) => { if (e.textContent !== text) e.textContent = text }
  const duration = (ms) => ms === null || ms === undefined || Number.isNaN(ms) ? '–' : ms < 1 ? '0 ms' : ms < 1000 ? Math.round(ms) + ' ms' : (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + ' s'
  const share = (met, of) => of === 0 ? '–' : (100 * met / of).toFixed(met === of ? 0 : 1) + ' %'
  const count = (n, one, many) => n + ' ' + (n === 1 ? one : many)

  function cardOf(c) {
    let card = cards.get(c.name)
    if (card) return card
    const root = make('article', undefined, 'panel')
    const head = make('div', undefined, 'head')
    head.append(make('h3', c.name), make('span', c.path + ' path, SLO ' + duration(c.sloMs), 'muted'))
    const now = make('div', undefined, 'big')
    const over = make('div', 'of the last minute’s first responses in time', 'muted')
    const list = make('dl')
    const rows = {}
    for (const [key, name] of [['p95', 'p95, last minute'], ['wait', 'longest wait now'], ['waiting', 'waiting'], ['protected', 'of them protected'], ['lost', 'of them lost'], ['running', 'in stages'], ['total', 'in time since the start'], ['total95', 'p95 and longest since then']]) {
      rows[key] = make('dd', '–')
      list.append(make('dt', name), rows[key])
    }
    const chart = shape('svg', { role: 'img', viewBox: '0 0 300 74' })
    root.append(head, now, over, chart, list)
    $('classes').append(root)
    card = { root, now, rows, chart, slo: head.lastChild }
    cards.set(c.name, card)
    return card
  }

  function writeClass(c) {
    const { now, rows, slo } = cardOf(c)
    set(slo, c.path + ' path, SLO ' + duration(c.sloMs))
    set(now, share(c.recent.met, c.recent.responded))
    set(rows.p95, duration(c.recent.p95Ms))
    set(rows.wait, duration(c.oldestWaitMs))
    set(rows.waiting, String(c.waiting))
    set(rows.protected, String(c.protected))
    set(rows.lost, String(c.lost))
    set(rows.running, c.inShared + ' shared, ' + c.inDownstream + ' downstream')
    set(rows.total, c.met + ' of ' + c.arrived + ' (' + share(c.met, c.arrived) + ')')
    set(rows.total95, duration(c.p95Ms) + ', ' + duration(c.responded === 0 ? null : c.longestResponseMs))
  }

  function lines(list, items) {
    while (list.children.length > items.length) list.lastChild.remove()
    items.forEach((item, i) => {
      let li = list.children[i]
      if (!li) { li = make('li'); li.append(make('b'), make('span')); list.append(li) }
      if (li.className !== item.cls) li.className = item.cls
      set(li.firstChild, item.head)
      set(li.lastChild, item.text)
    })
  }

  function writeView(p) {
    const rotation = p.phase === 'none' ? 'The policy ' + p.policy + ' has no rotation' : 'Step ' + p.step + ' was a ' + p.phase + '-path step, N = ' + p.n + (p.passed ? ', passed to the other path for lack of work of its own' : '')
    const waiting = p.view.reduce((sum, l) => sum + l.waiting, 0)
    set($('phase'), rotation + '. It hid ' + p.hidden + '. Now ' + count(waiting, 'request waits', 'requests wait') + '.')
    const items = p.view.map((l) => ({
      cls: l.shown === 'all' ? 'good' : l.shown === 'some' ? 'warn' : 'bad',
      head: l.waiting + ' ' + l.className + ' (' + l.status + '): ',
      text: l.shown === 'all' ? 'shown' : (l.shown === 'some' ? 'shown in part: ' : 'hidden: ') + l.why,
    }))
    lines($('view'), items.length ? items : [{ cls: 'good', head: 'Nothing waits', text: '' }])
  }

  function writeCap(p) {
    const pressure = p.smoothedPressure === null ? 'pressure unknown' : 'pressure ' + p.smoothedPressure.toFixed(2) + (p.pressure === null ? '' : ' (' + p.pressure.toFixed(2) + ' last read)')
    set($('cap-text'), p.levels.length === 0 ? 'The configuration has no ladder: no SM is held back, ' + pressure + '.' : 'Level ' + (p.level + 1) + ' of ' + p.levels.length + ': ' + p.capSms + ' SMs for the shared stage, ' + p.headroomSms + ' left to later stages; ' + pressure + '.')
  }

  const word = { good: 'good', warn: 'look: ', bad: 'bad: ' }
  function writeHealth(health) {
    lines($('health'), health.map((h) => ({ cls: h.state, head: h.name + ': ' + (h.state === 'good' ? '' : word[h.state]), text: h.text })))
  }

  function say(now) {
    const bad = now.health.filter((h) => h.state !== 'good').map((h) => h.name + ' ' + h.text)
    const text = !now.picture ? 'No engine is attached.' : bad.length ? bad.join('. ') : now.picture.classes.map((c) => c.name + ' ' + share(c.recent.met, c.recent.responded)).join(', ') + ' in time in the last minute.'
    if (text === said || Date.now() - saidAt < 15000) return
    said = text; saidAt = Date.now()
    set($('said'), text)
  }

  function area(points, base) {
    return points.length === 0 ? '' : 'M' + points[0][0] + ' ' + base + points.map((p) => 'L' + p[0].toFixed(1) + ' ' + p[1].toFixed(1)).join('') + 'L' + points[points.length - 1][0].toFixed(1) + ' ' + base + 'Z'
  }

  function drawLanes() {
    const svg = $('lanes')
    const end = lanes.length ? lanes[lanes.length - 1][0] : Date.now()
    const x = (at) => 1000 - (end - at) / 60
    const minute = lanes.filter((l) => end - l[0] <= 60000)
    const most = Math.max(1, ...minute.map((l) => Math.max(l[2] + l[3], l[4])))
    const high = 84, first = 100, second = 204
    const y = (base, n) => base - high * n / most
    const both = minute.map((l) => [x(l[0]), y(first, l[2] + l[3])])
    const longs = minute.map((l) => [x(l[0]), y(first, l[3])])
    const down = minute.map((l) => [x(l[0]), y(second, l[4])])
    const text = (tx, ty, s) => { const t = shape('text', { x: tx, y: ty }); t.textContent = s; return t }
    svg.replaceChildren(
      shape('path', { d: area(both, first), fill: colours.short }), shape('path', { d: area(longs, first), fill: colours.long }), shape('path', { d: area(down, second), fill: colours.down }),
      shape('path', { class: 'axis', d: 'M0 ' + first + 'H1000M0 ' + second + 'H1000' }))
    const l = lanes[lanes.length - 1]
    const words = l ? 'Shared stage now: ' + l[2] + ' short, ' + l[3] + ' long. Downstream: ' + l[4] + '. The highest lane is ' + count(most, 'request', 'requests') + ' at once; the right edge is now, the left one a minute ago.' : 'No minute to show yet.'
    set($('lanes-text'), words)
    svg.setAttribute('aria-label', 'Two lanes over the last minute, shared stage above, downstream below. ' + words)
  }

  function drawCap(p) {
    const svg = $('cap')
    const left = 44, right = 450, top = 10, bottom = 160
    const most = Math.max(p.totalSms, 1)
    const x = (v) => left + (right - left) * v
    const y = (sms) => bottom - (bottom - top) * sms / most
    const text = (tx, ty, s, anchor) => { const t = shape('text', { x: tx, y: ty, 'text-anchor': anchor || 'start' }); t.textContent = s; return t }
    const parts = [shape('path', { class: 'axis', d: 'M' + left + ' ' + top + 'V' + bottom + 'H' + right })]
    let before = 1e9
    for (const sms of [...new Set(p.levels)].sort((a, b) => a - b)) {
      parts.push(shape('path', { class: 'axis', 'stroke-dasharray': '2 3', d: 'M' + left + ' ' + y(sms) + 'H' + right }))
      if (Math.abs(before - y(sms)) >= 12) { parts.push(text(left - 6, y(sms) + 4, String(sms), 'end')); before = y(sms) }
    }
    for (const v of [0, 0.5, 1]) parts.push(text(x(v), bottom + 15, String(v), 'middle'))
    parts.push(text((left + right) / 2, bottom + 28, 'memory pressure, smoothed', 'middle'))
    const known = lanes.filter((l) => l[7] !== null)
    known.forEach((l, i) => { if (i % 4 === 0) parts.push(shape('circle', { cx: x(l[7]), cy: y(l[6]), r: 3, fill: colours.short, 'fill-opacity': 0.15 + 0.35 * i / known.length })) })
    if (p.smoothedPressure !== null && p.levels.length) parts.push(shape('circle', { cx: x(p.smoothedPressure), cy: y(p.capSms), r: 6, fill: colours.long, stroke: 'var(--panel)', 'stroke-width': 2 }))
    svg.replaceChildren(...parts)
    svg.style.display = p.levels.length ? '' : 'none'
    svg.setAttribute('aria-label', 'SMs of the shared stage against memory pressure over the last minute. ' + $('cap-text').textContent)
  }

  function drawClass(name) {
    const { chart } = cards.get(name)
    const end = spans.length ? spans[spans.length - 1].atMs : 0
    const x = (at) => 296 - (end - at) / 1800000 * 292
    const points = spans.filter((s) => s.classes[name] && s.classes[name].responded > 0).map((s) => ({ x: x(s.atMs), y: 60 - 54 * s.classes[name].met / s.classes[name].responded, s }))
    const parts = [shape('path', { class: 'axis', d: 'M4 6H296M4 60H296' })]
    const t = shape('text', { x: 4, y: 72 }); t.textContent = '30 min ago'
    const u = shape('text', { x: 296, y: 72, 'text-anchor': 'end' }); u.textContent = 'in time, 0 to 100 %'
    parts.push(t, u)
    if (points.length > 1) parts.push(shape('path', { d: 'M' + points.map((p) => p.x.toFixed(1) + ' ' + p.y.toFixed(1)).join('L'), fill: 'none', stroke: colours.short, 'stroke-width': 2 }))
    for (const p of points.slice(-1)) parts.push(shape('circle', { cx: p.x, cy: p.y, r: 3.5, fill: colours.short }))
    chart.replaceChildren(...parts)
    const shares = points.map((p) => p.s.classes[name])
    const worst = shares.reduce((a, b) => Math.min(a, b.met / b.responded), 1)
    const p95 = Math.max(0, ...shares.map((s) => s.p95Ms || 0)), wait = Math.max(0, ...spans.map((s) => s.classes[name] ? s.classes[name].longestWaitMs : 0))
    chart.setAttribute('aria-label', name + ', attainment in spans of ten seconds over the last half hour: ' + (points.length ? 'lowest ' + (100 * worst).toFixed(0) + ' %, highest p95 ' + duration(p95) + ', longest wait ' + duration(wait) : 'no first response yet'))
  }

  function draw(force) {
    if (!last || !last.picture || (!force && Date.now() - drawnAt < 500)) return
    drawnAt = Date.now()
    drawLanes()
    drawCap(last.picture)
    for (const c of last.picture.classes) drawClass(c.name)
    document.documentElement.dataset.drawn = String(last.picture.step)
  }

  function show() {
    if (!last) return
    const p = last.picture
    $('empty').hidden = p !== null
    writeHealth(last.health)
    say(last)
    if (!p) return
    for (const [name, card] of cards) if (!p.classes.some((c) => c.name === name)) { card.root.remove(); cards.delete(name) }
    p.classes.forEach(writeClass)
    writeView(p)
    writeCap(p)
    draw(false)
  }

  function configure(c) {
    set($('configuration'), c.text)
    set($('reloaded'), c.reloadedAt ? 'Last reload taken up at ' + new Date(c.reloadedAt).toLocaleTimeString() + (c.changed.length ? ', ' + count(c.changed.length, 'field', 'fields') + ' changed:' : ', nothing changed.') : 'As it was at the start; no reload since.')
    const box = $('changed')
    box.replaceChildren()
    if (!c.changed.length) return
    const table = make('table')
    const head = make('tr')
    for (const name of ['field', 'before', 'now']) { const th = make('th', name); th.scope = 'col'; head.append(th) }
    table.append(make('caption', 'Last reload', 'hidden-visually'), head)
    for (const f of c.changed) {
      const row = make('tr')
      const th = make('th', f.field); th.scope = 'row'
      row.append(th, make('td', f.before || 'not there'), make('td', f.after || 'not there'))
      table.append(row)
    }
    box.append(table)
  }

  $('pause').addEventListener('click', () => {
    paused = !paused
    $('pause').setAttribute('aria-pressed', String(paused))
    set($('pause'), paused ? 'Go on' : 'Pause updates')
    if (!paused) { show(); draw(true) }
  })

  const events = new EventSource('events')
  const link = (text) => set($('link'), text)
  events.addEventListener('open', () => link('live'))
  events.addEventListener('error', () => link('connection lost, trying again'))
  events.addEventListener('history', (e) => { const d = JSON.parse(e.data); lanes = d.lanes; spans = d.spans })
  events.addEventListener('configuration', (e) => configure(JSON.parse(e.data)))
  events.addEventListener('now', (e) => {
    last = JSON.parse(e.data)
    if (last.lane) { lanes.push(last.lane); while (lanes.length > 600) lanes.shift() }
    if (last.span) {
      if (spans.length && spans[spans.length - 1].atMs === last.span.atMs) spans[spans.length - 1] = last.span
      else spans.push(last.span)
      while (spans.length > 180) spans.shift()
    }
    if (!paused) show()
  })
})()
`
