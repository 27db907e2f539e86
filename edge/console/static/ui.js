// Elements that several views share.
import { cloneElement, Fragment, h } from './preact.js';
import { useEffect, useRef, useState } from './hooks.js';
import htm from './htm.js';
import { session } from './api.js';
import { link } from './router.js';
import { createStore, useStore } from './store.js';

export const html = htm.bind(h);

export const KINDS = {
  skill: { name: 'Skill', plural: 'Skills', schema: 'Skill' },
  agent: { name: 'Agent', plural: 'Agents', schema: 'Agent' },
  tool: { name: 'Tool', plural: 'Tools', schema: 'Tool' },
  context_builder: { name: 'Context builder', plural: 'Context builders', schema: 'ContextBuilder' },
  guardrail: { name: 'Guardrail', plural: 'Guardrails', schema: 'Guardrail' },
  template: { name: 'Template', plural: 'Templates', schema: 'Template' },
};

// labelOf returns the name of a field for readers.
export function labelOf(name) {
  const words = name.replace(/_ids$/, 's').replace(/_id$/, '').replace(/_/g, ' ');
  return words[0].toUpperCase() + words.slice(1);
}

const RETRY = 3000; // milliseconds until a request without a connection is sent again

// acknowledgement is the last action that has succeeded, for the status line.
export const acknowledgement = createStore('');

let shown;
export function acknowledge(text) {
  clearTimeout(shown);
  acknowledgement.set(text);
  shown = setTimeout(() => acknowledgement.set(''), 5000);
}

// useRequest runs load when a dependency changes, without a connection every 3 seconds, or when an expired caller has
// signed in again, and returns its state: {data} or {error} or neither while loading, and reload.
export function useRequest(load, dependencies) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  const signedIn = useStore(session).state === 'ready';
  useEffect(() => { if (signedIn && state.error?.status === 401) setTurn(turn + 1); }, [signedIn]);
  useEffect(() => {
    if (state.error?.status !== 0) return undefined;
    const timer = setTimeout(() => setTurn(turn + 1), RETRY);
    return () => clearTimeout(timer);
  }, [state.error]);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ data: before.data, error: before.error?.status === 0 ? before.error : undefined, loading: true }));
    Promise.resolve().then(() => load(controller.signal)).then(
      (data) => { if (!controller.signal.aborted) setState({ data }); },
      (error) => { if (!controller.signal.aborted) setState({ error: Object.assign(error, { retry: () => setTurn(turn + 1) }) }); },
    );
    return () => controller.abort();
  }, [...dependencies, turn]);
  return { ...state, reload: () => setTurn(turn + 1) };
}

// Page is a view with its heading, which receives the focus when the view opens.
export function Page({ title, subtitle, actions, children }) {
  useEffect(() => { document.title = `${title} · Cairn`; }, [title]);
  return html`
    <header class="page-head">
      <div><h1 id="title" tabindex="-1">${title}</h1>${subtitle && html`<p class="muted">${subtitle}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}`;
}

export function Problem({ error }) {
  if (!error) return null;
  return html`<div class="notice bad" role="alert">
    <p><strong>${error.title || 'Error'}</strong>${error.code && html` <a href=${`/docs/errors#${error.code}`}><code>${error.code}</code></a>`}</p>
    <p>${error.message}</p>
    ${error.errors?.length > 0 && html`<ul>${error.errors.map((e) => html`<li><code>${e.field}</code> ${e.message}</li>`)}</ul>`}
    ${error.requestID && html`<p class="small">Request <code>${error.requestID}</code></p>`}
    ${error.retry && (error.status === 0 || error.status >= 500) && html`<p><button onClick=${error.retry}>Try again</button></p>`}
  </div>`;
}

export function Loading({ what = 'Loading' }) { return html`<p class="muted loading" role="status">${what}…</p>`; }

export function Empty({ children }) { return html`<div class="empty">${children}</div>`; }

// Scope says whose record it is, in words and by colour.
export function Scope({ tenant }) {
  return tenant ? html`<span class="badge tenant" title="Record of the tenant ${tenant}">${tenant === 'global' ? 'tenant global' : tenant}</span>` :
    html`<span class="badge" title="Record of the global scope">global</span>`;
}

export function Status({ record }) {
  const status = record.status || 'active';
  if (status === 'active') return null;
  return html`<span class=${`badge ${status === 'deprecated' ? 'warn' : 'quiet'}`}>${status}</span>`;
}

export function Bar({ share, label }) {
  const width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return html`<span class="bar" aria-hidden="true"><span class=${label || ''} style=${{ width }}></span></span>`;
}

export function Field({ label, hint, error, children, wide }) {
  const id = children.props.id;
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
  const control = cloneElement(children, { 'aria-describedby': described, 'aria-invalid': error ? 'true' : undefined });
  return html`<div class=${`field${wide ? ' wide' : ''}`}>
    <label for=${id}>${label}</label>
    ${control}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}

export function RecordLink({ kind, id, scope, children }) {
  return html`<a class="id" href=${link(['catalog', kind, id], { scope })}>${children || id}</a>`;
}

// Labels are links to the catalog with the label as a filter; kept: further parameters.
export function Labels({ path, labels, kept }) {
  if (!labels || typeof labels !== 'object') return null;
  const href = (label) => link(path, { ...kept, labels: [...new Set([...(kept?.labels || '').split(',').filter(Boolean), label])].join(',') });
  return html`<span class="badges">${Object.entries(labels).map(([name, value]) => `${name}=${value}`).map((label) => html`<a class="badge" href=${href(label)}>${label}</a>`)}</span>`;
}

// Dialog is a modal dialog that closes with Escape; the element that opened it gets the focus back.
export function Dialog({ title, wide, onClose, children }) {
  const element = useRef();
  useEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => before?.focus();
  }, []);
  return html`<dialog ref=${element} class=${wide ? 'wide-dialog' : ''} aria-labelledby="dialog-title" onClose=${onClose} onCancel=${onClose}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

// format prints a number for readers.
export function format(n, digits = 3) {
  if (typeof n !== 'number' || !Number.isFinite(n)) return String(n);
  return n.toLocaleString('en', { maximumFractionDigits: Number.isInteger(n) ? 0 : digits });
}

export function plural(n, one, many = `${one}s`) { return `${format(n)} ${n === 1 ? one : many}`; }

// Json shows a value; each part has the id of its JSON Pointer below prefix, so that a link can show it.
export function Json({ value, prefix = '' }) {
  return html`<pre class="json" tabindex="0"><${Value} value=${value} id=${prefix} depth=${0} /></pre>`;
}

const escapePointer = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');

function Value({ value, id, depth }) {
  if (value === null || typeof value !== 'object') {
    return html`<span id=${id || undefined} class=${typeof value === 'string' ? 'string' : 'number'}>${JSON.stringify(value)}</span>`;
  }
  const names = Object.keys(value);
  const list = Array.isArray(value);
  const [open, close] = list ? '[]' : '{}';
  if (names.length === 0) return open + close;
  const flat = list && value.every((v) => v === null || typeof v !== 'object') && JSON.stringify(value).length < 80;
  const gap = (n) => (flat ? ' ' : `\n${'  '.repeat(n)}`);
  return html`${open}${names.map((name, i) => html`<${Fragment} key=${name}>${flat && i === 0 ? '' : gap(depth + 1)}${list ? '' : html`<span class="name">${JSON.stringify(name)}</span>: `}<${Value}
    value=${value[name]} id=${id && `${id}/${escapePointer(name)}`} depth=${depth + 1} />${i < names.length - 1 ? ',' : ''}</${Fragment}>`)}${flat ? '' : gap(depth)}${close}`;
}

// reveal shows an element, inside closed details too, and marks it for a moment.
export function reveal(id) {
  const element = document.getElementById(id);
  if (!element) return false;
  for (let at = element.closest('details'); at; at = at.parentElement.closest('details')) at.open = true;
  element.setAttribute('tabindex', '-1');
  element.scrollIntoView({ block: 'center' });
  element.focus({ preventScroll: true });
  element.classList.add('revealed');
  setTimeout(() => element.classList.remove('revealed'), 2500);
  return true;
}
