// The retained revisions of a record, and the difference of two of them.
import { useState } from './hooks.js';
import { call, can } from './api.js';
import { editable, recordPath } from './record.js';
import { link, navigate, tenant } from './router.js';
import { fields } from './diff.js';
import { Dialog, Empty, Field, html, Loading, plural, Problem, useRequest } from './ui.js';

// number returns the revision of a consistency token.
const number = (token) => token.split('-').pop();

const name = (r) => `${number(r.revision)}, ${new Date(r.stored_at).toLocaleString()}${r.removed ? ', deleted' : ''}`;

export function History({ kind, id, params, onStored }) {
  const scope = params.get('scope') || '';
  const query = { tenant_id: tenant(), scope };
  const [restored, setRestored] = useState(); // the revision that the dialog restores
  const { data, error, loading, reload } = useRequest(async (signal) => {
    const { revisions } = (await call('GET', `${recordPath(kind, id)}/history`, { query, signal })).data;
    const aliases = revisions[0].removed ? [] : (await call('GET', `${recordPath(kind, id)}/aliases`, { query, signal })).data.aliases;
    return revisions.map((r) => ({ ...r, aliases: aliases.filter((a) => a.revision === r.revision) }));
  }, [kind, id, tenant(), scope]);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return loading ? html`<${Loading} />` : null;
  const after = data.find((r) => r.revision === params.get('to')) || data[0];
  const before = data.find((r) => r.revision === params.get('from')) || data[data.indexOf(after) + 1];
  const go = (changes) => navigate(link(['catalog', kind, id], { scope, tab: 'history', from: before?.revision, to: after.revision, ...changes }));
  const stored = () => {
    setRestored();
    navigate(link(['catalog', kind, id], { scope, tab: 'history' }));
    reload();
    onStored();
  };
  const options = data.map((r) => html`<option value=${r.revision}>${name(r)}</option>`);
  return html`
    <div class="table-wrap" tabindex="0" role="region" aria-label="Revisions"><table class="stack">
      <thead><tr><th class="right">Revision</th><th>Stored</th><th>Version</th><th>Status</th><th>Actor</th><th>Message</th><th>Change</th><th><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${data.map((r, i) => html`<tr key=${r.revision} aria-current=${r === after ? 'true' : undefined}><td class="figure">${number(r.revision)}${r.aliases.map((a) => html` <span class="badge tenant" title="Alias">@${a.name}</span>`)}</td><td class="short">${new Date(r.stored_at).toLocaleString()}</td><td>${r.version}</td>
        <td>${r.removed ? html`<span class="badge bad">deleted</span>` : r.status || 'active'}</td>
        <td><code>${r.actor}</code></td><td class="text">${r.message}</td>
        <td>${i + 1 < data.length ? html`<a href=${link(['catalog', kind, id], { scope, tab: 'history', from: data[i + 1].revision, to: r.revision })}>Compare<span class="hidden"> revision ${number(r.revision)}</span> with the one before</a>` :
          html`<span class="muted">the oldest that is retained</span>`}</td>
        <td>${i > 0 && !r.removed && can('register') && html`<button onClick=${() => setRestored(r)}>Roll back<span class="hidden"> to revision ${number(r.revision)}</span></button>`}</td></tr>`)}</tbody></table></div>
    ${before && html`<section><h2>Difference</h2><div class="inline">
      <${Field} label="From"><select id="from" value=${before.revision} onChange=${(e) => go({ from: e.target.value })}>${options}</select></${Field}>
      <${Field} label="To"><select id="to" value=${after.revision} onChange=${(e) => go({ to: e.target.value })}>${options}</select></${Field}></div>
      <${Difference} key=${before.revision + after.revision} kind=${kind} id=${id} query=${query} before=${before} after=${after} /></section>`}
    ${restored && html`<${Rollback} kind=${kind} id=${id} query=${query} revision=${restored} newest=${data[0]} onStored=${stored} onClose=${() => setRestored()} />`}`;
}

// useRecords reads the records of revisions; {} for a deletion.
function useRecords(kind, id, query, revisions) {
  const read = async (r, signal) => (r.removed ? {} : (await call('GET', recordPath(kind, id), { query: { ...query, revision: r.revision }, signal })).data);
  return useRequest((signal) => Promise.all(revisions.map((r) => read(r, signal))), []);
}

function Difference({ kind, id, query, before, after }) {
  const { data, error } = useRecords(kind, id, query, [before, after]);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${Changes} list=${fields(...data)} />
    ${!before.removed && editable(data[0]) && html`<p><a class="button" href=${link(['catalog', kind, id, 'edit'], { scope: query.scope, revision: before.revision })}>Edit from revision ${number(before.revision)}</a></p>`}`;
}

function Changes({ list }) {
  return html`<p class="muted small">${list.length === 0 ? 'The revisions are equal.' : `${plural(list.length, 'field differs', 'fields differ')}.`}</p>
    ${list.length === 0 && html`<${Empty}><p>No field differs.</p></${Empty}>`}
    ${list.map((f) => html`<div class="card diff" key=${f.name}><h3><code>${f.name}</code> <span class=${`badge ${{ added: 'good', removed: 'bad' }[f.op] || ''}`}>${f.op}</span></h3>
      <pre tabindex="0">${f.lines.map((l) => html`<${Line} line=${l} />`)}</pre></div>`)}`;
}

// Rollback shows what differs, and registers the record of an earlier revision again, unless the record has changed.
function Rollback({ kind, id, query, revision, newest, onStored, onClose }) {
  const { data, error } = useRecords(kind, id, query, [newest, revision]);
  const [failure, setFailure] = useState();
  const [busy, setBusy] = useState(false);
  const put = async () => {
    setBusy(true);
    try {
      const headers = { 'Cairn-Message': `Roll back to revision ${number(revision.revision)}`, ...(newest.removed ? { 'If-None-Match': '*' } : { 'If-Match': `"${newest.revision}"` }) };
      await call('PUT', recordPath(kind, id), { query: { tenant_id: data[1].tenant_id }, body: data[1], headers });
      onStored();
    } catch (e) {
      setFailure(e);
      setBusy(false);
    }
  };
  const permitted = data && editable(data[1]);
  return html`<${Dialog} title=${`Roll back to revision ${number(revision.revision)}?`} wide onClose=${onClose}>
    <p>The record of ${new Date(revision.stored_at).toLocaleString()} is registered again, as a new revision.</p>
    ${data ? html`<${Changes} list=${fields(...data)} />` : !error && html`<${Loading} />`}
    ${data && !permitted && html`<div class="notice warn">Your credential does not permit this.</div>`}
    <${Problem} error=${failure || error} />
    <div class="actions"><button onClick=${onClose}>Cancel</button><button class="primary" disabled=${busy || !permitted} onClick=${put}>Roll back</button></div>
  </${Dialog}>`;
}

const SAID = { '-': 'removed: ', '+': 'added: ' };

function Line({ line: { op, text } }) {
  if (op === '…') return html`<span class="line muted">${plural(Number(text), 'equal line')}${'\n'}</span>`;
  return html`<span class=${`line ${{ '-': 'old', '+': 'new' }[op] || ''}`}><span aria-hidden="true">${op} </span>${SAID[op] && html`<span class="hidden">${SAID[op]}</span>`}${text}${'\n'}</span>`;
}
