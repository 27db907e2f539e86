// The records of the catalog, by kind.
import { useState } from './hooks.js';
import { call, can } from './api.js';
import { link, navigate, tenant } from './router.js';
import { sortRows } from './table.js';
import { Empty, Field, format, html, KINDS, Labels, Loading, Page, Problem, RecordLink, Scope, useRequest } from './ui.js';

const FILTERS = ['prefix', 'domain', 'status', 'labels', 'scope'];
const PAGE = 50;
const SEARCHED = ['skill', 'agent', 'tool', 'guardrail', 'template']; // kinds with a text search
const MAX_SORTED = 5000; // records of a kind that are read to sort them
const ALL = { name: 'Record', plural: 'Records' };
const idOf = ({ kind, record }) => record[`${kind}_id`];

const COLUMNS = [
  { name: 'id', title: 'Id', value: idOf }, { name: 'kind', title: 'Kind', value: (e) => KINDS[e.kind]?.name || e.kind }, { title: 'Description' },
  { name: 'domain', title: 'Domain', value: (e) => e.record.domain }, { name: 'scope', title: 'Scope', value: (e) => e.record.tenant_id || '' },
  { name: 'status', title: 'Status', value: (e) => e.record.status || 'active' }, { name: 'version', title: 'Version', value: (e) => e.record.version },
  { name: 'changed', title: 'Changed', value: (e) => e.changed },
];

export function Catalog({ kind, params }) {
  const key = params.toString();
  const { data, error, loading } = useRequest((signal) => {
    if (params.get('q')) return found(kind, params, signal);
    return kind === 'all' || params.get('sort') ? sorted(kind, params, signal) : listed(kind, { ...filters(params), limit: PAGE, cursor: params.get('cursor') }, signal);
  }, [kind, key]);
  const of = kind === 'all' ? ALL : KINDS[kind] || { name: kind, plural: kind };
  const kept = Object.fromEntries([...params].filter(([name]) => name !== 'cursor'));
  const filtered = params.get('q') || FILTERS.some((f) => params.get(f));
  const entries = data?.entries || [];
  const hidden = [kind !== 'all' && 'kind', params.get('q') && 'changed'];
  const columns = COLUMNS.filter((c) => !c.name || !hidden.includes(c.name));
  const [by, descending] = [params.get('sort') || 'id', Boolean(params.get('descending'))];
  const order = (name) => navigate(link(['catalog', kind], { ...kept, sort: name, descending: (by === name ? !descending : name === 'changed') ? 'true' : '' }));
  const add = html`<a class=${`button primary${can('register') ? '' : ' disabled'}`} aria-disabled=${can('register') ? undefined : 'true'}
    href=${can('register') ? link(['register', kind === 'all' ? 'skill' : kind]) : undefined} title=${can('register') ? undefined : 'Your role does not permit registrations'}>Register</a>`;
  return html`<${Page} title="Catalog" subtitle="The records that agents need at run time, as they were registered." actions=${add}>
    <nav class="tabs" aria-label="Kinds"><ul>${Object.entries({ all: { plural: 'All' }, ...KINDS }).map(([name, k]) => html`<li><a href=${link(['catalog', name])}
      aria-current=${name === kind ? 'page' : undefined}>${k.plural}</a></li>`)}</ul></nav>
    <${Filters} key=${kind + key} kind=${kind} params=${params} />
    <${Problem} error=${error} />
    ${loading && !data && html`<${Loading} />`}
    ${data && !error && entries.length === 0 && html`<${Empty}><p>${filtered || params.get('cursor') ? 'No record matches the filters.' : `No ${of.plural.toLowerCase()} are registered here.`}</p></${Empty}>`}
    ${data?.incomplete && html`<div class="notice warn">Only the first ${format(MAX_SORTED)} records of a kind are sorted. Narrow the filters.</div>`}
    ${entries.length > 0 && html`<div class="table-wrap" tabindex="0" role="region" aria-label=${of.plural}><table class="stack">
      <thead><tr>${columns.map((c) => (c.name && !params.get('q') ? html`<th aria-sort=${by === c.name ? (descending ? 'descending' : 'ascending') : undefined}><button class="sort" onClick=${() => order(c.name)}>${c.title}</button></th>` : html`<th>${c.title}</th>`))}</tr></thead>
      <tbody>${entries.map((e) => html`<${Row} key=${`${e.kind}/${idOf(e)}`} ...${e} named=${kind === 'all'} kept=${kept} />`)}</tbody></table></div>`}
    ${data && (params.get('cursor') || data.next_cursor) && html`<nav class="pages" aria-label="Pages">
      ${params.get('cursor') && html`<a class="button" href=${link(['catalog', kind], kept)}>First page</a>`}
      ${data.next_cursor && html`<a class="button" href=${link(['catalog', kind], { ...kept, cursor: data.next_cursor })}>Next page</a>`}
    </nav>`}
  </${Page}>`;
}

function filters(params) { return { tenant_id: tenant(), ...Object.fromEntries(FILTERS.map((f) => [f, params.get(f)])) }; }

// listed returns a page of the records of a kind, ordered by id: its entries {kind, record, changed}, and next_cursor.
async function listed(kind, query, signal) {
  const { data } = await call('GET', `/records/${encodeURIComponent(kind)}`, { query, signal });
  return { entries: data.records.map((record, i) => ({ kind, record, changed: Date.parse(data.stored_at?.[i]) })), next_cursor: data.next_cursor };
}

// sorted returns a page of the records of a kind, or of all, in the order of the parameters. Its cursor is an offset.
async function sorted(kind, params, signal) {
  const complete = async (one) => {
    const entries = [];
    let cursor = '';
    do {
      const page = await listed(one, { ...filters(params), limit: 1000, cursor }, signal);
      entries.push(...page.entries);
      cursor = page.next_cursor;
    } while (cursor && entries.length < MAX_SORTED);
    return { entries, cursor };
  };
  const lists = await Promise.all((kind === 'all' ? Object.keys(KINDS) : [kind]).map(complete));
  const column = COLUMNS.find((c) => c.name && c.name === params.get('sort')) || COLUMNS[0];
  const rows = lists.flatMap((l) => l.entries).map((entry) => ({ entry, cells: [{ value: column.value(entry) }] }));
  const offset = Number(params.get('cursor')) || 0;
  const entries = sortRows(rows, { column: 0, descending: Boolean(params.get('descending')) }).slice(offset, offset + PAGE).map((row) => row.entry);
  return { entries, next_cursor: offset + PAGE < rows.length ? String(offset + PAGE) : '', incomplete: lists.some((l) => l.cursor) };
}

// found returns a page of the records that match the text of the parameters, best first. Its cursor is an offset.
async function found(kind, params, signal) {
  const labels = Object.fromEntries((params.get('labels') || '').split(',').filter(Boolean).map((l) => l.split(/=(.*)/s).slice(0, 2)));
  const filter = { domain: params.get('domain') || undefined, status: params.get('status') || undefined, labels: Object.keys(labels).length ? labels : undefined };
  const offset = Number(params.get('cursor')) || 0;
  const body = { query: params.get('q'), kinds: kind === 'all' ? SEARCHED : [kind], tenant_id: tenant() || undefined, scope: params.get('scope') || undefined, filter, limit: PAGE, offset };
  const { data } = await call('POST', '/records/search', { body, signal });
  return { entries: data.hits.map((hit) => ({ kind: hit.kind, record: hit.record })), next_cursor: data.next_offset && String(data.next_offset) };
}

function Row({ kind, record, changed, named, kept }) {
  return html`<tr>
    <td class="lead"><${RecordLink} kind=${kind} id=${idOf({ kind, record })} scope=${record.tenant_id || !tenant() ? undefined : 'global'} />${record.display_name && html`<span class="muted">${record.display_name}</span>`}</td>
    ${named && html`<td class="short">${KINDS[kind].name}</td>`}
    <td class="text">${record.purpose || record.description}<${Labels} path=${['catalog', named ? 'all' : kind]} labels=${record.labels} kept=${kept} /></td>
    <td>${record.domain}</td>
    <td><${Scope} tenant=${record.tenant_id} /></td>
    <td>${record.status || 'active'}</td>
    <td class="short">${record.version}</td>
    ${changed > 0 && html`<td class="short" title=${new Date(changed).toLocaleString()}>${new Date(changed).toLocaleDateString()}</td>`}
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
    ${[...SEARCHED, 'all'].includes(kind) && html`<${Field} label="Text"><input id="query" type="search" maxlength="1000" value=${values.q || ''} onInput=${set('q')} /></${Field}>`}
    <${Field} label="Id begins with"><input id="prefix" maxlength="256" disabled=${Boolean(values.q)} spellcheck=${false} value=${values.prefix || ''} onInput=${set('prefix')} /></${Field}>
    <${Field} label="Domain"><input id="domain" maxlength="256" spellcheck=${false} value=${values.domain || ''} onInput=${set('domain')} /></${Field}>
    <${Field} label="Labels"><input id="labels" placeholder="name=value" spellcheck=${false} value=${values.labels || ''} onInput=${set('labels')} /></${Field}>
    <${Field} label="Status"><select id="status" value=${values.status || ''} onChange=${choose('status')}><option value="">all</option>${['active', 'draft', 'deprecated', 'retired'].map((s) => html`<option>${s}</option>`)}</select></${Field}>
    <${Field} label="Scope"><select id="scope" value=${values.scope || ''} onChange=${choose('scope')}><option value="">tenant first</option><option value="tenant">tenant</option><option
      value="global">global</option></select></${Field}>
    <button>Apply</button>
  </form>`;
}
