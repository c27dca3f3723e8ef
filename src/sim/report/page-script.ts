/**
 * @module
 * The script of the report page: draws the charts from the data in the page and again when the theme changes. Plain browser
 * JavaScript in a string, because it is shipped inside the page; it fetches nothing.
 */
export const PAGE_SCRIPT = `
(() => {
  const data = JSON.parse(document.getElementById('data').textContent)
  const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [], []]
  const charts = []
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  const colour = (i) => css('--c' + (i % 8))

  function axis(title, more) {
    return Object.assign({
      title: { display: true, text: title, color: css('--muted') },
      ticks: { color: css('--muted') },
      grid: { color: css('--line') },
    }, more)
  }

  function draw(id, config) {
    const canvas = document.getElementById(id)
    if (!canvas) return
    config.options = Object.assign({ layout: { padding: { right: 18 } }, responsive: true, maintainAspectRatio: false, animation: false }, config.options)
    config.options.plugins = Object.assign({
      legend: { position: 'bottom', labels: { color: css('--ink'), boxWidth: 18, boxHeight: 2 } },
    }, config.options.plugins)
    charts.push(new Chart(canvas, config))
  }

  const shown = (ms) => ms < 1000 ? Number(ms.toPrecision(3)) + ' ms' : Number((ms / 1000).toPrecision(3)) + ' s'
  // On a logarithmic axis every tick would be labelled; 1 and 3 of each decade are enough to read it.
  const decade = (ms) => [1, 3].includes(Number((ms / 10 ** Math.floor(Math.log10(ms) + 1e-9)).toPrecision(6))) ? shown(ms) : ''
  const line = (i, points) => ({
    label: data.policies[i].name, data: points, borderColor: colour(i), backgroundColor: colour(i),
    borderWidth: i >= 4 ? 2.5 : 1.5, borderDash: dashes[i % 6], pointRadius: 0, pointHitRadius: 6, spanGaps: false,
  })

  function attainment(names) {
    const groups = [['all', (p) => p.all]].concat(names.map((name) => [name, (p) => p.classes[name]]))
    draw('attainment', {
      type: 'bar',
      data: {
        labels: groups.map((g) => g[0]),
        datasets: data.policies.map((policy, i) => ({
          label: policy.name,
          data: groups.map((g) => { const of = g[1](policy); return of ? of.attainmentOverArrived * 100 : null }),
          backgroundColor: colour(i), borderColor: css('--ground'), borderWidth: 1,
        })),
      },
      options: {
        plugins: { legend: { position: 'bottom', labels: { color: css('--ink'), boxWidth: 12, boxHeight: 12 } } },
        scales: { x: axis('request class', { grid: { display: false } }), y: axis('met their SLO, % of arrived', { min: 0, max: 100 }) },
      },
    })
  }

  function latency(name) {
    const levels = data.latencyLevels
    const slo = data.calibration.classes.find((c) => c.name === name).sloMs
    const datasets = data.policies.map((policy, i) => {
      const of = policy.classes[name]
      return line(i, of ? levels.map((level, k) => ({ x: of.latencyMs[k], y: level * 100 })).filter((p) => p.x !== null) : [])
    })
    datasets.push({ label: 'SLO', data: [{ x: slo, y: 0 }, { x: slo, y: 100 }], borderColor: css('--ink'), borderWidth: 1, borderDash: [3, 3], pointRadius: 0 })
    draw('latency-' + name, {
      type: 'line',
      data: { datasets },
      options: {
        parsing: false,
        scales: {
          x: axis('first response after arrival', { type: 'logarithmic', ticks: { color: css('--muted'), maxRotation: 0, autoSkip: false, callback: decade } }),
          y: axis('% of requests within', { min: 0, max: 100 }),
        },
        plugins: { tooltip: { callbacks: { label: (item) => item.dataset.label + ': ' + item.parsed.y.toFixed(1) + ' % within ' + shown(item.parsed.x) } } },
      },
    })
  }

  // More points than pixels only blur: neighbours are averaged.
  function means(values, wide) {
    const out = []
    for (let i = 0; i < values.length; i += wide) {
      const part = values.slice(i, i + wide).filter((v) => v !== null)
      out.push(part.length === 0 ? null : part.reduce((a, b) => a + b, 0) / part.length)
    }
    return out
  }

  function series(id, column, title, more) {
    draw(id, {
      type: 'line',
      data: {
        datasets: data.policies.map((policy, i) => {
          const all = policy.series.columns[policy.series.names.indexOf(column)] || []
          const wide = Math.max(1, Math.ceil(all.length / 128))
          const minutes = (wide * policy.series.bucketMs) / 60000
          const values = means(all, wide)
          return Object.assign(line(i, values.map((y, k) => ({ x: (k + 0.5) * minutes, y }))), { stepped: column === 'capSms' ? 'middle' : false })
        }),
      },
      options: {
        parsing: false,
        scales: { x: axis('virtual time, min', { type: 'linear', min: 0 }), y: axis(title, Object.assign({ min: 0 }, more)) },
      },
    })
  }

  function drawAll() {
    while (charts.length > 0) charts.pop().destroy()
    const names = [...document.querySelectorAll('[data-latency]')].map((e) => e.dataset.latency)
    attainment(names)
    names.forEach(latency)
    series('waiting', 'waiting', 'waiting requests')
    series('protected', 'protected', 'protected requests')
    series('cap', 'capSms', 'SMs', { max: data.runtime.totalSms })
    series('pressure', 'pressure', 'pressure', { max: 1 })
  }

  drawAll()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll)
  document.documentElement.dataset.drawn = String(charts.length)
})()
`
