// Routes in the fragment of the URL: #/catalog/skill/network.vlans?tenant=acme. Every view
// reads its state from the route, so that every link is a deep link.
import { session, tenantsOf } from './api.js';
import { createStore } from './store.js';

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  let segments;
  try {
    segments = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    segments = ['']; // malformed: an unknown view
  }
  return { path: segments, params: new URLSearchParams(query || '') };
}

export const route = createStore(parse());
addEventListener('hashchange', () => route.set(parse()));

// The tenant of the route, or else the first one of the credential; empty: global.
export function tenant() {
  const given = route.get().params.get('tenant');
  return given ?? tenantsOf(session.get().caller)?.[0] ?? '';
}

// link returns the URL of a view for the current tenant, or the one in params.
export function link(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ tenant: tenant(), ...params })) {
    if (value !== undefined && value !== null && value !== '') query.set(name, value);
  }
  return `#/${path.map(encodeURIComponent).join('/')}${query.size ? `?${query}` : ''}`;
}

export function navigate(href) { location.hash = href; }

// replace changes the URL without an entry in the history.
export function replace(href) {
  history.replaceState(null, '', href);
  route.set(parse());
}
