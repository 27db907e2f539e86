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
  return html`<li class="card call">
    <p class="call-head"><code>${name}</code> <span class="muted">${summary(name, input)}</span>
      ${result === undefined ? html`<span class="badge quiet">running</span>` : failed ? html`<span class="badge bad">refused</span>` : null}</p>
    ${failed && html`<p class="small">${typeof result.error === 'string' ? result.error : JSON.stringify(result.error)}</p>`}
    ${name === 'compute_stats' && result && !failed && html`<${Figures} of=${of} id=${id} input=${input} result=${result} />`}
    <details><summary>Arguments and result<span class="hidden"> of ${name}</span></summary><${Json} value=${input} />
      ${result !== undefined && html`<${Json} value=${result} prefix=${`value-${of}-${id}`} />`}</details>
  </li>`;
}

const fieldsOf = ({ group_by: by }) => (Array.isArray(by) ? by : by ? [by] : []);

function summary(name, input) {
  if (!input || typeof input !== 'object') return '';
  const { data_key: array, metrics, filter, top } = input;
  const conditions = filter && typeof filter === 'object' ? Object.keys(filter).length : 0;
  const fields = fieldsOf(input);
  if (name !== 'compute_stats') return array;
  return [metrics?.join?.(', ') || 'count', 'of', array, fields.length > 0 && `by ${fields.join(', ')}`, conditions > 0 && `with ${plural(conditions, 'condition')}`,
    top?.by && `(top ${top.limit || 1} by ${top.by}${top.order === 'asc' ? ', ascending' : ''})`].filter(Boolean).join(' ');
}

const written = (value, unit) => (value === null || value === undefined ? 'none' : typeof value === 'number' && unit ? `${format(value)} ${unit}` : format(value));

// metricsOf returns the metrics of a result, the first one first: [{name, pointer, groups, total, unit}].
function metricsOf(input, result) {
  const further = result.metrics || {};
  const first = [input.metrics?.[0]].find((name) => name && !(name in further)) || 'count'; // which the tool puts before a text
  const others = Object.entries(further).filter(([name]) => name !== first);
  return [{ ...result, name: first, pointer: '' }, ...others.map(([name, m]) => ({ ...m, name, pointer: `/metrics/${escape(name)}` }))];
}

// Figures shows a result of compute_stats.
function Figures({ of, id, input, result }) {
  const { groups, rows, names, share, over_groups: over } = result;
  const prefix = `row-${of}-${id}`;
  const charted = groups && Object.keys(groups).length > 0;
  const metrics = metricsOf(input, result);
  const grouped = charted || rows?.length > 0;
  return html`
    ${charted && html`<${Chart} prefix=${prefix} by=${fieldsOf(input).join(', ')} metrics=${metrics} requested=${input.metrics?.[0]} />`}
    ${rows?.length > 0 && html`<${Rows} prefix=${prefix} fields=${fieldsOf(input)} metrics=${metrics} rows=${rows} />`}
    ${grouped && result.truncated && html`<p class="small muted">The ${charted ? Object.keys(groups).length : rows.length} largest of ${format(result.group_count)} groups.</p>`}
    ${!grouped && typeof result.total === 'number' && html`<p class="total" id=${`${prefix}/total`}>${written(result.total, result.unit)}</p>`}
    ${!grouped && metrics.slice(1).map((m) => html`<p class="small">${m.name}: <strong class="figure" id=${`${prefix}${m.pointer}/total`}>${written(m.total, m.unit)}</strong></p>`)}
    ${share && html`<p class="small"><strong class="figure" id=${`${prefix}/share/percent`}>${share.percent === null ? 'none' : `${format(share.percent, 2)} %`}</strong>: <span id=${`${prefix}/share/records`}>${format(share.records)}</span> of <span id=${`${prefix}/share/of`}>${plural(share.of, 'record')}</span></p>`}
    ${over && html`<p class="small">Over the groups: ${Object.entries(over).map(([figure, value], i) => html`${i > 0 && ', '}${figure} <strong class="figure" id=${`${prefix}/over_groups/${figure}`}>${written(value, figure === 'count' ? '' : result.unit)}</strong>`)}</p>`}
    ${names?.length > 0 && html`<${Names} prefix=${prefix} input=${input} result=${result} />`}`;
}

function Chart({ prefix, by, metrics, requested }) {
  const [metric, setMetric] = useState((metrics.find((m) => m.name === requested) || metrics[0]).name);
  const [all, setAll] = useState(false);
  const { groups, total, unit, pointer } = metrics.find((m) => m.name === metric);
  const rows = Object.entries(groups).sort(([, a], [, b]) => (typeof b === 'string' ? b.localeCompare(a) : (Number(b) || 0) - (Number(a) || 0)));
  const shown = all ? rows : rows.slice(0, MAX_BARS);
  const largest = Math.max(...rows.map(([, v]) => size(v)), 0);
  return html`<div class="chart">
    ${metrics.length > 1 && html`<div class="metric"><label for=${`metric-${prefix}`}>Metric</label> <select id=${`metric-${prefix}`} value=${metric} onChange=${(e) => setMetric(e.target.value)}>${metrics.map((m) => html`<option>${m.name}</option>`)}</select></div>`}
    <table><caption class="hidden">${metric} by ${by}</caption><thead class="hidden"><tr><th scope="col">${by}</th><th scope="col">Bar</th><th scope="col">${metric}</th></tr></thead>
      <tbody>${shown.map(([name, value]) => html`<tr key=${name} id=${`${prefix}${pointer}/groups/${escape(name)}`}><th scope="row">${name}</th>
        <td class="bar-cell">${typeof value !== 'string' && html`<${Bar} share=${largest ? size(value) / largest : 0} />`}</td><td class="figure">${written(value, unit)}</td></tr>`)}</tbody>
      ${total !== undefined && html`<tfoot><tr id=${`${prefix}${pointer}/total`}><th scope="row">Total</th><td></td><td class="figure">${written(total, unit)}</td></tr></tfoot>`}</table>
    <${More} all=${all} setAll=${setAll} count=${rows.length} />
  </div>`;
}

const size = (value) => Math.abs(Number(value) || 0); // of a bar

function More({ all, setAll, count }) { return count > MAX_BARS && html`<button class="link" onClick=${() => setAll(!all)}>${all ? 'Show fewer' : `Show all ${count}`}</button>`; }

// Rows shows the groups of several fields.
function Rows({ prefix, fields, metrics, rows }) {
  const body = rows.map((row, i) => ({ labels: row.by, cells: metrics.map(({ name, unit }, n) => (n === 0 ? { id: `${prefix}/rows/${i}/value`, text: written(row.value, unit) } :
    { id: `${prefix}/rows/${i}/metrics/${escape(name)}`, text: written(row.metrics?.[name], unit) })) }));
  const total = metrics.map(({ pointer, total: value, unit }) => ({ id: `${prefix}${pointer}/total`, text: written(value, unit) }));
  return html`<${Table} label=${`Groups by ${fields.join(', ')}`} heads=${fields} figures=${metrics.map((m) => m.name)} rows=${body} total=${total} />`;
}

// Names shows records, with the value that orders them if there is one.
function Names({ prefix, input, result: { names, names_unit: unit, more_names: more } }) {
  const valued = names.some((n) => n.value !== undefined);
  const rows = names.map(({ name, value }, i) => ({ labels: [name], cells: valued ? [{ id: `${prefix}/names/${i}/value`, text: written(value, unit) }] : [] }));
  return html`<${Table} label="Names of records" heads=${[input.names?.field || 'name']} figures=${valued ? [input.top?.by || 'value'] : []} rows=${rows} />
    ${more > 0 && html`<p class="small muted">… ${format(more)} more.</p>`}`;
}

function Table({ label, heads, figures, rows, total }) {
  const [all, setAll] = useState(false);
  const cells = (list) => list.map(({ id, text }) => html`<td class="figure" id=${id}>${text}</td>`);
  return html`<div class="chart"><div class="table-wrap" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}${figures.map((head) => html`<th scope="col" class="figure">${head}</th>`)}</tr></thead>
    <tbody>${(all ? rows : rows.slice(0, MAX_BARS)).map((row) => html`<tr>${row.labels.map((text) => html`<th scope="row">${text}</th>`)}${cells(row.cells)}</tr>`)}</tbody>
    ${total && html`<tfoot><tr><th scope="row" colspan=${heads.length}>Total</th>${cells(total)}</tr></tfoot>`}</table></div>
    <${More} all=${all} setAll=${setAll} count=${rows.length} /></div>`;
}

const escape = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');
