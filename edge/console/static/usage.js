// What the tenant stores, and how much it may store.
import { call } from './api.js';
import { tenant } from './router.js';
import { Bar, format, html, Loading, Page, Problem, useRequest } from './ui.js';

const THINGS = { records: 'Records', tags: 'Tags' };
const NEARLY = 0.8; // share of a limit from which the view warns

// bytes prints a size in the largest unit that it fills.
export function bytes(n) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const unit = Math.min(n < 1 ? 0 : Math.floor(Math.log2(n) / 10), units.length - 1);
  return `${format(n / 2 ** (10 * unit), 1)} ${units[unit]}`;
}

export function Usage() {
  const { data, error, loading } = useRequest(async (signal) => {
    const read = async (name) => [name, (await call('GET', `/quota/${name}`, { query: { tenant_id: tenant() }, signal })).data];
    return Promise.all(Object.keys(THINGS).map(read));
  }, [tenant()]);
  return html`<${Page} title="Usage" subtitle=${tenant() ? html`What the tenant <strong>${tenant()}</strong> stores.` : 'What the global scope stores.'}>
    <${Problem} error=${error} />
    ${loading && !data && html`<${Loading} />`}
    ${data && html`<div class="table-wrap" tabindex="0" role="region" aria-label="Usage"><table>
      <thead><tr><th>Stored</th><th class="right">Used</th><th class="right">Limit</th><th>Share</th></tr></thead>
      <tbody>${data.flatMap(([name, quota]) => [
        html`<${Row} key=${name} name=${THINGS[name]} used=${quota.count} limit=${quota.max_count} print=${format} />`,
        html`<${Row} key=${`${name}-size`} name=${`Size of ${name}`} used=${quota.bytes} limit=${quota.max_bytes} print=${bytes} />`,
      ])}</tbody></table></div>`}
    <p class="muted small">Writes above a limit are refused with <a href="/docs/errors#CE-008">CE-008</a>. The limits are those of <a href="/docs/configuration">the workers</a>.</p>
  </${Page}>`;
}

function Row({ name, used, limit, print }) {
  const share = limit ? used / limit : 0;
  return html`<tr><th scope="row">${name}</th><td class="figure">${print(used)}</td><td class="figure">${limit ? print(limit) : 'none'}</td>
    <td class="short">${limit > 0 && html`<${Bar} share=${share} /> <span class=${share >= NEARLY ? 'badge warn' : 'figure'}>${format(100 * share, 0)} %</span>`}</td></tr>`;
}
