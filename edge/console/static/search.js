// Search for records, with the ranks that led to each hit.
import { useLayoutEffect, useRef, useState } from './hooks.js';
import { call } from './api.js';
import { link, navigate, tenant } from './router.js';
import { Bar, Empty, Field, html, KINDS, Loading, Page, plural, Problem, RecordLink, Scope, Status, useRequest } from './ui.js';

const FILTERS = ['domain', 'status', 'labels', 'capabilities'];
const RECORDS = ['tool', 'guardrail', 'template']; // kinds whose search ranks the tenant's and global records together

// request returns the body of a search from the parameters of the route.
function request(params) {
  const filter = {};
  if (params.get('domain')) filter.domain = params.get('domain');
  if (params.get('status')) filter.status = params.get('status');
  if (params.get('labels')) filter.labels = pairs(params.get('labels'));
  if (params.get('capabilities')) filter.capabilities = params.get('capabilities').split(',').map((c) => c.trim()).filter(Boolean);
  const body = { query: params.get('q'), search: params.get('method') || undefined, explain: true };
  if (tenant()) {
    body.tenant_id = tenant();
    body.scope = params.get('scope') === 'agents' ? undefined : 'both';
  }
  if (Object.keys(filter).length) body.filter = filter;
  const kind = kindOf(params);
  const top = Number(params.get('top') || 10);
  if (kind === 'skill') body.top_k = top;
  if (RECORDS.includes(kind)) Object.assign(body, { kinds: [kind], limit: top });
  return body;
}

// kindOf returns the kind of record that the parameters of the route select.
function kindOf(params) {
  return ['agent', ...RECORDS].includes(params.get('kind')) ? params.get('kind') : 'skill';
}

// pairs returns the labels of a selector such as team=network,tier=gold.
export function pairs(selector) {
  const labels = {};
  for (const pair of selector.split(',').map((p) => p.trim()).filter(Boolean)) {
    const [name, value] = pair.split(/=(.*)/s);
    labels[name] = value ?? '';
  }
  return labels;
}

// list returns the records of a response, each with its score.
function list(kind, data) {
  if (kind === 'agent') return [{ ...data.record, agent_id: data.agent_id, score: data.score, owned_skill_ids: data.owned_skill_ids }];
  return RECORDS.includes(kind) ? data.hits.map((hit) => ({ ...hit.record, score: hit.score })) : data.skills;
}

async function search(params, signal) {
  const kind = kindOf(params);
  const path = RECORDS.includes(kind) ? '/records/search' : `/resolve/${kind}`;
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  try {
    const { data } = await call('POST', path, { body: request(params), signal });
    const hits = list(kind, data).map((record) => {
      const id = record[`${kind}_id`];
      return { id, record, because: data.explain?.find((e) => e.id === id) };
    });
    return { hits, none: hits.length ? undefined : `No active ${kind} matches the query.`, degraded: data.degraded, took: took() };
  } catch (error) {
    if (error.status === 404) return { hits: [], none: error.message, took: took() };
    throw error;
  }
}

const DEGRADED = {
  'text-only': 'Vectors are not available: only words were compared.',
  'index-behind': 'The index does not have the newest registrations yet.',
  'index-unavailable': 'The shared index is not available: the worker searched its own records by words.',
};

export function Search({ params }) {
  const key = params.toString();
  const asked = Boolean(params.get('q'));
  const { data, error, loading } = useRequest((signal) => (asked ? search(params, signal) : undefined), [key]);
  const kind = kindOf(params);
  const count = data?.hits?.length ?? 0;
  return html`<${Page} title="Search" subtitle="Find the skill or the agent that fits a request, and other records.">
    <${Form} key=${key} params=${params} />
    <p class="summary" role="status">${loading && asked ? 'Searching…' : asked && data ? `${plural(count, kind)} in ${data.took} ms` : ''}</p>
    <${Problem} error=${error} />
    ${data?.degraded && html`<div class="notice warn">${DEGRADED[data.degraded] || data.degraded}</div>`}
    ${asked && data?.none && html`<${Empty}><p>${data.none}</p><p class="muted">A search has no hits when no record is relevant to the query.</p></${Empty}>`}
    ${!asked && html`<${Empty}><p>Describe what is needed, in the words of a user.</p>
      <p class="muted">Search compares words and vectors, in the records of the tenant and of the global scope. Press <kbd>/</kbd> to go to the query.</p></${Empty}>`}
    ${asked && loading && !data && html`<${Loading} what="Searching" />`}
    ${asked && count > 0 && html`<ol class="hits">${data.hits.map((hit, i) => html`<${Hit} key=${hit.id} hit=${hit} kind=${kind} position=${i + 1}
      worst=${Math.max(...data.hits.map((h) => Math.max(h.because?.text_rank || 0, h.because?.vector_rank || 0)))} />`)}</ol>`}
  </${Page}>`;
}

function Form({ params }) {
  const initial = Object.fromEntries(params);
  const [values, setValues] = useState({ q: '', kind: 'skill', method: '', scope: '', top: '10', ...initial });
  const [filters, setFilters] = useState(FILTERS.some((f) => initial[f]));
  const query = useRef();
  useLayoutEffect(() => { if (!initial.q) query.current.focus({ preventScroll: true }); }, []);
  const set = (name) => (e) => setValues({ ...values, [name]: e.target.value });
  const go = (changed = {}) => {
    const next = { ...values, ...changed };
    if (!filters) for (const f of FILTERS) delete next[f];
    if (next.q.trim()) navigate(link(['search'], { ...next, tenant: tenant(), kind: next.kind === 'skill' ? '' : next.kind, top: next.top === '10' ? '' : next.top }));
  };
  const choose = (name) => (e) => {
    setValues({ ...values, [name]: e.target.value });
    go({ [name]: e.target.value });
  };
  return html`<form class="card search" role="search" onSubmit=${(e) => { e.preventDefault(); go(); }}>
    <div class="query"><label class="hidden" for="query">Query</label>
      <input id="query" ref=${query} type="search" maxlength="10000" placeholder="which volumes are nearly full?" value=${values.q} onInput=${set('q')} />
      <button class="primary">Search</button></div>
    <div class="options">
      <${Field} label="Find"><select id="kind" value=${values.kind} onChange=${choose('kind')}><option value="skill">Skills</option><option value="agent">The best agent</option>
        ${RECORDS.map((k) => html`<option value=${k}>${KINDS[k].plural}</option>`)}</select></${Field}>
      <${Field} label="Compare"><select id="method" value=${values.method} onChange=${choose('method')}><option value="">Words and vectors</option><option value="text">Words</option><option
        value="vector">Vectors</option></select></${Field}>
      ${tenant() && !RECORDS.includes(values.kind) && html`<${Field} label="Scope"><select id="scope" value=${values.scope} onChange=${choose('scope')}><option value="">Tenant and global</option><option
        value="agents">As agents search</option></select></${Field}>`}
      ${values.kind !== 'agent' && html`<${Field} label="At most"><select id="top" value=${values.top} onChange=${choose('top')}>${['5', '10', '25', '50', '100'].map((n) => html`<option
        value=${n}>${n}</option>`)}</select></${Field}>`}
      <button type="button" class="link" aria-expanded=${filters ? 'true' : 'false'} aria-controls="filters" onClick=${() => setFilters(!filters)}>Filters</button>
    </div>
    <div id="filters" class="options" hidden=${!filters}>
      <${Field} label="Domain"><input id="domain" maxlength="256" value=${values.domain || ''} onInput=${set('domain')} /></${Field}>
      <${Field} label="Status"><select id="status" value=${values.status || ''} onChange=${set('status')}><option value="">active or deprecated</option><option>active</option><option>deprecated</option></select></${Field}>
      <${Field} label="Labels" hint="name=value, separated by commas"><input id="labels" value=${values.labels || ''} onInput=${set('labels')} /></${Field}>
      <${Field} label="Capabilities" hint="exactly, separated by commas"><input id="capabilities" value=${values.capabilities || ''} onInput=${set('capabilities')} /></${Field}>
    </div>
  </form>`;
}

function Hit({ hit: { id, record, because }, kind, position, worst }) {
  const score = record.score ?? 0;
  return html`<li class="card hit">
    <div class="hit-head">
      <span class="position" aria-hidden="true">${position}</span>
      <div class="hit-title"><h2><${RecordLink} kind=${kind} id=${id}>${record.display_name || id}</${RecordLink}></h2><code>${id}</code></div>
      <div class="badges"><${Scope} tenant=${record.tenant_id} /><${Status} record=${record} /></div>
    </div>
    <p>${record.purpose || record.description}</p>
    <dl class="ranks">
      <div><dt>Relevance</dt><dd><${Bar} share=${score} label="score" /> <span class="figure">${score.toFixed(2)}</span></dd></div>
      <${Rank} name="Words" rank=${because?.text_rank} worst=${worst} /><${Rank} name="Vectors" rank=${because?.vector_rank} worst=${worst} />
    </dl>
    ${because?.via && because.via !== 'search' && html`<p class="small muted">Found by <code>${because.via}</code>.</p>`}
    ${record.owned_skill_ids?.length > 0 && html`<p class="small">Skills: ${record.owned_skill_ids.map((s, i) => html`${i > 0 && ', '}<${RecordLink} kind="skill" id=${s} />`)}</p>`}
    ${record.replaced_by && html`<p class="small">Replaced by <${RecordLink} kind=${kind} id=${record.replaced_by} /></p>`}
    ${kind === 'skill' && html`<p class="small"><a href=${link(['package', id])}>Package<span class="hidden"> of ${id}</span></a></p>`}
  </li>`;
}

function Rank({ name, rank, worst }) {
  return html`<div><dt>${name}</dt><dd>${rank ? html`<${Bar} share=${1 - (rank - 1) / Math.max(worst, 1)} /> <span class="figure">rank ${rank}</span>` :
    html`<span class="muted">no match</span>`}</dd></div>`;
}
