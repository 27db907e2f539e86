// The audit log: who changed which record or key, and why.
import { useState } from './hooks.js';
import { call } from './api.js';
import { link, navigate, tenant } from './router.js';
import { Empty, Field, html, KINDS, Loading, Page, Problem, RecordLink, Scope, useRequest } from './ui.js';

const ACTIONS = ['register', 'replace', 'delete', 'promote', 'delete_alias', 'reindex', 'create_key', 'revoke_key', 'restore'];
const FILTERS = ['kind', 'id', 'actor', 'action'];

export function Audit({ params }) {
  const [fields, setFields] = useState(Object.fromEntries(FILTERS.map((name) => [name, params.get(name) || ''])));
  const [cursors, setCursors] = useState(['']); // of the pages that are shown
  const filter = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) || '']));
  const { data, error } = useRequest(async (signal) => {
    const pages = await Promise.all(cursors.map((cursor) => call('GET', '/audit', { query: { ...filter, tenant_id: tenant(), cursor }, signal })));
    return { entries: pages.flatMap((page) => page.data.entries), next: pages.at(-1).data.next_cursor };
  }, [cursors.length, tenant(), ...Object.values(filter)]);
  const submit = (e) => {
    e.preventDefault();
    setCursors(['']);
    navigate(link(['audit'], fields));
  };
  const field = (name) => ({ id: name, value: fields[name], onInput: (e) => setFields({ ...fields, [name]: e.target.value }) });
  return html`<${Page} title="Audit log" subtitle="Changes of records and API keys, the latest first.">
    <form class="inline" onSubmit=${submit}>
      <${Field} label="Kind"><select ...${field('kind')}><option value="">any</option>${[...Object.keys(KINDS), 'key'].map((kind) => html`<option value=${kind}>${kind}</option>`)}</select></${Field}>
      <${Field} label="Id"><input spellcheck=${false} ...${field('id')} /></${Field}>
      <${Field} label="Actor"><input spellcheck=${false} ...${field('actor')} /></${Field}>
      <${Field} label="Action"><select ...${field('action')}><option value="">any</option>${ACTIONS.map((action) => html`<option value=${action}>${action}</option>`)}</select></${Field}>
      <button>Apply</button></form>
    <${Problem} error=${error} />
    ${!data && !error && html`<${Loading} />`}
    ${data && (data.entries.length === 0 ? html`<${Empty}><p>No change matches.</p></${Empty}>` : html`<div class="table-wrap" tabindex="0" role="region" aria-label="Audit log"><table class="stack">
      <thead><tr><th>Time</th><th>Actor</th><th>Action</th><th>Name</th><th>Scope</th><th>Message</th></tr></thead>
      <tbody>${data.entries.map((e) => html`<tr key=${e.time + e.revision}><td class="short">${new Date(e.time).toLocaleString()}</td><td><code>${e.actor}</code></td><td>${e.action}</td>
        <td class="lead">${KINDS[e.kind] ? html`<${RecordLink} kind=${e.kind} id=${e.id}>${e.kind}/${e.id}${e.alias && `@${e.alias}`}</${RecordLink}>` : [e.kind, e.id].filter(Boolean).join('/')}</td>
        <td><${Scope} tenant=${e.tenant_id} /></td><td class="text">${e.message}</td></tr>`)}</tbody></table></div>`)}
    ${data?.next && html`<div class="actions"><button onClick=${() => setCursors([...cursors, data.next])}>More</button></div>`}
  </${Page}>`;
}
