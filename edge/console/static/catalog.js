// The records of the catalog, by kind.
import { useState } from './hooks.js';
import { call, can } from './api.js';
import { link, navigate, tenant } from './router.js';
import { Empty, Field, html, KINDS, Loading, Page, Problem, RecordLink, Scope, useRequest } from './ui.js';

const FILTERS = ['prefix', 'domain', 'status', 'labels', 'scope'];
const PAGE = 50;
const SEARCHED = ['skill', 'agent', 'tool', 'guardrail', 'template']; // kinds with a text search

export function Catalog({ kind, params }) {
  const key = params.toString();
  const { data, error, loading } = useRequest(async (signal) => {
    if (params.get('q')) return found(kind, params, signal);
    const query = { tenant_id: tenant(), limit: PAGE, cursor: params.get('cursor') };
    for (const f of FILTERS) query[f] = params.get(f);
    return (await call('GET', `/records/${encodeURIComponent(kind)}`, { query, signal })).data;
  }, [kind, key]);
  const of = KINDS[kind] || { name: kind, plural: kind };
  const kept = Object.fromEntries([...params].filter(([name]) => name !== 'cursor'));
  const filtered = params.get('q') || FILTERS.some((f) => params.get(f));
  const records = data?.records || [];
  const add = html`<a class=${`button primary${can('register') ? '' : ' disabled'}`} aria-disabled=${can('register') ? undefined : 'true'}
    href=${can('register') ? link(['register', kind]) : undefined} title=${can('register') ? undefined : 'Your role does not permit registrations'}>Register</a>`;
  return html`<${Page} title="Catalog" subtitle="The records that agents need at run time, as they were registered." actions=${add}>
    <nav class="tabs" aria-label="Kinds"><ul>${Object.entries(KINDS).map(([name, k]) => html`<li><a href=${link(['catalog', name])}
      aria-current=${name === kind ? 'page' : undefined}>${k.plural}</a></li>`)}</ul></nav>
    <${Filters} key=${kind + key} kind=${kind} params=${params} />
    <${Problem} error=${error} />
    ${loading && !data && html`<${Loading} />`}
    ${data && !error && records.length === 0 && html`<${Empty}><p>${filtered || params.get('cursor') ? 'No record matches the filters.' : `No ${of.plural.toLowerCase()} are registered here.`}</p></${Empty}>`}
    ${records.length > 0 && html`<div class="table-wrap" tabindex="0" role="region" aria-label=${of.plural}><table>
      <thead><tr><th>${of.name}</th><th>Description</th><th>Domain</th><th>Scope</th><th>Status</th><th>Version</th></tr></thead>
      <tbody>${records.map((r) => html`<${Row} key=${r[`${kind}_id`]} kind=${kind} record=${r} />`)}</tbody></table></div>`}
    ${data && (params.get('cursor') || data.next_cursor) && html`<nav class="pages" aria-label="Pages">
      ${params.get('cursor') && html`<a class="button" href=${link(['catalog', kind], kept)}>First page</a>`}
      ${data.next_cursor && html`<a class="button" href=${link(['catalog', kind], { ...kept, cursor: data.next_cursor })}>Next page</a>`}
    </nav>`}
  </${Page}>`;
}

// found returns a page of the records that match the text of the parameters, best first. Its cursor is an offset.
async function found(kind, params, signal) {
  const labels = Object.fromEntries((params.get('labels') || '').split(',').filter(Boolean).map((l) => l.split(/=(.*)/s).slice(0, 2)));
  const filter = { domain: params.get('domain') || undefined, status: params.get('status') || undefined, labels: Object.keys(labels).length ? labels : undefined };
  const offset = Number(params.get('cursor')) || 0;
  const body = { query: params.get('q'), kinds: [kind], tenant_id: tenant() || undefined, scope: params.get('scope') || undefined, filter, limit: PAGE, offset };
  const { data } = await call('POST', '/records/search', { body, signal });
  return { records: data.hits.map((hit) => hit.record), next_cursor: data.next_offset && String(data.next_offset) };
}

function Row({ kind, record }) {
  const id = record[`${kind}_id`];
  return html`<tr>
    <td><${RecordLink} kind=${kind} id=${id} scope=${record.tenant_id || !tenant() ? undefined : 'global'} />${record.display_name && html`<br /><span class="muted">${record.display_name}</span>`}</td>
    <td class="text">${record.purpose || record.description}</td>
    <td>${record.domain}</td>
    <td><${Scope} tenant=${record.tenant_id} /></td>
    <td>${record.status || 'active'}</td>
    <td class="figure">${record.version}</td>
  </tr>`;
}

function Filters({ kind, params }) {
  const [values, setValues] = useState(Object.fromEntries(params));
  const set = (name) => (e) => setValues({ ...values, [name]: e.target.value });
  const apply = (changed = {}) => {
    const next = { ...values, ...changed, cursor: '' };
    if (next.q) next.prefix = ''; // a search has no prefix
    navigate(link(['catalog', kind], { ...next, tenant: tenant() }));
  };
  const choose = (name) => (e) => {
    setValues({ ...values, [name]: e.target.value });
    apply({ [name]: e.target.value });
  };
  return html`<form class="filters" onSubmit=${(e) => { e.preventDefault(); apply(); }}>
    ${SEARCHED.includes(kind) && html`<${Field} label="Text"><input id="query" type="search" maxlength="1000" value=${values.q || ''} onInput=${set('q')} /></${Field}>`}
    <${Field} label="Id begins with"><input id="prefix" maxlength="256" disabled=${Boolean(values.q)} spellcheck=${false} value=${values.prefix || ''} onInput=${set('prefix')} /></${Field}>
    <${Field} label="Domain"><input id="domain" maxlength="256" spellcheck=${false} value=${values.domain || ''} onInput=${set('domain')} /></${Field}>
    <${Field} label="Labels"><input id="labels" placeholder="team=network,tier=gold" spellcheck=${false} value=${values.labels || ''} onInput=${set('labels')} /></${Field}>
    <${Field} label="Status"><select id="status" value=${values.status || ''} onChange=${choose('status')}><option value="">all</option>${['active', 'draft', 'deprecated', 'retired'].map((s) => html`<option>${s}</option>`)}</select></${Field}>
    <${Field} label="Scope"><select id="scope" value=${values.scope || ''} onChange=${choose('scope')}><option value="">tenant first</option><option value="tenant">tenant</option><option
      value="global">global</option></select></${Field}>
    <button>Apply</button>
  </form>`;
}
