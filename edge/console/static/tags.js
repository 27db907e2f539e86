// The state of requests in flight: read, written once, and deleted.
import { useEffect, useState } from './hooks.js';
import { call, can, segment } from './api.js';
import { link, navigate, tenant } from './router.js';
import { acknowledge, Dialog, Empty, Field, html, Json, Loading, Page, Problem, useRequest } from './ui.js';
import { bytes } from './usage.js';

export function Tags({ id }) {
  const [text, setText] = useState(id || '');
  const open = (e) => {
    e.preventDefault();
    if (text) navigate(link(['tags', text]));
  };
  return html`<${Page} title="Tags" subtitle="The state of one request, written once, which every service that processes the request reads.">
    <form class="inline" onSubmit=${open}><${Field} label="Request id"><input id="request" required maxlength="256" spellcheck=${false} value=${text} onInput=${(e) => setText(e.target.value)} /></${Field}>
      <button class="primary">Read</button></form>
    ${id ? html`<${Tag} key=${id} id=${id} />` : html`<${Stored} key=${tenant()} />`}
    ${can('tag') && html`<${Write} key=${`write-${id}`} id=${id} />`}
  </${Page}>`;
}

// useNow returns the time, every second until the view closes.
function useNow() {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function remaining(ms) {
  if (ms <= 0) return 'expired';
  const s = Math.ceil(ms / 1000);
  const [days, hours, minutes] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${s % 60} s` : `${s} s`;
}

// Stored lists the tags of the tenant, without their values.
function Stored() {
  const [cursors, setCursors] = useState(['']); // of the pages that are shown
  const [asked, setAsked] = useState(); // the tag that the dialog deletes
  const now = useNow();
  const { data, error, reload } = useRequest(async (signal) => {
    const pages = await Promise.all(cursors.map((cursor) => call('GET', '/tags', { query: { tenant_id: tenant(), cursor }, signal })));
    return { tags: pages.flatMap((page) => page.data.tags), next: pages.at(-1).data.next_cursor };
  }, [cursors.length]);
  return html`<section><h2>Stored tags</h2><${Problem} error=${error} />
    ${!data && !error && html`<${Loading} />`}
    ${data && (data.tags.length === 0 ? html`<${Empty}><p>No request has a tag ${tenant() ? html`in the tenant ${tenant()}` : 'in the global scope'}.</p></${Empty}>` : html`<div class="table-wrap" tabindex="0" role="region" aria-label="Stored tags"><table class="stack">
      <thead><tr><th>Request</th><th>Written</th><th>Remaining</th><th class="right">Size</th>${can('tag') && html`<th><span class="hidden">Actions</span></th>`}</tr></thead>
      <tbody>${data.tags.map((t) => html`<tr key=${t.request_id}><td class="lead"><a class="id" href=${link(['tags', t.request_id])}>${t.request_id}</a></td>
        <td class="short">${new Date(t.created_at).toLocaleString()}</td><td class="short remaining" title=${`Expires ${new Date(t.expires_at).toLocaleString()}`}>${remaining(Date.parse(t.expires_at) - now)}</td><td class="figure">${bytes(t.size)}</td>
        ${can('tag') && html`<td><button class="danger" onClick=${() => setAsked(t.request_id)} aria-label=${`Delete ${t.request_id}`}>Delete</button></td>`}</tr>`)}</tbody></table></div>`)}
    <div class="actions"><button onClick=${reload}>Refresh</button>${data?.next && html`<button onClick=${() => setCursors([...cursors, data.next])}>More</button>`}</div>
    ${asked && html`<${Delete} id=${asked} onDeleted=${reload} onClose=${() => setAsked()} />`}
  </section>`;
}

function Delete({ id, onDeleted, onClose }) {
  const [error, setError] = useState();
  const remove = async () => {
    try {
      await call('DELETE', `/tags/${segment(id)}`, { query: { tenant_id: tenant() } });
      acknowledge('Deleted');
      onClose();
      onDeleted();
    } catch (e) {
      setError(e);
    }
  };
  return html`<${Dialog} title="Delete this tag?" onClose=${onClose}>
    <p><code>${id}</code> of ${tenant() ? html`the tenant <strong>${tenant()}</strong>` : 'the global scope'} is removed.</p><${Problem} error=${error} />
    <div class="actions"><button onClick=${onClose}>Cancel</button><button class="danger" onClick=${remove}>Delete</button></div>
  </${Dialog}>`;
}

function Tag({ id }) {
  const { data, error, loading, reload } = useRequest(async (signal) => {
    try {
      return (await call('GET', `/tags/${segment(id)}`, { query: { tenant_id: tenant() }, signal })).data.tags;
    } catch (e) {
      if (e.status === 404) return null;
      throw e;
    }
  }, [id, tenant()]);
  const [asked, setAsked] = useState(false);
  if (loading && data === undefined) return html`<${Loading} />`;
  return html`<section aria-label="Tag"><p><a href=${link(['tags'])}>All tags</a></p><${Problem} error=${error} />
    ${data === null && html`<${Empty}><p>No tag has the id <code>${id}</code> ${tenant() ? html`in the tenant ${tenant()}` : 'in the global scope'}.</p><p class="muted">It was not written, has expired, or was deleted.</p></${Empty}>`}
    ${data && html`<dl class="fields"><div><dt>request_id</dt><dd><code>${data.request_id}</code></dd></div><div><dt>flow</dt><dd>${data.flow}</dd></div><div><dt>tags</dt><dd><${Json} value=${data.tags} /></dd></div></dl>
      <div class="actions"><button onClick=${reload}>Read again</button><button class="danger" disabled=${!can('tag')} title=${can('tag') ? undefined : 'Your role does not permit to delete tags'} onClick=${() => setAsked(true)}>Delete</button></div>`}
    ${asked && html`<${Delete} id=${id} onDeleted=${reload} onClose=${() => setAsked(false)} />`}
  </section>`;
}

function Write({ id }) {
  const [values, setValues] = useState({ id: id || '', flow: '', tags: '{}', ttl: '' });
  const [wrong, setWrong] = useState({});
  const [failure, setFailure] = useState();
  const set = (name) => (e) => setValues({ ...values, [name]: e.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setWrong({});
    setFailure(undefined);
    let tags;
    try {
      tags = JSON.parse(values.tags);
    } catch (e) {
      setWrong({ tags: `This is not JSON: ${e.message}` });
      return;
    }
    const body = { request_id: values.id, flow: values.flow, tags, tenant_id: tenant() || undefined };
    if (values.ttl) body.ttl_seconds = Number(values.ttl);
    try {
      await call('POST', '/tags/write', { body });
      if (values.id === id) location.reload();
      else navigate(link(['tags', values.id]));
    } catch (e) {
      const fields = Object.fromEntries((e.errors || []).map((f) => [f.field.split('.')[0], f.message]));
      setWrong(fields);
      setFailure(Object.keys(fields).length ? undefined : e);
    }
  };
  return html`<details class="card"><summary>Write a tag</summary><form class="record" onSubmit=${submit}>
    <${Problem} error=${failure} />
    <${Field} label="request_id" error=${wrong.request_id}><input id="write-id" required maxlength="256" spellcheck=${false} value=${values.id} onInput=${set('id')} /></${Field}>
    <${Field} label="flow" error=${wrong.flow}><input id="write-flow" maxlength="256" value=${values.flow} onInput=${set('flow')} /></${Field}>
    <${Field} label="ttl_seconds" hint="shorter than the default of the server" error=${wrong.ttl_seconds}><input id="write-ttl" type="number" min="1" value=${values.ttl} onInput=${set('ttl')} /></${Field}>
    <${Field} wide label="tags" hint="a JSON object" error=${wrong.tags}><textarea id="write-tags" class="code" rows="4" spellcheck=${false} value=${values.tags} onInput=${set('tags')}></textarea></${Field}>
    <div class="actions"><button class="primary">Write</button></div>
  </form></details>`;
}
