// The public HTTP API, called with the credential of this tab.
import { createStore } from './store.js';

const CREDENTIAL = 'cairn.credential'; // in sessionStorage: ends with the tab
const CALLER = 'cairn.caller'; // to whom the rest of the storage belongs

// An error response: status, code, title, detail and errors of its body.
export class ApiError extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `HTTP status ${status}`);
    this.status = status;
    this.code = body.code || '';
    this.title = body.title || `HTTP status ${status}`;
    this.requestID = body.request_id || '';
    this.errors = body.errors || [];
    this.referrers = body.referrers;
  }
}

// The caller: {state: 'starting' | 'signed-out' | 'ready' | 'expired' | 'unavailable', caller, error}. The views of an
// expired caller continue when it signs in again.
export const session = createStore({ state: 'starting' });

export const can = (permission) => (session.get().caller?.permissions || []).includes(permission);

// Tenants of the credential; undefined: all.
export const tenantsOf = (caller) => (caller?.tenants?.length ? caller.tenants : undefined);

// segment escapes an id in a path.
export function segment(id) {
  if (id === '.' || id === '..') throw new Error(`a browser cannot send the id "${id}"`);
  return encodeURIComponent(id);
}

function headersFor(body, extra) {
  const headers = { ...extra };
  const credential = sessionStorage.getItem(CREDENTIAL);
  if (credential) headers.Authorization = `Bearer ${credential}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return headers;
}

// send returns the Response of a request that succeeded, and throws an ApiError otherwise.
export async function send(method, path, { query, body, headers, signal } = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, value);
  }
  const url = parameters.size ? `${path}?${parameters}` : path;
  let response;
  try {
    response = await fetch(url, { method, headers: headersFor(body, headers), body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, { title: 'no connection', detail: 'The server does not respond.' });
  }
  if (response.ok) return response;
  const failure = await response.json().catch(() => ({}));
  if (response.status === 401 && session.get().state === 'ready') {
    session.set({ ...session.get(), state: 'expired', error: 'The credential is no longer accepted. Sign in to continue.' });
  }
  throw new ApiError(response.status, failure);
}

// call returns the decoded body of a response, with the headers that matter to the console.
export async function call(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  return {
    data: text ? JSON.parse(text) : undefined,
    etag: response.headers.get('ETag') || '',
    revision: response.headers.get('Cairn-Revision') || '',
  };
}

const nameOf = (caller) => JSON.stringify([caller.id, caller.tenants]);

function ready(caller) {
  sessionStorage.setItem(CALLER, nameOf(caller));
  session.set({ state: 'ready', caller });
}

// start reads who the caller is.
export async function start() {
  try {
    ready((await call('GET', '/identity')).data);
  } catch (error) {
    session.set(error.status === 401 ? { state: 'signed-out' } : { state: 'unavailable', error: error.message });
  }
}

// signIn verifies a credential and keeps it for the tab. Another caller than before begins with an empty tab.
export async function signIn(credential) {
  const former = sessionStorage.getItem(CALLER);
  sessionStorage.setItem(CREDENTIAL, credential);
  try {
    const { data } = await call('GET', '/identity');
    if (former !== null && former !== nameOf(data)) signOut(credential);
    else ready(data);
  } catch (error) {
    sessionStorage.removeItem(CREDENTIAL);
    throw error;
  }
}

// signOut clears what this tab stores, and what its modules have of it. It keeps the credential of the next caller.
export function signOut(next) {
  session.set({ state: 'signed-out' });
  sessionStorage.clear();
  if (next) sessionStorage.setItem(CREDENTIAL, next);
  location.reload();
}

// schemas returns the JSON Schemas of the API by name.
let described;
export function schemas() {
  described ??= call('GET', '/openapi.json').then(({ data }) => data.components.schemas);
  described.catch(() => { described = undefined; });
  return described;
}
