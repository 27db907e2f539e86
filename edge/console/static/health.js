// The health of the services, and the traffic of the edge that answers.
import { useEffect, useState } from './hooks.js';
import { call, can, send } from './api.js';
import { format, html, Loading, Page, Problem } from './ui.js';
import { difference, merge, parse, quantile, routes, sum } from './metrics.js';

const INTERVAL = 3000; // milliseconds between two samples
const KEPT = 60; // samples in the charts
const TIMEOUT = 5000; // milliseconds of a sample

// health returns the response of /health, whose status 503 is not an error here.
async function health(signal) {
  try {
    return (await call('GET', '/health', { signal })).data;
  } catch (error) {
    if (error.status === 503) return { status: 'down', degraded: [error.message] };
    throw error;
  }
}

// sample returns the health and, if it is permitted, the metrics.
async function sample(signal) {
  const now = { at: performance.now(), time: new Date(), health: await health(signal) };
  if (!can('operate')) return now;
  try {
    now.metrics = parse(await (await send('GET', '/metrics', { signal })).text());
    now.routes = routes(now.metrics);
  } catch (error) {
    if (error.status !== 404) throw error; // 404: they are on a separate listener
    now.elsewhere = true;
  }
  return now;
}

// useSamples samples until the view closes, but not while the tab is hidden.
function useSamples() {
  const [state, setState] = useState({ samples: [] });
  useEffect(() => {
    const controller = new AbortController();
    let timer;
    const next = async () => {
      if (document.hidden) {
        timer = setTimeout(next, INTERVAL);
        return;
      }
      try {
        const now = await sample(AbortSignal.any([controller.signal, AbortSignal.timeout(TIMEOUT)]));
        setState((s) => ({ samples: [...s.samples, now].slice(-KEPT) }));
      } catch (error) {
        if (!controller.signal.aborted) setState((s) => ({ ...s, error }));
      }
      if (!controller.signal.aborted) timer = setTimeout(next, INTERVAL);
    };
    next();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);
  return state;
}

const BADGE = { ok: 'good', degraded: 'warn', down: 'bad', unknown: 'bad', unreachable: 'bad' };

export function Health() {
  const { samples, error } = useSamples();
  const last = samples.at(-1);
  if (!last) {
    return html`<${Page} title="Health">${error ? html`<p class="badges"><span role="status" class="badge bad">unreachable</span></p><${Problem} error=${error} />` : html`<${Loading} />`}</${Page}>`;
  }
  const { degraded, version, services } = last.health;
  const status = error ? 'unreachable' : last.health.status;
  const parts = error ? services?.map((s) => ({ ...s, status: 'unknown' })) : services;
  return html`<${Page} title="Health" subtitle=${html`Cairn ${version}. Measured every 3 seconds.`}>
    <p class="badges"><span role="status" class=${`badge ${BADGE[status] || ''}`}>${status}</span> <span class="small muted">Last contact ${last.time.toLocaleTimeString()}</span></p>
    <${Problem} error=${error} />
    ${degraded?.length > 0 && html`<div class="notice warn"><p><strong>Reasons</strong></p><ul>${degraded.map((reason) => html`<li>${reason}</li>`)}</ul></div>`}
    ${parts ? html`<${Services} services=${parts} metrics=${last.metrics} />` : html`<p class="muted">Details are for credentials for all tenants.</p>`}
    ${last.elsewhere && html`<p class="muted">Metrics of this edge are on a separate listener (<code>--metrics</code>).</p>`}
    ${!can('operate') && html`<p class="muted">Traffic and latency are for the role admin with a credential for all tenants.</p>`}
    ${last.metrics && html`<${Traffic} samples=${samples.filter((s) => s.routes)} />`}
  </${Page}>`;
}

function Services({ services, metrics }) {
  const newest = Math.max(...services.map((s) => s.revision || 0));
  const of = (name, service) => metrics?.get(name)?.find((s) => s.labels.service === service)?.value;
  return html`<section><h2>Services</h2><div class="table-wrap" tabindex="0" role="region" aria-label="Services"><table>
    <thead><tr><th>Service</th><th>Status</th><th class="right">Watermark</th><th class="right">Lag</th><th class="right">In flight</th><th>Backends</th></tr></thead>
    <tbody>${services.map((s) => html`<tr key=${s.service}><td>${s.service}</td><td><span class=${`badge ${BADGE[s.status] || ''}`}>${s.status}</span></td>
      <td class="figure">${s.revision !== undefined ? format(s.revision) : ''}</td><td class="figure">${s.revision !== undefined ? format(newest - s.revision) : ''}</td>
      <td class="figure">${of('cairn_service_slots', s.service) !== undefined ? `${format(of('cairn_service_requests_in_flight', s.service) ?? 0)} of ${format(of('cairn_service_slots', s.service))}` : ''}</td>
      <td>${Object.entries(s.backends || {}).map(([name, url]) => html`<div><span class="muted">${name}</span> <code>${url}</code></div>`)}${s.index && html`<div class="small muted">index: ${Object.entries(s.index).filter(([, v]) => typeof v !== 'object').map(([k, v]) => `${k} ${v}`).join(', ')}</div>`}</td></tr>`)}</tbody></table></div></section>`;
}

const seconds = (s) => (s === undefined ? '–' : s < 0.001 ? '< 1 ms' : s < 1 ? `${format(Math.round(s * 1000))} ms` : `${s.toFixed(1)} s`);

function Traffic({ samples }) {
  const steps = samples.slice(1).map((s, i) => {
    const all = merge(difference(s.routes, samples[i].routes).values());
    return { rate: all.count / ((s.at - samples[i].at) / 1000), p95: quantile(0.95, all) };
  });
  const last = samples.at(-1);
  const recent = difference(last.routes, samples.length > 1 ? samples[0].routes : undefined);
  const elapsed = samples.length > 1 ? (last.at - samples[0].at) / 1000 : undefined;
  const rows = [...last.routes].filter(([, r]) => r.count > 0).sort(([, a], [, b]) => b.count - a.count);
  const memory = sum(last.metrics, 'process_resident_memory_bytes');
  return html`<section><h2>Traffic of this edge</h2>
    <dl class="tiles">
      <${Tile} name="Requests per second" value=${steps.length ? format(steps.at(-1).rate, 1) : '–'} points=${steps.map((s) => s.rate)} />
      <${Tile} name="95th percentile" value=${steps.length ? seconds(steps.at(-1).p95) : '–'} points=${steps.map((s) => s.p95 || 0)} />
      <${Tile} name="Open streams" value=${format(sum(last.metrics, 'cairn_http_streams_open') ?? 0)} points=${samples.map((s) => sum(s.metrics, 'cairn_http_streams_open') ?? 0)} />
      <${Tile} name="Refused under load" value=${format(sum(last.metrics, 'cairn_http_refused_total') ?? 0)} points=${samples.map((s) => sum(s.metrics, 'cairn_http_refused_total') ?? 0)} />
      <${Tile} name="Index lag" value=${format(sum(last.metrics, 'cairn_index_lag_changes') ?? 0)} points=${samples.map((s) => sum(s.metrics, 'cairn_index_lag_changes') ?? 0)} />
      ${memory !== undefined && html`<${Tile} name="Memory" value=${`${format(Math.round(memory / (1 << 20)))} MiB`} points=${samples.map((s) => sum(s.metrics, 'process_resident_memory_bytes') ?? 0)} />`}
    </dl>
    <div class="table-wrap" tabindex="0" role="region" aria-label="Routes"><table><thead><tr><th>Route</th><th class="right">Requests</th><th class="right">Per second</th><th class="right">Failed</th><th class="right">Median</th><th class="right">95th percentile</th></tr></thead>
      <tbody>${rows.map(([name, r]) => html`<tr key=${name}><td><code>${name}</code></td><td class="figure">${format(r.count)}</td><td class="figure">${elapsed ? format(recent.get(name).count / elapsed, 2) : '–'}</td>
        <td class="figure">${format(r.failed)}</td><td class="figure">${seconds(quantile(0.5, r))}</td><td class="figure">${seconds(quantile(0.95, r))}</td></tr>`)}</tbody></table></div>
  </section>`;
}

function Tile({ name, value, points }) {
  return html`<div class="card tile"><dt>${name}</dt><dd>${value}</dd><${Sparkline} points=${points} /></div>`;
}

function Sparkline({ points }) {
  const top = Math.max(...points, 0) || 1;
  const line = points.map((p, i) => `${(i / Math.max(points.length - 1, 1)) * 160},${30 - (p / top) * 28}`).join(' ');
  return html`<svg class="spark" viewBox="0 0 160 32" preserveAspectRatio="none" aria-hidden="true">${points.length > 1 && html`<polyline points=${line} />`}</svg>`;
}
