/**
 * @module
 * The script of the load report: draws the charts from the data in the page, and again when the theme changes.
 */
export const LOAD_SCRIPT = `
(() => {
  const runs = JSON.parse(document.getElementById('data').textContent)
  const charts = []
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  const colour = (i) => css('--c' + ((i + 1) % 8))
  const axis = (title, more) => Object.assign({
    title: { display: true, text: title, color: css('--muted') },
    ticks: { color: css('--muted') }, grid: { color: css('--line') },
  }, more)
  function draw(id, config) {
    const canvas = document.getElementById(id)
    if (!canvas) return
    config.options = Object.assign({ responsive: true, maintainAspectRatio: false, animation: false }, config.options)
    config.options.plugins = { legend: { position: 'bottom', labels: { color: css('--ink'), boxWidth: 18, boxHeight: 2 } } }
    charts.push(new Chart(canvas, config))
  }
  const line = (label, i, points, dash) => ({
    label, data: points, borderColor: colour(i), backgroundColor: colour(i), borderWidth: 2,
    borderDash: dash || [], pointRadius: 0, pointHitRadius: 6, spanGaps: true,
  })
  function all() {
    while (charts.length > 0) charts.pop().destroy()
    const names = [...document.querySelectorAll('[data-latency]')].map((e) => e.dataset.latency)
    draw('attainment', {
      type: 'bar',
      data: {
        labels: ['all'].concat(names),
        datasets: runs.map((run, i) => ({
          label: run.label, backgroundColor: colour(i),
          data: [run].concat(names.map((name) => run.classes[name])).map((of) => of ? of.attainmentOverScheduled * 100 : null),
        })),
      },
      options: { scales: { x: axis('class', { grid: { display: false } }), y: axis('met, % of scheduled', { min: 0, max: 100 }) } },
    })
    for (const name of names) {
      const with_ = runs.map((run, i) => [run, run.classes[name], i]).filter(([, of]) => of)
      const slo = with_[0][1].sloMs
      draw('latency-' + name, {
        type: 'line',
        data: {
          datasets: with_.map(([run, of, i]) => line(run.label, i,
            run.latencyLevels.map((level, k) => ({ x: of.latencyMs[k], y: level * 100 })).filter((p) => p.x !== null)))
            .concat([line('SLO', 6, [{ x: slo, y: 0 }, { x: slo, y: 100 }], [4, 4])]),
        },
        options: { scales: { x: axis('ms from the scheduled instant', { type: 'logarithmic' }), y: axis('% of first responses', { min: 0, max: 100 }) } },
      })
      draw('timeline-' + name, {
        type: 'line',
        data: {
          datasets: with_.map(([run, of, i]) => line(run.label, i,
            of.timeline.p95Ms.map((y, k) => ({ x: (k + 0.5) * run.timeline.bucketMs / 1000, y }))))
            .concat([line('SLO', 6, [{ x: 0, y: slo }, { x: 60 * with_[0][0].timeline.bucketMs / 1000, y: slo }], [4, 4])]),
        },
        options: { scales: { x: axis('seconds', { type: 'linear', min: 0 }), y: axis('first response, p95, ms', { type: 'logarithmic' }) } },
      })
    }
    document.documentElement.dataset.drawn = String(charts.length)
  }
  all()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all)
})()
`
