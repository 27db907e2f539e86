// The questions of this tab and their analyses, which continue across a reload.
import { ApiError, call, segment, send, session } from './api.js';
import { add, nothing, read } from './events.js';
import { createStore } from './store.js';

const QUESTIONS = 'cairn.questions';
const ESTATE = 'cairn.estate';
const MAX_KEPT = 2_000_000; // characters of an estate that the tab keeps
const MAX_QUESTIONS = 50;
const MAX_HISTORY = 20; // questions that are sent with the next one
const RUN_STOPPED = 'AN-410'; // code of a run that was canceled
const ATTEMPTS = 6; // to resume without an event in between

// A question: {id, conversation, query, mode, estate (its name), run, state, progress, error, began, lost (the connection)}.
// Its state is that of a run.
export const questions = createStore(restore(QUESTIONS) || []);
export const estate = createStore(restore(ESTATE));

const following = new Map(); // question id to AbortController

function restore(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) || undefined;
  } catch {
    return undefined;
  }
}

// keep stores a value for the tab; false: the browser has no room.
function keep(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

let timer;
function save() {
  clearTimeout(timer);
  timer = undefined;
  if (session.get().state === 'signed-out') return;
  let list = questions.get();
  while (list.length && !keep(QUESTIONS, list)) list = list.slice(1);
}
addEventListener('pagehide', () => { if (timer) save(); });

function change(id, fields) {
  questions.set(questions.get().map((q) => (q.id === id ? { ...q, ...fields } : q)));
  timer ??= setTimeout(save, 100);
}

const find = (id) => questions.get().find((q) => q.id === id);

export function setEstate(value) {
  estate.set(value);
  if (!value) sessionStorage.removeItem(ESTATE);
  else if (value.text.length > MAX_KEPT || !keep(ESTATE, value)) sessionStorage.removeItem(ESTATE);
}

// inspect returns what the server reads in the text of an estate, the result of inspect_schema:
// arrays, and a note if there is none; or the fields of an array.
export async function inspect(text, signal, array = '') {
  const calls = [{ name: 'inspect_schema', input: { data_key: array } }];
  const response = await send('POST', '/api/v1/analyze', { body: { target: 'H', context: text, calls }, signal });
  let progress = nothing;
  for await (const event of read(response.body)) progress = add(progress, event);
  if (progress.error) throw new Error(progress.error.message);
  if (!progress.calls[0]?.result) throw new Error('The connection was lost. Try again.');
  return progress.calls[0].result;
}

// history returns the earlier questions and answers of a conversation, as a request has them.
function history(conversation) {
  const messages = {};
  let n = 0;
  for (const q of questions.get().filter((one) => one.conversation === conversation && one.state === 'done').slice(-MAX_HISTORY)) {
    messages[n++] = { r: 0, c: q.query };
    messages[n++] = { r: 1, c: q.progress.direct?.text || q.progress.text };
  }
  return n ? { m: messages } : undefined;
}

// ask starts an analysis and returns the id of the question.
export function ask({ query, conversation, mode }) {
  const id = crypto.randomUUID?.() || String(Math.random()).slice(2);
  const { name, text } = estate.get();
  const body = {
    query, target: 'H', context: text, mode, include: ['provenance', 'suggestions', 'usage'], on_disconnect: 'continue', prompt: history(conversation),
  };
  questions.set([...questions.get(), { id, conversation, query, mode, estate: name, state: 'running', progress: nothing, began: Date.now() }].slice(-MAX_QUESTIONS));
  save();
  follow(id, (signal) => send('POST', '/api/v1/analyze', { body, signal }));
  return id;
}

// open follows a run by its name, from its first event. lost is called with the error if no run has the name.
export function open(run, lost) {
  const known = questions.get().find((q) => q.run === run);
  if (known && (known.state !== 'failed' || following.has(known.id))) return known.id;
  const id = known?.id || run;
  if (known) change(id, { state: 'running', error: undefined, progress: nothing });
  else questions.set([...questions.get(), { id, conversation: run, query: '', run, state: 'running', progress: nothing, began: Date.now() }].slice(-MAX_QUESTIONS));
  follow(id, (signal) => resume(id, signal), known?.query ? undefined : lost);
  return id;
}

function resume(id, signal) {
  const { run, progress } = find(id);
  return send('GET', `/api/v1/analyze/${segment(run)}`, { signal, headers: progress.last ? { 'Last-Event-ID': progress.last } : {} });
}

// follow reads the events of a question until the last one, and resumes after each failure of the connection. With lost,
// it forgets a question whose run does not exist.
async function follow(id, connect, lost) {
  const controller = new AbortController();
  following.set(id, controller);
  let failures = 0;
  for (;;) {
    try {
      const response = await connect(controller.signal);
      if (!find(id)?.run) change(id, { run: response.headers.get('Cairn-Run') });
      if (response.status === 204) break; // no event follows
      await receive(id, response.body, () => { failures = 0; });
      if (find(id).progress.done) break;
    } catch (error) {
      if (controller.signal.aborted) return;
      const final = error instanceof ApiError && error.status !== 0 && error.status !== 429 && error.status < 500;
      if (error.status === 401) { // the question waits for the next credential
        await signedIn();
        continue;
      }
      if (final || !find(id)?.run || failures >= ATTEMPTS) {
        if (lost && error.status === 404) {
          forget(id);
          lost(error);
        } else finish(id, error);
        return;
      }
    }
    if (!find(id)?.run) {
      finish(id, { title: 'The connection was lost', message: 'The analysis has not begun. Ask again.' });
      return;
    }
    change(id, { lost: true });
    await new Promise((wake) => { setTimeout(wake, 250 * 2 ** failures++); });
    if (controller.signal.aborted) return;
    connect = (signal) => resume(id, signal);
  }
  finish(id);
}

// signedIn waits until an expired caller has signed in again.
function signedIn() {
  return new Promise((resolve) => {
    const stop = session.subscribe(({ state }) => {
      if (state !== 'ready') return;
      stop();
      resolve();
    });
  });
}

// receive adds the events of a stream to the progress of a question, which changes once for each frame. received is called
// for each event.
async function receive(id, body, received) {
  let { progress } = find(id);
  let due = false;
  const flush = () => {
    if (due && find(id)) change(id, { progress, lost: undefined });
    due = false;
  };
  try {
    for await (const event of read(body)) {
      received();
      progress = add(progress, event);
      if (due) continue;
      due = true;
      if (document.hidden) setTimeout(flush, 250); // there are no frames
      else requestAnimationFrame(flush);
    }
  } finally {
    flush();
  }
}

function finish(id, error) {
  following.delete(id);
  const q = find(id);
  if (!q) return;
  const failed = error || q.progress.error;
  const canceled = q.canceling || failed?.code === RUN_STOPPED;
  change(id, { lost: undefined, state: canceled ? 'canceled' : failed ? 'failed' : 'done', canceling: undefined, error: q.canceling ? undefined : describe(failed) });
  save();
}

// describe returns the parts of an error that are shown, which sessionStorage can hold.
function describe(error) {
  return error && { title: error.title, code: error.code, message: error.message, errors: error.errors, requestID: error.requestID };
}

// cancel cancels the run of a question.
export async function cancel(id) {
  change(id, { canceling: true });
  const { run } = find(id);
  if (!run) {
    following.get(id)?.abort();
    finish(id);
    return;
  }
  try {
    await call('DELETE', `/api/v1/analyze/${segment(run)}`);
  } catch (error) {
    change(id, { canceling: undefined, error: describe(error) });
  }
}

export function forget(id) {
  following.get(id)?.abort();
  following.delete(id);
  questions.set(questions.get().filter((q) => q.id !== id));
  save();
}

// resumeAll continues the analyses that a reload has interrupted.
export function resumeAll() {
  for (const q of questions.get()) {
    if (q.state !== 'running' || following.has(q.id)) continue;
    if (q.run) follow(q.id, (signal) => resume(q.id, signal));
    else finish(q.id, { title: 'The page was reloaded', message: 'The analysis had not begun. Ask again.' });
  }
}
