// An answer of an analysis: the text with its figures linked to the results that support them, and the calls of tools.
import { format, html, Json, plural, Problem, reveal } from './ui.js';
import { Markdown } from './markdown.js';
import { Figures, sortRows, written } from './table.js';

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

export function Answer({ id, progress, running, declined }) {
  const { text, direct, figures, calls, usage } = progress;
  const answer = direct?.text || text;
  const flagged = figures?.filter((f) => f.flagged) || [];
  const main = calls.findLast((c) => isGrouped(c.result))?.id; // whose table is shown
  return html`
    ${answer && html`<div class=${`prose answer${running ? ' running' : ''}${declined ? ' notice warn' : ''}`}><${Text} of=${id} text=${answer} figures=${figures || []} /></div>`}
    ${direct && html`<p class="notice warn">The rendering agent did not respond (<code>${direct.code}</code> ${direct.reason}): this is the plain answer.</p>`}
    ${figures && figures.length > 0 && html`<p class=${`proof ${flagged.length ? 'bad' : 'good'}`}>${flagged.length ?
      `${plural(flagged.length, 'figure is', 'figures are')} not supported by any result: ${flagged.map((f) => f.text).join(', ')}` :
      `Every figure is supported by a result of a tool call or by the question.`}</p>`}
    ${calls.length > 0 && html`<ol class="calls">${calls.map((c) => html`<${Call} key=${c.id} of=${id} call=${c} open=${c.id === main && !running} />`)}</ol>`}
    ${usage && html`<p class="small muted">${plural(usage.tool_calls, 'tool call')}, ${plural(usage.prompt_tokens + usage.answer_tokens, 'token')}</p>`}
    <${Problem} error=${progress.error} />`;
}

const isGrouped = (result) => Boolean(result?.rows?.length || result?.names?.length || Object.keys(result?.groups || {}).length);

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

function Call({ of, call: { id, name, input, result }, open }) {
  const failed = result?.error !== undefined;
  return html`<li class="card call"><details open=${open}>
    <summary class="call-head"><code>${name}</code> <span class="muted">${summary(name, input)}</span>
      ${result === undefined ? html`<span class="badge quiet">running</span>` : failed ? html`<span class="badge bad">refused</span>` : null}</summary>
    ${failed && html`<p class="small">${typeof result.error === 'string' ? result.error : JSON.stringify(result.error)}</p>`}
    ${name === 'compute_stats' && result && !failed && html`<${Result} of=${of} id=${id} input=${input} result=${result} />`}
    <details><summary class="small muted">Arguments and result<span class="hidden"> of ${name}</span></summary><${Json} value=${input} />
      ${result !== undefined && html`<${Json} value=${result} prefix=${`value-${of}-${id}`} />`}</details>
  </details></li>`;
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

// metricsOf returns the metrics of a result, the first one first: [{name, pointer, groups, total, unit}].
function metricsOf(input, result) {
  const further = result.metrics || {};
  const first = [input.metrics?.[0]].find((name) => name && !(name in further)) || 'count'; // which the tool puts before a text
  const others = Object.entries(further).filter(([name]) => name !== first);
  return [{ ...result, name: first, pointer: '' }, ...others.map(([name, m]) => ({ ...m, name, pointer: `/metrics/${escape(name)}` }))];
}

// Result shows a result of compute_stats.
function Result({ of, id, input, result }) {
  const { names, share, over_groups: over } = result;
  const prefix = `row-${of}-${id}`;
  const metrics = metricsOf(input, result);
  const rows = groupsOf(prefix, metrics, input, result);
  const grouped = rows.length > 0;
  const columns = [...fieldsOf(input).map((name) => ({ name })), ...metrics.map(({ name, unit }) => ({ name, unit, numeric: true }))];
  const total = metrics.some((m) => m.total !== undefined) && metrics.map((m) => ({ value: m.total, id: `${prefix}${m.pointer}/total` }));
  return html`
    ${grouped && html`<${Figures} label=${summary('compute_stats', input)} columns=${columns} rows=${rows} total=${total} groups=${Math.max(result.group_count || 0, rows.length)} />`}
    ${grouped && result.truncated && html`<p class="small muted">The ${rows.length} largest of ${format(result.group_count)} groups.</p>`}
    ${!grouped && typeof result.total === 'number' && html`<p class="total" id=${`${prefix}/total`}>${written(result.total, result.unit)}</p>`}
    ${!grouped && metrics.slice(1).map((m) => html`<p class="small">${m.name}: <strong class="figure" id=${`${prefix}${m.pointer}/total`}>${written(m.total, m.unit)}</strong></p>`)}
    ${share && html`<p class="small"><strong class="figure" id=${`${prefix}/share/percent`}>${share.percent === null ? 'none' : `${format(share.percent, 2)} %`}</strong>: <span id=${`${prefix}/share/records`}>${format(share.records)}</span> of <span id=${`${prefix}/share/of`}>${plural(share.of, 'record')}</span></p>`}
    ${over && html`<p class="small">Over the groups: ${Object.entries(over).map(([figure, value], i) => html`${i > 0 && ', '}${figure} <strong class="figure" id=${`${prefix}/over_groups/${figure}`}>${written(value, figure === 'count' ? '' : result.unit)}</strong>`)}</p>`}
    ${names?.length > 0 && html`<${Names} prefix=${prefix} input=${input} result=${result} />`}`;
}

// groupsOf returns the groups of a result as rows: labels, and the value of each metric. Groups of one field have the order
// of the first metric that was requested.
function groupsOf(prefix, metrics, input, { groups, rows }) {
  if (rows?.length > 0) {
    return rows.map((row, i) => ({ cells: [...row.by.map((value) => ({ value })), ...metrics.map(({ name }, n) => (n === 0 ? { value: row.value, id: `${prefix}/rows/${i}/value` } :
      { value: row.metrics?.[name], id: `${prefix}/rows/${i}/metrics/${escape(name)}` }))] }));
  }
  const cells = (label) => [{ value: label }, ...metrics.map((m) => ({ value: m.groups?.[label], id: `${prefix}${m.pointer}/groups/${escape(label)}` }))];
  const list = Object.keys(groups || {}).map((label) => ({ cells: cells(label) }));
  const order = 1 + Math.max(0, metrics.findIndex((m) => m.name === input.metrics?.[0]));
  return sortRows(list, { column: order, descending: true });
}

// Names shows records, with the value that orders them if there is one.
function Names({ prefix, input, result: { names, names_unit: unit, more_names: more } }) {
  const valued = names.some((n) => n.value !== undefined);
  const columns = [{ name: input.names?.field || 'name' }, ...(valued ? [{ name: input.top?.by || 'value', unit, numeric: true }] : [])];
  const rows = names.map(({ name, value }, i) => ({ cells: [{ value: name }, ...(valued ? [{ value, id: `${prefix}/names/${i}/value` }] : [])] }));
  return html`<${Figures} label="Names of records" columns=${columns} rows=${rows} />
    ${more > 0 && html`<p class="small muted">… ${format(more)} more.</p>`}`;
}

const escape = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');
