// The Markdown of answers and instructions, parsed by markdown-it. It becomes elements, never HTML:
// markup in the text stays text, there are no images, and links have http or https.
import { h } from './preact.js';
import { useState } from './hooks.js';
import { html } from './ui.js';
import MarkdownIt from './markdown-it.js';

const MAX_NESTING = 20; // levels of elements; a list has two

// The rules that are disabled hide text: the address of an image, and a definition without a link.
const parser = new MarkdownIt({ maxNesting: MAX_NESTING }).disable(['image', 'reference']);
parser.validateLink = (address) => /^https?:\/\//i.test(address);

// markdown-it omits blocks of more levels than maxNesting; these are paragraphs instead.
const paragraph = parser.block.ruler.getRules('').at(-1);
parser.block.ruler.before('table', 'nesting', (state, ...lines) => state.level >= MAX_NESTING - 2 && paragraph(state, ...lines));

const FOLDED = 15; // items of a list that are shown at first

// List shows the first items of a long list.
function List({ tag, start, items }) {
  const [all, setAll] = useState(items.length <= FOLDED);
  return html`<${tag} start=${start}>${all ? items : items.slice(0, FOLDED)}</${tag}>
    ${!all && html`<button class="link" onClick=${() => setAll(true)}>Show all ${items.length}</button>`}`;
}

const plainText = (text) => text;

// Markdown shows the text; leaf may replace each piece of plain text.
export function Markdown({ text, leaf = plainText }) { return html`<div class="markdown">${elements(parser.parse(text, {}), leaf)}</div>`; }

// elements returns the content of a list of tokens, in which an element begins and ends with one.
function elements(tokens, leaf) {
  const open = [{ content: [] }];
  for (const token of tokens) {
    if (token.nesting === 1) {
      open.push({ token, content: [] });
    } else {
      const node = token.nesting === 0 ? single(token, leaf) : element(open.pop());
      open.at(-1).content.push(node);
    }
  }
  return open[0].content;
}

function single(token, leaf) {
  switch (token.type) {
    case 'inline': return elements(token.children, leaf);
    case 'code_inline': return html`<code>${leaf(token.content)}</code>`;
    case 'fence': case 'code_block': return html`<pre tabindex="0"><code>${leaf(token.content.replace(/\n$/, ''))}</code></pre>`;
    case 'softbreak': return '\n';
    default: return token.tag ? h(token.tag) : leaf(token.content);
  }
}

function element({ token, content }) {
  switch (token.tag) {
    case 'a': return html`<a href=${token.attrGet('href')} rel="noopener noreferrer nofollow" target="_blank">${content}</a>`;
    case 'h1': return html`<h3>${content}</h3>`; // the page has the headings of levels 1 and 2
    case 'h2': return html`<h4>${content}</h4>`;
    case 'h3': case 'h4': case 'h5': case 'h6': return html`<h5>${content}</h5>`;
    case 'ol': case 'ul': return html`<${List} tag=${token.tag} start=${token.attrGet('start')} items=${content} />`;
    case 'table': return html`<div class="table-wrap" tabindex="0" role="region" aria-label="Table"><table>${content}</table></div>`;
    case 'th': case 'td': return h(token.tag, { class: token.attrGet('style') === 'text-align:right' ? 'right' : undefined }, content);
    default: return token.hidden ? content : h(token.tag, null, content);
  }
}
