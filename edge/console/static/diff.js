// The difference of two texts by lines, and of two records by fields.

const MAX_CELLS = 4_000_000; // of the table of common lines
const CONTEXT = 3; // equal lines shown around a change

// lines returns the lines of both texts: {op: ' ' | '-' | '+', text}.
export function lines(before, after) {
  const a = before === '' ? [] : before.split('\n');
  const b = after === '' ? [] : after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = changed(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (list) => list.map((text) => ({ op: ' ', text }));
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))];
}

// changed returns a longest common subsequence of lines with the others between.
function changed(a, b) {
  const removed = (list) => list.map((text) => ({ op: '-', text }));
  const added = (list) => list.map((text) => ({ op: '+', text }));
  if (a.length * b.length > MAX_CELLS || !a.length || !b.length) return [...removed(a), ...added(b)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const out = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      out.push({ op: ' ', text: a[i++] });
      j++;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      out.push({ op: '-', text: a[i++] });
    } else {
      out.push({ op: '+', text: b[j++] });
    }
  }
  return [...out, ...removed(a.slice(i)), ...added(b.slice(j))];
}

// shorten replaces equal lines far from a change by {op: '…', text: their number}.
export function shorten(list) {
  const near = list.map((_, i) => list.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((l) => l.op !== ' '));
  const out = [];
  for (let i = 0; i < list.length; i++) {
    if (near[i]) {
      out.push(list[i]);
      continue;
    }
    const from = i;
    while (i + 1 < list.length && !near[i + 1]) i++;
    out.push({ op: '…', text: String(i - from + 1) });
  }
  return out;
}

const asText = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2));

// fields returns the fields that differ: {name, op: 'added' | 'removed' | 'changed', lines}.
export function fields(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).map((name) => ({
    name,
    op: before[name] === undefined ? 'added' : after[name] === undefined ? 'removed' : 'changed',
    lines: shorten(lines(asText(before[name]), asText(after[name]))),
  }));
}
