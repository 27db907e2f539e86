// Runs of analyses: those of this tab, and any other by its name.
import { useEffect, useState } from './hooks.js';
import { can } from './api.js';
import { Question, STATES } from './ask.js';
import { open, questions } from './questions.js';
import { link, navigate } from './router.js';
import { useStore } from './store.js';
import { Empty, Field, html, Page } from './ui.js';

export function Runs({ run }) {
  const list = useStore(questions);
  const [text, setText] = useState(run || '');
  const [name, setName] = useState();
  useEffect(() => { setName(run && can('analyze') ? open(run) : undefined); }, [run]);
  const shown = list.find((q) => q.id === name);
  const submit = (e) => {
    e.preventDefault();
    if (text.trim()) navigate(link(['runs', text.trim()]));
  };
  return html`<${Page} title="Runs" subtitle="A run can be followed, resumed and canceled on any edge until two minutes after its end.">
    ${!can('analyze') && html`<div class="notice warn">Your role does not permit analyses.</div>`}
    <form class="inline" onSubmit=${submit}><${Field} label="Run" hint="the response header Cairn-Run of an analysis"><input id="run" spellcheck=${false} disabled=${!can('analyze')} value=${text} onInput=${(e) => setText(e.target.value)} /></${Field}>
      <button class="primary" disabled=${!can('analyze')}>Follow</button></form>
    ${shown && html`<${Question} question=${shown} />`}
    <section><h2>Runs of this tab</h2>
      ${list.length === 0 ? html`<${Empty}><p>No analysis was started or followed in this tab.</p></${Empty}>` : html`<div class="table-wrap" tabindex="0" role="region" aria-label="Runs of this tab"><table>
        <thead><tr><th>Run</th><th>Question</th><th>State</th><th>Began</th></tr></thead>
        <tbody>${[...list].reverse().map((q) => html`<tr key=${q.id}><td>${q.run ? html`<a class="id" href=${link(['runs', q.run])}>${q.run}</a>` : html`<span class="muted">none yet</span>`}</td>
          <td class="text">${q.query ? html`<a href=${link(['ask', q.id])}>${q.query}</a>` : ''}</td><td>${STATES[q.state]}</td><td>${new Date(q.began).toLocaleTimeString()}</td></tr>`)}</tbody></table></div>`}
    </section>
  </${Page}>`;
}
