// A renderer of the Markdown of answers and instructions. It builds elements, never HTML:
// markup in the text stays text, there are no images, and links have http or https.
import { html } from './ui.js';

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' };

const plainText = (text) => text;

// Markdown shows the text; leaf may replace each piece of plain text.
export function Markdown({ text, leaf = plainText }) { return html`<div class="markdown">${blocks(text.replace(/\r\n?/g, '\n').split('\n'), leaf, 0)}</div>`; }

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const QUOTE = /^ {0,3}> ?/;
const DELIMITER = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const MAX_DEPTH = 8; // of nested lists and quotes

function blocks(lines, leaf, depth) {
  const out = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    let match;
    if (line.trim() === '') {
      i++;
    } else if ((match = FENCE.exec(line))) {
      const end = lines.findIndex((l, n) => n > i && l.trim().startsWith(match[1]));
      const stop = end < 0 ? lines.length : end;
      out.push(html`<pre tabindex="0"><code>${leaf(lines.slice(i + 1, stop).join('\n'))}</code></pre>`);
      i = stop + 1;
    } else if ((match = HEADING.exec(line))) {
      out.push(heading(match[1].length, inline(match[2], leaf)));
      i++;
    } else if (RULE.test(line)) {
      out.push(html`<hr />`);
      i++;
    } else if (QUOTE.test(line) && depth < MAX_DEPTH) {
      const start = i;
      while (i < lines.length && QUOTE.test(lines[i])) i++;
      out.push(html`<blockquote>${blocks(lines.slice(start, i).map((l) => l.replace(QUOTE, '')), leaf, depth + 1)}</blockquote>`);
    } else if (ITEM.test(line) && depth < MAX_DEPTH) {
      const [element, next] = list(lines, i, leaf, depth);
      out.push(element);
      i = next;
    } else if (line.includes('|') && i + 1 < lines.length && DELIMITER.test(lines[i + 1]) && cells(line).length === cells(lines[i + 1]).length) {
      const start = i;
      for (i += 2; i < lines.length && lines[i].includes('|') && lines[i].trim(); i++);
      out.push(table(lines.slice(start, i), leaf));
    } else {
      const start = i;
      for (i++; i < lines.length && lines[i].trim() && !starts(lines[i]); i++);
      out.push(html`<p>${inline(lines.slice(start, i).join('\n'), leaf)}</p>`);
    }
  }
  return out;
}

// starts reports whether a line ends the paragraph before it.
function starts(line) { return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line); }

// Headings begin at level 3: the page has those of levels 1 and 2.
function heading(level, content) { return level === 1 ? html`<h3>${content}</h3>` : level === 2 ? html`<h4>${content}</h4>` : html`<h5>${content}</h5>`; }

function list(lines, start, leaf, depth) {
  const ordered = /\d/.test(ITEM.exec(lines[start])[2]);
  const items = [];
  let i = start;
  while (i < lines.length) {
    const match = ITEM.exec(lines[i]);
    if (!match || /\d/.test(match[2]) !== ordered) break;
    const indent = match[1].length + match[2].length + Math.min(match[3].length, 4);
    const body = [match[4]];
    for (i++; i < lines.length; i++) {
      const blank = lines[i].trim() === '';
      const continued = lines[i].startsWith(' '.repeat(Math.min(indent, 2)));
      if (blank && !(i + 1 < lines.length && lines[i + 1].startsWith('  '))) break;
      if (!blank && !continued) break;
      body.push(lines[i].slice(Math.min(indent, lines[i].length - lines[i].trimStart().length)));
    }
    while (i < lines.length && lines[i].trim() === '' && i + 1 < lines.length && ITEM.test(lines[i + 1])) i++;
    const simple = body.slice(1).every((l) => l.trim() && !starts(l));
    items.push(html`<li>${simple ? inline(body.join('\n'), leaf) : blocks(body, leaf, depth + 1)}</li>`);
  }
  return [ordered ? html`<ol start=${parseInt(ITEM.exec(lines[start])[2], 10)}>${items}</ol>` : html`<ul>${items}</ul>`, i];
}

// cells divides a row of a table at bars that are not escaped.
function cells(row) { return row.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '').split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, '|')); }

function table(rows, leaf) {
  const align = cells(rows[1]).map((c) => (/^-+:$/.test(c) ? 'right' : ''));
  const row = (line, Cell) => cells(line).slice(0, align.length).map((c, i) => (Cell === 'th' ? html`<th class=${align[i]}>${inline(c, leaf)}</th>` : html`<td class=${align[i]}>${inline(c, leaf)}</td>`));
  return html`<div class="table-wrap" tabindex="0" role="region" aria-label="Table"><table><thead><tr>${row(rows[0], 'th')}</tr></thead>
    <tbody>${rows.slice(2).map((r) => html`<tr>${row(r, 'td')}</tr>`)}</tbody></table></div>`;
}

const INLINE = [
  ['escape', /\\([!-/:-@[-`{-~])/y],
  ['break', /(?: {2,}|\\)\n/y],
  ['code', /(`+)([^`]|[^`][\s\S]{0,5000}?[^`])\1(?!`)/y],
  ['link', /!?\[((?:[^[\]\\]|\\.)*)\]\(\s*<?((?:[^\s()<>\\]|\\.|\([^\s()]*\))*)>?(?:\s+"[^"]*")?\s*\)/y],
  ['autolink', /<(https?:\/\/[^\s<>]{1,2000})>/y],
  ['strong', /(\*\*|__)(?=\S)([\s\S]{0,5000}?\S)\1/y],
  ['emphasis', /([*_])(?=[^\s*_])([^*_]{0,5000}?[^\s*_])\1(?![\w*])/y],
  ['entity', /&(amp|lt|gt|quot|nbsp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});/y],
];

// inline returns the content of a block.
function inline(text, leaf) {
  const out = [];
  let plain = '';
  const flush = () => {
    if (plain) out.push(leaf(plain));
    plain = '';
  };
  for (let at = 0; at < text.length;) {
    const found = next(text, at);
    if (!found) {
      plain += text[at++];
      continue;
    }
    const [name, match] = found;
    at += match[0].length;
    if (name === 'escape') {
      plain += match[1];
    } else if (name === 'entity') {
      plain += entity(match[1]);
    } else {
      flush();
      out.push(element(name, match, leaf));
    }
  }
  flush();
  return out;
}

function next(text, at) {
  if (/[\w.,;:() ]/.test(text[at]) && text[at] !== '_' && text[at] !== ' ') return undefined;
  for (const [name, pattern] of INLINE) {
    if (name === 'emphasis' && text[at] === '_' && /\w/.test(text[at - 1] || '')) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) return [name, match];
  }
  return undefined;
}

function element(name, match, leaf) {
  switch (name) {
    case 'break': return html`<br />`;
    case 'code': return html`<code>${leaf(match[2])}</code>`;
    case 'strong': return html`<strong>${inline(match[2], leaf)}</strong>`;
    case 'emphasis': return html`<em>${inline(match[2], leaf)}</em>`;
    case 'autolink': return anchor(match[1], match[1]);
    default: return anchor(match[2].replace(/\\(.)/g, '$1'), inline(match[1], leaf));
  }
}

// anchor returns a link if the address has http or https, and the content otherwise.
function anchor(address, content) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return content;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return content;
  return html`<a href=${url.href} rel="noopener noreferrer nofollow" target="_blank">${content}</a>`;
}

function entity(name) {
  if (name[0] !== '#') return ENTITIES[name];
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
}
