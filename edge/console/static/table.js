// A table of figures: sorted, filtered, folded, copied, and saved as CSV.
import { useMemo, useState } from './hooks.js';
import { acknowledge, format, html, plural } from './ui.js';

const FOLDED = 15; // rows that are shown at first
const STEP = 100; // rows that are shown with the next click: a browser sorts more of them too slowly

// Figures shows rows of labels and figures. columns: {name, unit, numeric (a figure)}. rows: {cells: [{value, id}]}, in
// the initial order. total: the cells of the last columns over all groups, whose number is groups. label names the table
// and the saved file. plain: without bars.
export function Figures({ label, columns, rows, total, groups, plain }) {
  const [sort, setSort] = useState();
  const [filter, setFilter] = useState('');
  const [limit, setLimit] = useState(FOLDED);
  const listed = useMemo(() => sortRows(rows.filter(({ cells }) => matches(cells, columns, filter)), sort), [rows, columns, filter, sort]);
  const time = useMemo(() => timesOf(columns, rows), [columns, rows]);
  const charted = plain ? undefined : chartedColumn(columns, rows, sort?.column);
  const largest = charted === undefined ? 0 : Math.max(...rows.map((row) => row.cells[charted].value));
  const order = (column) => setSort((s) => (s?.column === column ? { column, descending: !s.descending } : { column, descending: columns[column].numeric }));
  const shown = listed.slice(0, limit);
  return html`<div class="figures">
    ${time && charted !== undefined && html`<${Timeline} times=${time} values=${rows.map((row) => row.cells[charted].value)} unit=${columns[charted].unit} />`}
    <div class="actions">${rows.length > FOLDED && html`<input type="search" aria-label=${`Filter ${label}`} placeholder="Filter" value=${filter} onInput=${(e) => setFilter(e.target.value)} />`}
      ${filter && html`<span class="small muted" role="status">${format(listed.length)} of ${plural(rows.length, 'row')}</span>`}
      ${navigator.clipboard && html`<button class="link" onClick=${() => copy(text(columns, listed, '\t'))}>Copy</button>`}
      <button class="link" onClick=${() => save(`${label}.csv`, text(columns, listed, ','))}>Save as CSV</button></div>
    <div class="table-wrap" tabindex="0" role="group" aria-label=${label}><table>
      <thead><tr>${columns.map((column, i) => html`<th scope="col" class=${column.numeric ? 'figure' : ''} aria-sort=${sort?.column === i ? (sort.descending ? 'descending' : 'ascending') : undefined}>
        <button class="sort" onClick=${() => order(i)}>${column.name}</button></th>`)}${charted !== undefined && !time && html`<td class="bar-cell"></td>`}</tr></thead>
      <tbody>${shown.map((row) => html`<tr key=${row.cells[0].id || row.cells.map((c) => c.value).join('\n')}>${row.cells.map((c, i) => (columns[i].numeric ? html`<td class="figure" id=${c.id}>${written(c.value, columns[i].unit)}</td>` : html`<th scope="row">${c.value}</th>`))}
        ${charted !== undefined && !time && html`<td class="bar-cell" style=${{ backgroundSize: `max(1px, ${100 * row.cells[charted].value / largest}%) 10px` }}></td>`}</tr>`)}</tbody>
      ${total && html`<tfoot><tr><th scope="row" colspan=${columns.length - total.length}>All ${plural(groups, 'group')}</th>${total.map((c, i) => html`<td class="figure" id=${c.id}>${written(c.value, columns[columns.length - total.length + i].unit)}</td>`)}${charted !== undefined && !time && html`<td class="bar-cell"></td>`}</tr></tfoot>`}
    </table></div>
    ${listed.length > FOLDED && html`<p>${limit < listed.length && html`<button class="link" onClick=${() => setLimit(limit + STEP)}>${limit + STEP < listed.length ? `Show ${STEP} more of ${format(listed.length)}` : `Show all ${format(listed.length)}`}</button>`}
      ${' '}${limit > FOLDED && html`<button class="link" onClick=${() => setLimit(FOLDED)}>Show fewer</button>`}</p>`}
  </div>`;
}

// written returns a value for readers.
export const written = (value, unit) => (value === null || value === undefined ? 'none' : typeof value === 'number' && unit ? `${format(value)} ${unit}` : format(value));

function matches(cells, columns, filter) {
  const wanted = filter.trim().toLowerCase();
  return !wanted || cells.some((c, i) => !columns[i].numeric && String(c.value).toLowerCase().includes(wanted));
}

const collator = new Intl.Collator('en', { numeric: true });

// sortRows returns the rows in the order of a column; absent values are last.
export function sortRows(rows, sort) {
  if (!sort) return rows;
  const factor = sort.descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [a.cells[sort.column].value, b.cells[sort.column].value];
    if (x === null || x === undefined || y === null || y === undefined) return (x === null || x === undefined) - (y === null || y === undefined);
    return factor * (typeof x === 'number' && typeof y === 'number' ? x - y : collator.compare(x, y));
  });
}

// chartedColumn returns the column that has bars: the selected one, or else the first figure, if its values are positive
// numbers that differ; undefined: none.
function chartedColumn(columns, rows, selected) {
  const column = columns[selected]?.numeric ? selected : columns.findIndex((c) => c.numeric);
  const values = column < 0 ? [] : rows.map((row) => row.cells[column].value);
  return values.length > 1 && values.every((v) => typeof v === 'number' && v >= 0) && values.some((v) => v !== values[0]) ? column : undefined;
}

const DATE = /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}\S*)?)?$/;

// timesOf returns the times of the rows if they have one label each, which is a date; undefined: they have others.
function timesOf(columns, rows) {
  if (rows.length < 3 || columns.filter((c) => !c.numeric).length !== 1) return undefined;
  const times = rows.map(({ cells }) => (DATE.test(cells[0].value) ? Date.parse(cells[0].value) : NaN));
  return times.some(Number.isNaN) ? undefined : times;
}

// Timeline shows figures at their times. The table has the same figures for screen readers.
function Timeline({ times, values, unit }) {
  const [first, last, largest] = [Math.min(...times), Math.max(...times), Math.max(...values)];
  const day = (time) => new Date(time).toISOString().slice(0, 10);
  return html`<figure class="timeline" aria-hidden="true"><figcaption class="small muted">0 to ${written(largest, unit)}</figcaption>
    <svg viewBox="0 0 600 100" preserveAspectRatio="none">${times.map((time, i) => {
    const x = 3 + 594 * (time - first) / (last - first || 1);
    return html`<line x1=${x} x2=${x} y1="100" y2=${100 - 100 * values[i] / (largest || 1)} />`;
  })}</svg><p class="small muted"><span>${day(first)}</span><span>${day(last)}</span></p></figure>`;
}

// text returns the rows with a separator. A label that a spreadsheet reads as a formula begins with an apostrophe (OWASP,
// CSV injection).
function text(columns, rows, separator) {
  const quote = (value) => {
    const s = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
    return /["\n\r\t,]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  };
  const head = columns.map((c) => (c.unit ? `${c.name} (${c.unit})` : c.name));
  return [head, ...rows.map((row) => row.cells.map((c) => c.value))].map((line) => `${line.map(quote).join(separator)}\n`).join('');
}

const copy = (content) => navigator.clipboard.writeText(content).then(() => acknowledge('Copied'), () => acknowledge('The browser does not permit copies'));

function save(name, content) {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name.replace(/[^\p{L}\d.]+/gu, '-');
  a.click();
  URL.revokeObjectURL(url);
}
