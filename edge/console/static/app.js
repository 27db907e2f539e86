// The frame of the console: sign-in, navigation, and the view of the route.
import { render } from './preact.js';
import { useEffect, useErrorBoundary, useRef, useState } from './hooks.js';
import { call, can, session, signIn, signOut, start, tenantsOf } from './api.js';
import { link, navigate, route, tenant } from './router.js';
import { createStore, useStore } from './store.js';
import { acknowledgement, Empty, Field, html, Loading, Page, plural, Problem, useRequest } from './ui.js';

const NAVIGATION = [
  { path: 'search', icon: 'M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM11 11l3.5 3.5', title: 'Search', needs: 'read' },
  { path: 'catalog', icon: 'M2 3h12M2 8h12M2 13h12', title: 'Catalog', needs: 'read', also: ['catalog', 'register'] },
  { path: 'package', icon: 'M3.5 8h3M9.5 3.5H8A1.5 1.5 0 0 0 6.5 5v6A1.5 1.5 0 0 0 8 12.5h1.5M1 6.5h2.5v3H1zM9.5 2h5v3h-5zM9.5 11h5v3h-5z', title: 'Packages', needs: 'read' },
  { path: 'ask', icon: 'M2 2.5h12v8.5H8L4.5 14v-3H2z', title: 'Ask', needs: 'analyze' },
  { path: 'runs', icon: 'M4.5 2.5l8 5.5-8 5.5z', title: 'Runs', needs: 'analyze' },
  { path: 'tags', icon: 'M2 2h6l6 6-6 6-6-6zM5 5h.01', title: 'Tags', needs: 'read' },
  { path: 'usage', icon: 'M2 14V8h3v6zM6.5 14V2h3v12zM11 14V5.5h3V14z', title: 'Usage', needs: 'read' },
  { path: 'audit', icon: 'M3 1.5h10v13H3zM5.5 5h5M5.5 8h5M5.5 11h3', title: 'Audit log', needs: 'register' },
  { path: 'health', icon: 'M1.5 8.5h3l2-5.5 3 10 2-4.5h3', title: 'Health', needs: 'read' },
];

// The modules of the views. Each is loaded when a view of it is first shown, and the others after
// that, so that the first view does not wait for them.
const LOADERS = {
  search: () => import('./search.js'), catalog: () => import('./catalog.js'), record: () => import('./record.js'),
  form: () => import('./form.js'), package: () => import('./package.js'), ask: () => import('./ask.js'), tags: () => import('./tags.js'),
  runs: () => import('./runs.js'), usage: () => import('./usage.js'), audit: () => import('./audit.js'), health: () => import('./health.js'),
};
const modules = createStore({});
const loading = new Set();

async function load(name) {
  if (loading.has(name)) return;
  loading.add(name);
  try {
    const module = await LOADERS[name]();
    modules.set({ ...modules.get(), [name]: module });
  } catch (error) {
    loading.delete(name);
    modules.set({ ...modules.get(), failure: error });
  }
}

// viewOf returns the module of the view of a route, and how that shows it.
function viewOf({ path, params }) {
  switch (path[0]) {
    case undefined:
    case 'search':
      return ['search', ({ Search }) => html`<${Search} params=${params} />`];
    case 'catalog':
      if (path.length === 4 && path[3] === 'edit') return ['form', ({ RecordForm }) => html`<${RecordForm} key=${path.join('/')} kind=${path[1]} id=${path[2]} />`];
      if (path.length === 3) return ['record', ({ RecordView }) => html`<${RecordView} key=${path.join('/')} kind=${path[1]} id=${path[2]} params=${params} />`];
      return ['catalog', ({ Catalog }) => html`<${Catalog} kind=${path[1] || 'skill'} params=${params} />`];
    case 'register':
      return ['form', ({ RecordForm }) => html`<${RecordForm} key=${path.join('/')} kind=${path[1]} copy=${params.get('copy')} />`];
    case 'package':
      return ['package', ({ PackageList, PackageView }) => (path[1] ? html`<${PackageView} key=${path[1]} id=${path[1]} />` : html`<${PackageList} />`)];
    case 'runs':
      return ['runs', ({ Runs }) => html`<${Runs} key=${path[1]} run=${path[1]} params=${params} />`];
    case 'tags':
      return ['tags', ({ Tags }) => html`<${Tags} key=${path[1]} id=${path[1]} />`];
    case 'usage':
      return ['usage', ({ Usage }) => html`<${Usage} />`];
    case 'audit':
      return ['audit', ({ Audit }) => html`<${Audit} params=${params} />`];
    case 'health':
      return ['health', ({ Health }) => html`<${Health} />`];
    case 'ask':
      return ['ask', ({ Ask }) => html`<${Ask} question=${path[1]} />`];
    default:
      return [undefined, () => html`<${Page} title="Not found"><${Empty}><p>There is no view at this address.</p><p><a href=${link(['search'])}>Search</a></p></${Empty}></${Page}>`];
  }
}

// Boundary shows an error of a view in place of the view.
function Boundary({ children }) {
  const [error] = useErrorBoundary((e) => console.error(e));
  return error ? html`<${Page} title="Error"><${Problem} error=${{ title: 'This view has failed', message: String(error.message || error) }} /></${Page}>` : children;
}

function SignIn({ error }) {
  const [credential, setCredential] = useState('');
  const [failure, setFailure] = useState(error);
  const [busy, setBusy] = useState(false);
  const input = useRef();
  useEffect(() => {
    const before = document.title;
    document.title = 'Sign in · Cairn';
    input.current.focus();
    return () => { document.title = before; };
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(credential.trim());
    } catch (e) {
      setFailure(e.status === 401 ? 'This key or token is not valid.' : e.message);
      setBusy(false);
      input.current.focus();
    }
  };
  return html`<main class="sign-in"><form class="card" onSubmit=${submit}>
    <${Logo} />
    <h1>Sign in</h1>
    <p class="muted">With an API key (<code>cairn key create</code>) or a token of your OpenID provider. It is kept for this tab only.</p>
    <${Field} label="API key or token" error=${failure}>
      <input ref=${input} id="credential" type="password" autocomplete="off" spellcheck=${false} required value=${credential}
        onInput=${(e) => setCredential(e.target.value)} />
    </${Field}>
    <button class="primary" disabled=${busy}>Sign in</button>
    <p class="small"><a href="/docs">Manual</a></p>
  </form></main>`;
}

function Logo() {
  return html`<span class="logo"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><rect x="8.5" y="2.5" width="7" height="4.6" rx="2.3" /><rect
    x="5.5" y="8.9" width="13" height="5.4" rx="2.7" /><rect x="2" y="16.1" width="20" height="5.9" rx="2.95" /></svg>Cairn</span>`;
}

function Icon({ path }) { return html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>`; }

// TenantPicker selects the tenant of all views.
function TenantPicker({ caller }) {
  const known = tenantsOf(caller);
  const [text, setText] = useState(tenant());
  const [prefix, setPrefix] = useState(); // of the listed tenants; undefined: none yet
  useEffect(() => setText(tenant()), [tenant()]);
  const { data: listed } = useRequest(async (signal) => (prefix === undefined ? [] : (await call('GET', '/tenants', { query: { prefix }, signal })).data.tenants), [prefix]);
  const given = tenant();
  const view = route.get().path.join('/'); // which may have registered the first record of the tenant
  const { data: absent } = useRequest(async (signal) => (!known && given ?
    !(await call('GET', '/tenants', { query: { prefix: given }, signal })).data.tenants.some((t) => t.tenant_id === given) : false), [given, view]);
  const select = (name) => {
    const value = name === 'global' && !listed?.some((t) => t.tenant_id === name) ? '' : name;
    setText(value);
    const { path, params } = route.get();
    const kept = Object.fromEntries([...params].filter(([name]) => name !== 'cursor' && name !== 'scope'));
    navigate(link(path, { ...kept, tenant: value }));
  };
  if (known?.length === 1) return html`<p class="tenant-fixed"><span class="muted">Tenant</span> <strong>${known[0]}</strong></p>`;
  if (known) {
    return html`<div class="tenant-picker"><label for="tenant">Tenant</label>
      <select id="tenant" value=${tenant()} onChange=${(e) => select(e.target.value)}>${known.map((t) => html`<option value=${t}>${t}</option>`)}</select></div>`;
  }
  return html`<form class="tenant-picker" onSubmit=${(e) => { e.preventDefault(); select(text.trim()); }}><label for="tenant">Tenant</label>
    <input id="tenant" list="tenants" placeholder="Global scope" spellcheck=${false} autocomplete="off" maxlength="256" value=${text} onFocus=${() => setPrefix('')}
      onInput=${(e) => { setText(e.target.value); setPrefix(e.target.value.trim()); }} onBlur=${() => text.trim() !== tenant() && select(text.trim())} />
    <datalist id="tenants">${listed?.map((t) => html`<option value=${t.tenant_id}>${plural(t.count, 'record')}</option>`)}</datalist>
    ${absent && html`<p class="hint" role="status">No records of this tenant. Views show global ones.</p>`}</form>`;
}

function Frame({ current, caller }) {
  const [open, setOpen] = useState(false);
  const path = current.path.slice(0, current.path[0] === 'ask' ? 1 : undefined).join('/'); // a question keeps the view
  const loaded = useStore(modules);
  const done = useStore(acknowledgement);
  const [name, show] = viewOf(current);
  const ready = !name || Boolean(loaded[name]);
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    if (!ready) {
      load(name);
      return;
    }
    if (first.current) {
      first.current = false;
      performance.mark('first-view');
      Object.keys(LOADERS).forEach(load);
      import('./questions.js').then((questions) => questions.resumeAll(), () => {}); // a view that needs them shows the failure
      return;
    }
    document.getElementById('title')?.focus();
    scrollTo(0, 0);
  }, [path, ready]);
  useEffect(() => {
    const focusSearch = (e) => {
      if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, [contenteditable]')) return;
      const box = document.getElementById('query');
      if (box) {
        e.preventDefault();
        box.focus();
      }
    };
    addEventListener('keydown', focusSearch);
    return () => removeEventListener('keydown', focusSearch);
  }, []);
  const skip = (e) => { // the fragment is the route
    e.preventDefault();
    document.getElementById('title')?.focus();
  };
  const active = current.path[0] || 'search';
  return html`
    <a class="skip" href="#title" onClick=${skip}>Skip to content</a>
    <header class="top">
      <a class="home" href=${link(['search'])} aria-label="Cairn"><${Logo} /></a>
      <button class="menu" aria-expanded=${open ? 'true' : 'false'} aria-controls="navigation" onClick=${() => setOpen(!open)}>Menu</button>
      <nav id="navigation" class=${open ? 'open' : ''} aria-label="Views"><ul>
        ${NAVIGATION.map((view) => html`<li><a ...${can(view.needs) ? { href: link([view.path]) } : { role: 'link', 'aria-disabled': 'true', class: 'disabled', title: 'Your role does not permit this' }}
          aria-current=${(view.also || [view.path]).includes(active) ? 'page' : undefined}><${Icon} path=${view.icon} />${view.title}</a></li>`)}
        <li><a href="/docs"><${Icon} path="M3.5 1.5h6l3 3v10h-9zM9 1.5v3.5h3.5M6 8h4M6 11h4" />Docs</a></li>
      </ul></nav>
      <div class="session"><${TenantPicker} caller=${caller} />
        ${caller.id && html`<p class="who"><span class="muted">${caller.role}</span> <code>${caller.id}</code> <button class="link" onClick=${() => signOut()}>Sign out</button></p>`}
      </div>
    </header>
    <main><${Boundary} key=${path}>${ready ? show(loaded[name]) : loaded.failure ? html`<${Problem} error=${{ title: 'This view could not be loaded', message: 'Reload the page.' }} />` : html`<${Loading} />`}</${Boundary}><p class="acknowledgement" role="status">${done}</p></main>`;
}

function App() {
  const { state, caller, error } = useStore(session);
  const current = useStore(route);
  switch (state) {
    case 'starting': return html`<main><${Loading} what="Connecting" /></main>`;
    case 'signed-out': return html`<${SignIn} error=${error} />`;
    case 'unavailable': return html`<main class="sign-in"><div class="card"><h1>Cairn is not available</h1><p>${error}</p>
      <button class="primary" onClick=${start}>Try again</button></div></main>`;
    default: return html`<div class="frame" hidden=${state === 'expired'}><${Frame} current=${current} caller=${caller} /></div>
      ${state === 'expired' && html`<${SignIn} error=${error} />`}`;
  }
}

start();
const [needed] = viewOf(route.get());
if (needed) load(needed);
render(html`<${App} />`, document.getElementById('app'));
