// Questions about an estate, answered as a stream.
import { useEffect, useRef, useState } from './hooks.js';
import { can } from './api.js';
import { link, navigate } from './router.js';
import { useStore } from './store.js';
import { Dialog, Field, format, html, Loading, Page, plural, Problem, useRequest } from './ui.js';
import { Answer } from './answer.js';
import { Figures } from './table.js';
import { ask, cancel, estate, forget, inspect, open, questions, setEstate } from './questions.js';

const MAX_ESTATE = 10 << 20; // bytes of a request
const MAX_CHIPS = 40; // arrays that are shown

export function Ask({ question }) {
  const list = useStore(questions);
  const loaded = useStore(estate);
  const [conversation, setConversation] = useState(() => list.at(-1)?.conversation || String(Date.now()));
  const [reading, setReading] = useState(false); // an estate that replaces the loaded one
  const allowed = can('analyze');
  const selected = list.find((q) => q.id === question);
  const current = selected ? selected.conversation : conversation;
  const shown = list.filter((q) => q.conversation === current);
  useEffect(() => { if (selected) document.getElementById(`question-${selected.id}`)?.scrollIntoView({ block: 'start' }); }, [question]);
  const renew = () => {
    setConversation(String(Date.now()));
    navigate(link(['ask']));
  };
  return html`<${Page} title="Ask" subtitle="Figures are computed from the estate; the model only chooses the computations." actions=${html`<button onClick=${renew}>New conversation</button>`}>
    ${!allowed && html`<div class="notice warn">Your role does not permit analyses.</div>`}
    <div class="ask">
      <div class="ask-main">
        <${Estate} key=${loaded?.name} loaded=${loaded} disabled=${!allowed} reading=${reading} setReading=${setReading} />
        ${shown.map((q) => html`<${Question} key=${q.id} question=${q} current=${q.id === question} />`)}
        <${Compose} disabled=${!allowed || !loaded || reading} conversation=${current} running=${shown.some((q) => q.state === 'running')} first=${shown.length === 0} />
      </div>
      <aside aria-label="Questions of this tab"><h2>Questions</h2>
        ${list.length === 0 ? html`<p class="muted small">The questions of this tab appear here.</p>` : html`<ul class="history">${[...list].reverse().map((q) => html`<li key=${q.id}>
          <a href=${link(['ask', q.id])} aria-current=${q.id === question ? 'true' : undefined}>${q.query || q.run}</a>
          <span class="small muted">${outcome(q)}</span></li>`)}</ul>`}
      </aside>
    </div>
  </${Page}>`;
}

// focusQuery moves the focus to the next question after the element that had it is gone.
const focusQuery = () => setTimeout(() => document.getElementById('query')?.focus({ preventScroll: true }));

// The states of a run, and of a question that was declined.
export const STATES = { running: 'Running', done: 'Done', declined: 'Declined', failed: 'Failed', canceled: 'Canceled' };

// stateOf returns the state of a question. The model offers suggestions in place of a question that it declined.
const stateOf = ({ state, progress }) => (state === 'done' && progress.suggestions?.length > 0 ? 'declined' : state);

// outcome returns the state of a question for readers.
export const outcome = (question) => STATES[stateOf(question)];

function Estate({ loaded, disabled, reading, setReading }) {
  const [editing, setEditing] = useState(!loaded);
  const [text, setText] = useState('');
  const [error, setError] = useState('');
  const [over, setOver] = useState(false);
  const [schema, setSchema] = useState(); // the array whose fields are shown
  const file = useRef();
  const request = useRef(); // the AbortController of the reading
  const cancel = () => {
    request.current?.abort();
    request.current = undefined;
    setReading(false);
  };
  useEffect(() => cancel, []);
  useEffect(() => { if (error) document.getElementById('estate')?.focus(); }, [error]);
  const take = async (name, content) => {
    cancel();
    setError('');
    const size = new Blob([JSON.stringify(content)]).size; // of the text in a request
    if (size > MAX_ESTATE - (64 << 10)) {
      setError(`An estate has at most 10 MiB as a JSON string; this has ${format(size / (1 << 20), 1)} MiB.`);
      return;
    }
    const controller = new AbortController();
    request.current = controller;
    setReading(true);
    let outline;
    try {
      outline = await inspect(content, controller.signal);
    } catch (e) {
      outline = { error: e.message };
    }
    if (controller.signal.aborted) return;
    setReading(false);
    if (!outline.arrays?.length) {
      setError(outline.error || outline.note || 'No array of records was found.');
      return;
    }
    setEstate({ name, text: content, arrays: outline.arrays.map((a) => [a.data_key, a.count]) });
    setEditing(false);
    setText('');
    focusQuery();
  };
  const readFile = async (f) => { if (f) take(f.name, await f.text()); };
  const drop = (e) => {
    e.preventDefault();
    setOver(false);
    const given = e.dataTransfer.files[0];
    if (given) readFile(given);
    else take('dropped text', e.dataTransfer.getData('text'));
  };
  if (loaded && !editing) {
    const arrays = loaded.arrays || [];
    return html`<section class="card estate" aria-label="Estate"><p><strong>${loaded.name}</strong> <span class="muted">${format(Math.ceil(loaded.text.length / 1024))} KiB</span>${' '}<button class="link" disabled=${disabled} onClick=${() => setEditing(true)}>Change the estate</button></p>
      <p class="badges">${arrays.slice(0, MAX_CHIPS).map(([key, n]) => html`<button class="badge" onClick=${() => setSchema(key)}>${key} <span class="figure">${format(n)}</span></button>`)}
        ${arrays.length > MAX_CHIPS && html`<span class="muted small">… ${format(arrays.length - MAX_CHIPS)} more</span>`}</p>
      ${schema && html`<${Schema} text=${loaded.text} array=${schema} onClose=${() => setSchema(undefined)} />`}</section>`;
  }
  const leave = () => {
    cancel();
    setError('');
    setEditing(false);
  };
  return html`<section class=${`card estate drop${over ? ' over' : ''}`} aria-label="Estate" aria-busy=${reading ? 'true' : undefined} onDragOver=${(e) => { e.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <${Field} label="Estate" hint="JSON or NDJSON with arrays of records: paste it, drop a file here, or choose one. At most 10 MiB." error=${error}>
      <textarea id="estate" class="code" rows="6" spellcheck=${false} disabled=${disabled} readonly=${reading} value=${text} placeholder='{"hosts": [{"name": "web-01", "site": "fra1"}]}' onInput=${(e) => setText(e.target.value)}></textarea></${Field}>
    <p class="summary" role="status">${reading && 'Reading the estate…'}</p>
    <div class="actions"><input ref=${file} type="file" id="estate-file" hidden accept=".json,.jsonl,.ndjson,application/json,application/x-ndjson" onChange=${(e) => readFile(e.target.files[0])} />
      <button disabled=${disabled} onClick=${() => file.current.click()}>Choose a file</button>
      ${(loaded || reading) && html`<button onClick=${loaded ? leave : cancel}>Cancel</button>`}
      <button class="primary" disabled=${disabled || !text.trim()} onClick=${() => take('pasted estate', text)}>Use this estate</button></div>
  </section>`;
}

// Schema shows the fields of an array.
function Schema({ text, array, onClose }) {
  const { data, error } = useRequest((signal) => inspect(text, signal, array), [array]);
  const columns = [{ name: 'field' }, { name: 'type' }, { name: 'present', unit: '%', numeric: true }, { name: 'values', numeric: true }, { name: 'most frequent' }];
  const frequent = (d) => d.values?.slice(0, 3).map(([value]) => value).join(', ');
  const rows = data?.details?.map((d) => ({ cells: [{ value: d.name }, { value: d.type }, { value: Math.round(100 * d.share) }, { value: d.distinct }, { value: frequent(d) }] }));
  return html`<${Dialog} title=${`Fields of ${array}`} wide onClose=${onClose}>
    ${rows ? html`<${Figures} label=${`Fields of ${array}`} columns=${columns} rows=${rows} plain />` : error || data ? html`<${Problem} error=${error || { message: data.error || data.note || 'The array has no fields.' }} />` : html`<${Loading} />`}
    <div class="actions"><button onClick=${onClose}>Close</button></div></${Dialog}>`;
}

// examplesOf returns questions about the largest arrays of an estate.
const examplesOf = (loaded) => [...(loaded?.arrays || [])].sort(([, a], [, b]) => b - a).slice(0, 3).map(([key]) => `how many ${key}?`);

function Compose({ disabled, conversation, running, first }) {
  const examples = examplesOf(useStore(estate));
  const [query, setQuery] = useState('');
  const [broad, setBroad] = useState(false);
  const start = (text) => {
    navigate(link(['ask', ask({ query: text, conversation, mode: broad ? 'broad' : undefined })]));
    focusQuery();
  };
  const submit = (e) => {
    e.preventDefault();
    if (!query.trim() || disabled || running) return;
    start(query.trim());
    setQuery('');
  };
  const keys = (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) submit(e); };
  return html`${first && !disabled && html`<div class="actions suggestions" role="group" aria-label="Questions about this estate">${examples.map((text) => html`<button key=${text} onClick=${() => start(text)}>${text}</button>`)}</div>`}
  <form class="compose card" onSubmit=${submit}>
    <label class="hidden" for="query">Question</label>
    <textarea id="query" rows="1" maxlength="10000" disabled=${disabled} value=${query} aria-describedby="query-hint" placeholder=${disabled ? 'Load an estate first' : examples[0]}
      onInput=${(e) => setQuery(e.target.value)} onKeyDown=${keys}></textarea>
    <div class="actions"><p class="hint" id="query-hint">Enter asks, Shift+Enter begins a new line.</p><label class="check"><input type="checkbox" checked=${broad} disabled=${disabled} onChange=${(e) => setBroad(e.target.checked)} /> Facts only</label>
      <button class="primary" disabled=${disabled || running || !query.trim()}>Ask</button></div>
  </form>`;
}

// progressText is announced to screen readers while an answer arrives.
function progressText(question) {
  const { state, progress } = question;
  if (state !== 'running') return outcome(question);
  if (question.lost) return 'The connection was lost. Reconnecting…';
  const waiting = progress.calls.find((c) => c.result === undefined);
  if (waiting) return `Calling ${waiting.name}…`;
  if (progress.text) return 'Answering…';
  return progress.calls.length ? `${plural(progress.calls.length, 'call')} finished, waiting for the model…` : 'Waiting for the model…';
}

// Suggestions are the questions that the model offers in place of one that it declined.
function Suggestions({ question: { conversation, state, progress } }) {
  const loaded = useStore(estate);
  const offered = progress.suggestions || []; // absent in a tab of an earlier version
  if (offered.length === 0 || !loaded || state === 'running') return null;
  return html`<div class="actions suggestions" role="group" aria-label="Suggested questions">${offered.map((query) => html`<button key=${query}
    onClick=${() => navigate(link(['ask', ask({ query, conversation })]))}>${query}</button>`)}</div>`;
}

// Again continues a run whose connection was lost, or asks its question again.
function Again({ question: { id, conversation, query, mode, run, progress, error } }) {
  const loaded = useStore(estate);
  if (run && !progress.done && error?.code !== 'AN-404') return html`<button onClick=${() => open(run)}>Resume</button>`;
  const again = () => {
    forget(id);
    navigate(link(['ask', ask({ query, conversation, mode })]));
  };
  return query && loaded && html`<button onClick=${again}>Ask again</button>`;
}

export function Question({ question, current }) {
  const { id, query, state, progress, error, run, canceling } = question;
  const running = state === 'running';
  return html`<article class=${`question${current ? ' current' : ''}`} id=${`question-${id}`} aria-label=${query || run}>
    <h2>${query || html`Run <code>${run}</code>`}</h2>
    <${Answer} id=${id} progress=${{ ...progress, error: undefined }} running=${running} declined=${stateOf(question) === 'declined'} />
    <${Problem} error=${error} />
    <${Suggestions} question=${question} />
    <div class="question-foot"><p class=${`status ${stateOf(question)}`} role="status">${canceling ? 'Canceling…' : progressText(question)}</p>
      ${!running && error && html`<${Again} question=${question} />`}
      ${running && html`<button class="danger" disabled=${canceling} onClick=${() => cancel(id)}>Cancel</button>`}
      ${run && html`<span class="small muted">Run <code>${run}</code></span>`}
      ${!running && html`<button class="link" onClick=${() => forget(id)}>Remove<span class="hidden"> this question</span></button>`}</div>
  </article>`;
}
