// The Prometheus text format, and the traffic of the routes between two samples.

const LINE = /^([A-Za-z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

// parse returns the samples by metric: [{labels, value}].
export function parse(text) {
  const metrics = new Map();
  for (const line of text.split('\n')) {
    const match = line[0] === '#' ? null : LINE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...(match[2] || '').matchAll(LABEL)].map(([, name, value]) => [name, value]));
    if (!metrics.has(match[1])) metrics.set(match[1], []);
    metrics.get(match[1]).push({ labels, value: Number(match[3]) });
  }
  return metrics;
}

const REQUESTS = 'cairn_http_request_duration_seconds';

// routes returns, for each route, the requests, the failed ones, and the histogram of their
// durations since the start of the process: Map of "GET /x" to {count, failed, buckets}.
export function routes(metrics) {
  const all = new Map();
  const of = ({ method, route }) => {
    const name = route === 'none' ? 'no route' : `${method} ${route}`;
    if (!all.has(name)) all.set(name, { count: 0, failed: 0, buckets: new Map() });
    return all.get(name);
  };
  for (const { labels, value } of metrics.get(`${REQUESTS}_count`) || []) {
    of(labels).count += value;
    if (labels.status >= '500') of(labels).failed += value;
  }
  for (const { labels, value } of metrics.get(`${REQUESTS}_bucket`) || []) {
    const { buckets } = of(labels);
    const le = labels.le === '+Inf' ? Infinity : Number(labels.le);
    buckets.set(le, (buckets.get(le) || 0) + value);
  }
  return all;
}

// difference returns the routes of the time between two samples.
export function difference(now, before) {
  return new Map([...now].map(([name, r]) => {
    const b = before?.get(name);
    if (!b) return [name, r];
    return [name, { count: r.count - b.count, failed: r.failed - b.failed, buckets: new Map([...r.buckets].map(([le, n]) => [le, n - (b.buckets.get(le) || 0)])) }];
  }));
}

// merge returns the sum of several routes.
export function merge(list) {
  const sum = { count: 0, failed: 0, buckets: new Map() };
  for (const r of list) {
    sum.count += r.count;
    sum.failed += r.failed;
    for (const [le, n] of r.buckets) sum.buckets.set(le, (sum.buckets.get(le) || 0) + n);
  }
  return sum;
}

// quantile returns a quantile of the durations in seconds, interpolated as Prometheus does;
// undefined without requests.
export function quantile(q, { buckets }) {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] || 0;
  if (!total) return undefined;
  const rank = q * total;
  let [low, below] = [0, 0];
  for (const [le, n] of sorted) {
    if (n >= rank) return le === Infinity ? low : low + (le - low) * ((rank - below) / Math.max(n - below, 1e-9));
    [low, below] = [le, n];
  }
  return low;
}

// sum returns the sum of the samples of a metric; undefined without any.
export function sum(metrics, name) {
  const list = metrics.get(name);
  return list && list.reduce((total, s) => total + s.value, 0);
}
