// One record: its fields, its links, and what a registrar may do with it.
import { useState } from './hooks.js';
import { call, can, segment, session, tenantsOf } from './api.js';
import { link, navigate, replace, route, tenant } from './router.js';
import { acknowledge, Dialog, html, Json, KINDS, labelOf, Labels, Loading, Page, plural, Problem, RecordLink, Scope, Status, useRequest } from './ui.js';
import { History } from './history.js';
import { Markdown } from './markdown.js';

// Fields that contain ids, and the kind of the records that they name.
export const LINKS = {
  skill_ids: 'skill', context_builder_ids: 'context_builder', tool_ids: 'tool', guardrail_ids: 'guardrail', template_id: 'template',
};

const HIDDEN = ['tenant_id', 'display_name', 'instructions', 'resources', 'status', 'version'];

export const recordPath = (kind, id) => `/records/${encodeURIComponent(kind)}/${segment(id)}`;

// Edits need the permission, and the scope must be that of the credential: a record of
// the global scope belongs to credentials for all tenants.
export function editable(record) {
  return can('register') && (Boolean(record.tenant_id) || !tenantsOf(session.get().caller));
}

export function RecordView({ kind, id, params }) {
  const tab = params.get('tab') || 'fields';
  const scope = params.get('scope') || '';
  const { data, error, loading, reload } = useRequest((signal) => call('GET', recordPath(kind, id), { query: { tenant_id: tenant(), scope }, signal }), [kind, id, tenant(), scope]);
  const record = data?.data;
  const tabs = { fields: 'Fields', json: 'JSON', history: 'History' };
  if (!record) {
    return html`<${Page} title=${id} subtitle=${KINDS[kind]?.name}>${loading && html`<${Loading} />`}<${Problem} error=${error} />
      ${error?.status === 404 && (tab === 'history' ? html`<${History} kind=${kind} id=${id} params=${params} onStored=${reload} />` : html`<p><a href=${link(['catalog', kind, id], { scope, tab: 'history' })}>History of a deleted record</a></p>`)}</${Page}>`;
  }
  return html`<${Page} title=${record.display_name || id} subtitle=${html`${KINDS[kind].name} <code>${id}</code>`} actions=${html`<${Actions} kind=${kind} id=${id} record=${record} etag=${data.etag} />`}>
    <p class="badges"><${Scope} tenant=${record.tenant_id} /><${Status} record=${record} />${record.version && html`<span class="badge">${record.version}</span>`}<span class="small muted">Revision <code>${data.revision}</code></span><${Usage} kind=${kind} id=${id} scope=${scope} /></p>
    <nav class="tabs" aria-label="Parts of the record"><ul>${Object.entries(tabs).map(([name, title]) => html`<li><a href=${link(['catalog', kind, id], { scope, tab: name === 'fields' ? '' : name })}
      aria-current=${name === tab ? 'page' : undefined}>${title}</a></li>`)}</ul></nav>
    ${tab === 'history' ? html`<${History} kind=${kind} id=${id} params=${params} onStored=${reload} />` : tab === 'json' ? html`<${Json} value=${record} />` : html`<${Fields} kind=${kind} record=${record} /><${Referrers} kind=${kind} id=${id} />`}
  </${Page}>`;
}

// Referrers are the records that link to the record.
function Referrers({ kind, id }) {
  const [cursors, setCursors] = useState(['']); // of the pages that are shown
  const { data, error } = useRequest(async (signal) => {
    const pages = await Promise.all(cursors.map((cursor) => call('GET', `${recordPath(kind, id)}/referrers`, { query: { tenant_id: tenant(), cursor }, signal })));
    return { list: pages.flatMap((page) => page.data.referrers), next: pages.at(-1).data.next_cursor };
  }, [kind, id, tenant(), cursors.length]);
  if (error) return html`<${Problem} error=${error} />`;
  return data?.list.length > 0 && html`<section class="referrers"><h2>Used by</h2>
    <${ReferrerList} list=${data.list} />
    ${data.next && html`<button onClick=${() => setCursors([...cursors, data.next])}>More</button>`}</section>`;
}

function ReferrerList({ list }) {
  const href = (r) => link(['catalog', r.kind, r.id], r.tenant_id ? { tenant: r.tenant_id } : { scope: tenant() ? 'global' : '' });
  return html`<ul class="plain">${list.map((r) => html`<li key=${`${r.kind}/${r.tenant_id || ''}/${r.id}/${r.field}`}><span class="muted">${KINDS[r.kind].name}</span> <a class="id" href=${href(r)}>${r.id}</a> <${Scope} tenant=${r.tenant_id} /><${Status} record=${r} /> <span class="small muted">${r.field}</span></li>`)}</ul>`;
}

// Usage is how often the tenant has used the record. It is absent while it is unknown.
function Usage({ kind, id, scope }) {
  const { data } = useRequest(async (signal) => (await call('GET', `${recordPath(kind, id)}/usage`, { query: { tenant_id: tenant(), scope }, signal })).data, [kind, id, tenant(), scope]);
  const last = [data?.resolved.last_at, data?.found.last_at].filter(Boolean).sort().pop();
  return data && html`<span class="small muted usage">Resolved ${plural(data.resolved.count, 'time')}, found ${plural(data.found.count, 'time')}${last && html`, last ${new Date(last).toLocaleString()}`}</span>`;
}

function Actions({ kind, id, record, etag }) {
  const [asked, setAsked] = useState(false);
  const allowed = editable(record);
  const scope = record.tenant_id ? undefined : 'global';
  const why = allowed ? undefined : can('register') ? 'Your credential is for a tenant, and this record is global' : 'Your role does not permit registrations';
  return html`
    ${kind === 'skill' && html`<a class="button" href=${link(['package', id])}>Package</a>`}
    ${allowed ? html`<a class="button" href=${link(['catalog', kind, id, 'edit'], { scope })}>Edit</a>` : html`<button disabled title=${why}>Edit</button>`}
    ${can('register') && html`<a class="button" href=${link(['register', kind], { copy: id, scope })}>Copy</a>`}
    <button class="danger" disabled=${!allowed} title=${why} onClick=${() => setAsked(true)}>Delete</button>
    ${asked && html`<${Delete} kind=${kind} id=${id} record=${record} etag=${etag} onClose=${() => setAsked(false)} />`}`;
}

// Delete deletes the record, after a second confirmation if other records link to it.
function Delete({ kind, id, record, etag, onClose }) {
  const [error, setError] = useState();
  const [forced, setForced] = useState(false);
  const referrers = error?.referrers;
  const remove = async () => {
    try {
      await call('DELETE', recordPath(kind, id), { query: { tenant_id: record.tenant_id, force: forced || undefined }, headers: { 'If-Match': etag } });
      acknowledge('Deleted');
      navigate(link(['catalog', kind]));
    } catch (e) {
      setForced(false);
      setError(e);
    }
  };
  return html`<${Dialog} title="Delete this record?" onClose=${onClose}>
    <p><code>${id}</code> of ${record.tenant_id ? html`the tenant <strong>${record.tenant_id}</strong>` : 'the global scope'} is removed.</p>
    ${tenant() && !record.tenant_id && html`<div class="notice warn">Every tenant loses this record.</div>`}
    ${referrers ? html`<div class="notice warn" role="alert"><p>${referrers.count === 1 ? '1 record links to it:' : `${plural(referrers.count, 'record')} link to it:`}</p>
        <${ReferrerList} list=${referrers.first} />${referrers.count > referrers.first.length && html`<p>… ${plural(referrers.count - referrers.first.length, 'more record')}</p>`}</div>
      <label class="check"><input type="checkbox" id="force" checked=${forced} onChange=${(e) => setForced(e.target.checked)} /> Delete it anyway: ${plural(referrers.count, 'record')} will link to a record that does not exist</label>` : html`<${Problem} error=${error} />`}
    <div class="actions"><button onClick=${onClose}>Cancel</button><button class="danger" disabled=${Boolean(referrers) && !forced} onClick=${remove}>Delete</button></div>
  </${Dialog}>`;
}

function Fields({ kind, record }) {
  const names = Object.keys(record).filter((name) => !HIDDEN.includes(name) && name !== `${kind}_id`);
  return html`
    <dl class="fields">${names.map((name) => html`<div key=${name}><dt title=${name}>${labelOf(name)}</dt><dd><${FieldValue} name=${name} kind=${kind} value=${record[name]} /></dd></div>`)}</dl>
    ${record.instructions && html`<section><h2>Instructions</h2><div class="card prose"><${Markdown} text=${record.instructions} /></div></section>`}
    ${record.resources?.length > 0 && html`<section><h2>Resources</h2>${record.resources.map((r) => html`<${Resource} key=${r.path} resource=${r} />`)}</section>`}`;
}

function FieldValue({ name, kind, value }) {
  const target = name === 'replaced_by' ? kind : LINKS[name];
  if (target && typeof value === 'string') return html`<${RecordLink} kind=${target} id=${value} />`;
  if (target && Array.isArray(value)) return html`<ul class="plain">${value.map((id) => html`<li><${RecordLink} kind=${target} id=${String(id)} /></li>`)}</ul>`;
  if (name === 'labels') return html`<${Labels} path=${['catalog', kind]} labels=${value} />`;
  if (Array.isArray(value) && value.every((v) => typeof v === 'string')) return html`<ul class="plain">${value.map((v) => html`<li>${v}</li>`)}</ul>`;
  if (value !== null && typeof value === 'object') return html`<${Json} value=${value} />`;
  return String(value);
}

function Resource({ resource }) {
  const download = () => {
    const bytes = resource.data !== undefined ? Uint8Array.from(atob(resource.data), (c) => c.charCodeAt(0)) : resource.text || '';
    const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    const a = document.createElement('a');
    a.href = url;
    a.download = resource.path.split('/').pop();
    a.click();
    URL.revokeObjectURL(url);
  };
  return html`<details class="card resource"><summary><code>${resource.path}</code> <span class="muted">${resource.media_type} ${resource.size !== undefined && plural(resource.size, 'byte')}</span></summary>
    ${resource.text !== undefined && html`<pre tabindex="0">${resource.text}</pre>`}
    <p class="small muted">SHA-256 <code>${resource.sha256}</code></p>
    <button onClick=${download}>Download</button></details>`;
}

// reopen shows the record after it was stored.
export function reopen(kind, id, record) {
  const target = link(['catalog', kind, id], { tenant: record.tenant_id || tenant(), scope: record.tenant_id || !tenant() ? '' : 'global' });
  if (route.get().path[0] === 'register') replace(target);
  else navigate(target);
}
