// An answer of an analysis: the calls of tools with charts, and the text with its figures
// linked to the results that support them.
import { useState } from './hooks.js';
import { Bar, format, html, Json, plural, Problem, reveal } from './ui.js';
import { Markdown } from './markdown.js';

const MAX_BARS = 12;

// parts returns, for each piece of plain text of a Markdown text, the positions of figures:
// [[{start, end, figure}, …], …]. Figures are in the order of the text.
export function parts(text, figures) {
  const pieces = [];
  Markdown({ text, leaf: (piece) => { pieces.push(piece); return piece; } });
  const found = pieces.map(() => []);
  let piece = 0;
  let offset = 0;
  for (const figure of figures) {
    for (let n = piece, from = offset; n < pieces.length; n++, from = 0) {
      const start = locate(pieces[n], figure.text, from);
      if (start < 0) continue;
      found[n].push({ start, end: start + figure.text.length, figure });
      piece = n;
      offset = start + figure.text.length;
      break;
    }
  }
  return found;
}


// locate returns the position of a number in text that is not a part of a longer one; -1: none.
function locate(text, number, from) {
  for (let at = text.indexOf(number, from); at >= 0; at = text.indexOf(number, at + 1)) {
    const before = text.slice(0, at);
    const after = text.slice(at + number.length);
    if (!/[\p{L}\d]$|\d[.,]$/u.test(before) && !/^\d|^[.,]\d/.test(after)) return at;
  }
  return -1;
}

export function Answer({ id, progress, running }) {
  const { text, direct, figures, calls, usage } = progress;
  const answer = direct?.text || text;
  const flagged = figures?.filter((f) => f.flagged) || [];
  return html`
    ${calls.length > 0 && html`<ol class="calls">${calls.map((c) => html`<${Call} key=${c.id} of=${id} call=${c} />`)}</ol>`}
    ${answer && html`<div class=${`prose answer${running ? ' running' : ''}`}><${Text} of=${id} text=${answer} figures=${figures || []} /></div>`}
    ${direct && html`<p class="notice warn">The rendering agent did not respond (<code>${direct.code}</code> ${direct.reason}): this is the plain answer.</p>`}
    ${figures && figures.length > 0 && html`<p class=${`proof ${flagged.length ? 'bad' : 'good'}`}>${flagged.length ?
      `${plural(flagged.length, 'figure is', 'figures are')} not supported by any result: ${flagged.map((f) => f.text).join(', ')}` :
      `Every figure is supported by a result of a tool call or by the question.`}</p>`}
    ${usage && html`<p class="small muted">${plural(usage.tool_calls, 'tool call')}, ${plural(usage.prompt_tokens + usage.answer_tokens, 'token')}</p>`}
    <${Problem} error=${progress.error} />`;
}

function Text({ of, text, figures }) {
  const found = figures.length ? parts(text, figures) : [];
  let n = 0;
  const leaf = (piece) => {
    const marks = found[n++];
    if (!marks?.length) return piece;
    const out = [];
    let at = 0;
    for (const { start, end, figure } of marks) {
      out.push(piece.slice(at, start), html`<${Figure} of=${of} figure=${figure} />`);
      at = end;
    }
    out.push(piece.slice(at));
    return out;
  };
  return Markdown({ text, leaf });
}

const FROM = { value: 'a value of a result', difference: 'the difference of two values', share: 'the ratio of two values', question: 'from the question' };

function Figure({ of, figure }) {
  const source = figure.sources?.[0];
  if (figure.flagged) return html`<mark class="unproven" title="No result supports this figure">${figure.text}<span class="hidden"> (no result supports this figure)</span></mark>`;
  if (!source) return html`<span class="given" title=${FROM[figure.from]}>${figure.text}</span>`;
  const go = () => reveal(`row-${of}-${source.tool_call_id}${source.pointer}`) || reveal(`value-${of}-${source.tool_call_id}${source.pointer}`);
  return html`<button type="button" class="figure-link" title=${`${FROM[figure.from] || figure.from}: show it`} onClick=${go}>${figure.text}</button>`;
}

function Call({ of, call: { id, name, input, result } }) {
  const failed = result?.error !== undefined;
  const charted = name === 'compute_stats' && result?.groups && Object.keys(result.groups).length > 0;
  return html`<li class="card call">
    <p class="call-head"><code>${name}</code> <span class="muted">${summary(name, input)}</span>
      ${result === undefined ? html`<span class="badge quiet">running</span>` : failed ? html`<span class="badge bad">refused</span>` : null}</p>
    ${failed && html`<p class="small">${typeof result.error === 'string' ? result.error : JSON.stringify(result.error)}</p>`}
    ${charted && html`<${Chart} of=${of} id=${id} input=${input} result=${result} />`}
    ${!charted && typeof result?.total === 'number' && html`<p class="total" id=${`row-${of}-${id}/total`}>${format(result.total)}</p>`}
    <details><summary>Arguments and result<span class="hidden"> of ${name}</span></summary><${Json} value=${input} />
      ${result !== undefined && html`<${Json} value=${result} prefix=${`value-${of}-${id}`} />`}</details>
  </li>`;
}

function summary(name, input) {
  if (!input || typeof input !== 'object') return '';
  const { data_key: array, group_by: by, metrics, filter } = input;
  const conditions = filter && typeof filter === 'object' ? Object.keys(filter).length : 0;
  if (name !== 'compute_stats') return array;
  return [metrics?.join?.(', ') || 'count', 'of', array, by && `by ${by}`, conditions > 0 && `with ${plural(conditions, 'condition')}`].filter(Boolean).join(' ');
}

function Chart({ of, id, input, result }) {
  const metrics = { [input.metrics?.[0] || 'count']: { ...result, pointer: '' } };
  for (const [name, m] of Object.entries(result.metrics || {})) metrics[name] = { ...m, pointer: `/metrics/${escape(name)}` };
  const names = Object.keys(metrics);
  const [metric, setMetric] = useState(names[0]);
  const [all, setAll] = useState(false);
  const { groups, total, pointer } = metrics[metric];
  const rows = Object.entries(groups).sort(([, a], [, b]) => (Number(b) || 0) - (Number(a) || 0));
  const shown = all ? rows : rows.slice(0, MAX_BARS);
  const largest = Math.max(...rows.map(([, v]) => Math.abs(Number(v) || 0)), 0);
  return html`<div class="chart">
    ${names.length > 1 && html`<div class="metric"><label for=${`metric-${of}-${id}`}>Metric</label> <select id=${`metric-${of}-${id}`} value=${metric} onChange=${(e) => setMetric(e.target.value)}>${names.map((n) => html`<option>${n}</option>`)}</select></div>`}
    <table><caption class="hidden">${metric} by ${input.group_by}</caption><thead class="hidden"><tr><th>${input.group_by}</th><th>Bar</th><th>${metric}</th></tr></thead>
      <tbody>${shown.map(([name, value]) => html`<tr key=${name} id=${`row-${of}-${id}${pointer}/groups/${escape(name)}`}><th scope="row">${name}</th>
        <td class="bar-cell"><${Bar} share=${largest ? Math.abs(Number(value) || 0) / largest : 0} /></td><td class="figure">${value === null ? 'none' : format(value)}</td></tr>`)}</tbody>
      ${total !== undefined && html`<tfoot><tr id=${`row-${of}-${id}${pointer}/total`}><th scope="row">Total</th><td></td><td class="figure">${total === null ? 'none' : format(total)}</td></tr></tfoot>`}</table>
    ${rows.length > MAX_BARS && html`<button class="link" onClick=${() => setAll(!all)}>${all ? 'Show fewer' : `Show all ${rows.length}`}</button>`}
    ${result.truncated && html`<p class="small muted">The ${rows.length} largest of ${format(result.group_count)} groups.</p>`}
  </div>`;
}

const escape = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');
