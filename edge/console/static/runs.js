// Runs of analyses: those of the tenant and of this tab, and any other by its name.
import { useEffect, useState } from './hooks.js';
import { call, can, segment } from './api.js';
import { outcome, Question, STATES } from './ask.js';
import { open, questions } from './questions.js';
import { link, navigate, route } from './router.js';
import { useStore } from './store.js';
import { Empty, Field, format, html, Loading, Page, Problem, useRequest } from './ui.js';

export function Runs({ run, params }) {
  const list = useStore(questions);
  const [text, setText] = useState(run || '');
  const [name, setName] = useState();
  const [failure, setFailure] = useState();
  useEffect(() => { setName(run && can('analyze') ? open(run, setFailure) : undefined); }, [run]);
  const shown = list.find((q) => q.id === name);
  const submit = (e) => {
    e.preventDefault();
    if (text.trim()) navigate(link(['runs', text.trim()]));
  };
  return html`<${Page} title="Runs" subtitle="A run can be followed, resumed and canceled on any edge until two minutes after its end; its question, duration and tokens are kept for a day.">
    ${!can('analyze') && html`<div class="notice warn">Your role does not permit analyses.</div>`}
    <form class="inline" onSubmit=${submit}><${Field} label="Run" hint="the response header Cairn-Run of an analysis"><input id="run" spellcheck=${false} disabled=${!can('analyze')} value=${text} onInput=${(e) => setText(e.target.value)} /></${Field}>
      <button class="primary" disabled=${!can('analyze')}>Follow</button></form>
    <${Problem} error=${failure} />
    ${shown && html`<${Question} question=${shown} />`}
    ${can('analyze') && html`<${Stored} questions=${list} params=${params} />`}
    <section><h2>Runs of this tab</h2>
      ${list.length === 0 ? html`<${Empty}><p>No analysis was started or followed in this tab.</p></${Empty}>` : html`<div class="table-wrap" tabindex="0" role="region" aria-label="Runs of this tab"><table class="own stack">
        <thead><tr><th>Run</th><th>Question</th><th>State</th><th>Started</th></tr></thead>
        <tbody>${[...list].reverse().map((q) => html`<tr key=${q.id}><td class="run">${q.run ? html`<a class="id" title=${q.run} href=${link(['runs', q.run])}>${q.run}</a>` : html`<span class="muted">none yet</span>`}</td>
          <td class="text lead">${q.query ? html`<a href=${link(['ask', q.id])}>${q.query}</a>` : ''}</td><td>${outcome(q)}</td><td class="short">${time(q.began)}</td></tr>`)}</tbody></table></div>`}
    </section>
  </${Page}>`;
}

const POLL = 2000; // milliseconds between two lists while a run is in progress
const RETAINED = 120_000; // milliseconds for which the events of a run are retained after its end

const FILTERS = ['state', 'user', 'model'];

const BADGES = { running: 'good', failed: 'bad' };

// time returns a time for readers, without the date if that is today.
function time(value) {
  const date = new Date(value);
  return date.toDateString() === new Date().toDateString() ? date.toLocaleTimeString() : date.toLocaleString();
}

const duration = (ms) => (ms < 1000 ? `${ms} ms` : `${format(ms / 1000, 1)} s`);

// Stored lists the runs that the server has. It knows the question of a run that has ended, and this tab those of its
// own, with their answers. A run is a link while its answer can be shown.
function Stored({ questions: known, params }) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) || '']));
  const [fields, setFields] = useState(filter);
  const [cursors, setCursors] = useState(['']); // of the pages that are shown
  const [failure, setFailure] = useState();
  const ended = known.filter((q) => q.state !== 'running').length; // the list changes with it
  const { data, error, reload } = useRequest(async (signal) => {
    const pages = await Promise.all(cursors.map((cursor) => call('GET', '/runs', { query: { ...filter, cursor }, signal })));
    return { runs: pages.flatMap((page) => page.data.runs), next: pages.at(-1).data.next_cursor };
  }, [cursors.length, known.length, ended, ...Object.values(filter)]);
  useEffect(() => {
    if (!data?.runs.some((r) => r.state === 'running')) return undefined;
    const timer = setTimeout(reload, POLL);
    return () => clearTimeout(timer);
  }, [data]);
  const refresh = () => {
    setFailure(undefined);
    setCursors(['']);
    reload();
  };
  const cancel = async (run) => {
    try {
      await call('DELETE', `/api/v1/analyze/${segment(run)}`);
      refresh();
    } catch (e) {
      setFailure(e);
    }
  };
  const apply = (changed) => {
    const next = { ...fields, ...changed };
    setFields(next);
    setCursors(['']);
    navigate(link(route.get().path, next));
  };
  const set = (name) => (e) => setFields({ ...fields, [name]: e.target.value });
  const field = (name) => ({ id: name, maxlength: 256, spellcheck: false, value: fields[name], onInput: set(name) });
  const empty = Object.values(filter).some(Boolean) ? 'No run matches the filters.' : 'No analysis runs, and none is stored.';
  return html`<section><h2>Stored runs</h2>
    <form class="filters" onSubmit=${(e) => { e.preventDefault(); apply({}); }}>
      <${Field} label="State"><select id="state" value=${fields.state} onChange=${(e) => apply({ state: e.target.value })}>
        <option value="">any</option>
        ${Object.keys(STATES).filter((state) => state !== 'declined').map((state) => html`<option value=${state}>${STATES[state]}</option>`)}
      </select></${Field}>
      <${Field} label="User"><input ...${field('user')} /></${Field}>
      <${Field} label="Model"><input ...${field('model')} /></${Field}>
      <button>Apply</button></form>
    <${Problem} error=${failure || error} />
    ${!data && !error && html`<${Loading} />`}
    ${data && (data.runs.length === 0 ? html`<${Empty}><p>${empty}</p></${Empty}>` : html`<div class="table-wrap" tabindex="0" role="region" aria-label="Stored runs"><table class="stored stack">
      <thead><tr><th>Run</th><th>Question</th><th>State</th><th>Started</th><th class="right">Took</th><th class="right">Tokens</th><th>Model</th><th>User</th><th><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${data.runs.map((r) => html`<${StoredRun} key=${r.run} run=${r} own=${known.find((q) => q.run === r.run)} onCancel=${cancel} />`)}</tbody></table></div>`)}
    <div class="actions"><button onClick=${refresh}>Refresh</button>
      ${data?.next && html`<button onClick=${() => setCursors([...cursors, data.next])}>More</button>`}</div>
  </section>`;
}

// StoredRun is a row of Stored. own is the question of this tab with the run.
function StoredRun({ run: r, own, onCancel }) {
  const retained = own || r.state === 'running' || Date.now() - Date.parse(r.updated_at) < RETAINED;
  const question = r.query || own?.query;
  const declined = own && r.state === 'done' && outcome(own) !== STATES.done;
  return html`<tr>
    <td class="run">${retained ? html`<a class="id" title=${r.run} href=${link(['runs', r.run])}>${r.run}</a>` :
      html`<span class="id" title=${r.run}>${r.run}</span> <span class="small muted">The answer is no longer retained.</span>`}</td>
    <td class="text lead">${question || (r.usage && html`<span class="muted">calls of tools only, such as an estate read</span>`)}</td>
    <td><span class=${`badge ${BADGES[r.state] || ''}`}>${STATES[r.state]}</span>
      ${declined && html` <span class="badge warn">${outcome(own)}</span>`}
      ${r.state === 'failed' && r.code && html` <a href=${`/docs/errors#${r.code}`}><code>${r.code}</code></a>`}</td>
    <td class="short">${time(r.started_at)}</td>
    <td class="figure">${r.usage && duration(r.duration_ms || 0)}</td>
    <td class="figure" data-unit="tokens">${r.usage && format(r.usage.prompt_tokens + r.usage.answer_tokens)}</td>
    <td>${r.model}</td>
    <td>${r.user}</td>
    <td>${r.state === 'running' && html`<button onClick=${() => onCancel(r.run)} aria-label=${`Cancel ${r.run}`}>Cancel</button>`}</td>
  </tr>`;
}
