// The package of a skill as a graph: the skill, its context builders, guardrails and
// template, and the tools. Each node is a link to the record.
import { useState } from './hooks.js';
import { call, segment } from './api.js';
import { link, navigate, tenant } from './router.js';
import { Empty, Field, html, KINDS, Loading, Page, plural, Problem, RecordLink, Scope, useRequest } from './ui.js';

const NODE = { width: 236, height: 52, gap: 12, column: 336, margin: 4, heading: 26 };
const MAX_LABEL = 30; // characters of a node's id

// Rules that select a part without naming it: their edges are dashed.
const RULE = /domain|all$/;

export function PackageList() {
  const [id, setID] = useState('');
  const { data, error, loading } = useRequest(async (signal) => (await call('GET', '/skills', { query: { tenant_id: tenant(), limit: 100 }, signal })).data.skills, [tenant()]);
  const open = (e) => {
    e.preventDefault();
    if (id.trim()) navigate(link(['package', id.trim()]));
  };
  return html`<${Page} title="Packages" subtitle="What one request for a skill returns: the skill with its context builders, tools, guardrails and template.">
    <form class="inline" onSubmit=${open}><${Field} label="Skill"><input id="skill" list="skills" spellcheck=${false} placeholder="storage.volume_capacity" value=${id} onInput=${(e) => setID(e.target.value)} /></${Field}>
      <button class="primary">Show</button></form>
    <datalist id="skills">${(data || []).map((s) => html`<option value=${s.skill_id} />`)}</datalist>
    <${Problem} error=${error} />
    ${loading && !data && html`<${Loading} />`}
    ${data?.length === 0 && html`<${Empty}><p>No skills are registered here.</p></${Empty}>`}
    ${data?.length > 0 && html`<ul class="cards">${data.map((s) => html`<li key=${s.skill_id} class="card"><a href=${link(['package', s.skill_id])}>${s.display_name || s.skill_id}</a> <${Scope} tenant=${s.tenant_id} />
      <p><code class="muted">${s.skill_id}</code></p><p class="small">${s.purpose || s.description}</p></li>`)}</ul>`}
  </${Page}>`;
}

export function PackageView({ id }) {
  const { data, error, loading } = useRequest(async (signal) => (await call('GET', `/packages/${segment(id)}`, { query: { tenant_id: tenant(), explain: true }, signal })).data, [id, tenant()]);
  return html`<${Page} title=${data?.manifest.display_name || id} subtitle=${html`Package of <code>${id}</code>`} actions=${html`<a class="button" href=${link(['catalog', 'skill', id])}>Record</a>`}>
    <${Problem} error=${error} />
    ${loading && !data && html`<${Loading} />`}
    ${data && !error && html`<${Graph} of=${data} /><${Missing} list=${data.missing} /><${Parts} of=${data} />`}
  </${Page}>`;
}

// nodes returns the parts of a package: {kind, id, record, via, scope}, the skill first.
export function nodes(of) {
  const parts = [['skill', [of.manifest]], ['context_builder', of.context_builders], ['guardrail', of.guardrails],
    ['template', of.template?.template_id ? [of.template] : []], ['tool', of.tools]];
  return parts.flatMap(([kind, records]) => (records || []).map((record) => {
    const id = record[`${kind}_id`];
    const why = of.explain?.find((e) => e.kind === kind && e.id === id);
    return { kind, id, record, via: why?.via || '', scope: why?.scope || (record.tenant_id ? 'tenant' : 'global') };
  }));
}

// edges returns the links between the nodes: {from, to, rule}.
function edges(list) {
  const [skill] = list;
  const named = (node, ids) => Array.isArray(ids) && ids.includes(node.id);
  return list.slice(1).flatMap((node) => {
    if (node.kind !== 'tool') return [{ from: skill, to: node, rule: RULE.test(node.via) }];
    const from = list.filter((n) => (n.kind === 'context_builder' || n === skill) && named(node, n.record.tool_ids));
    return (from.length ? from : [skill]).map((n) => ({ from: n, to: node, rule: false }));
  });
}

// place sets x and y of the nodes: the skill, then its parts, then the tools, which are in
// the order of the context builders that use them.
function place(list, links) {
  const [skill] = list;
  const middle = list.filter((n) => n.kind !== 'skill' && n.kind !== 'tool');
  const tools = list.filter((n) => n.kind === 'tool');
  const headings = [];
  let y = NODE.margin;
  let kind = '';
  for (const node of middle) {
    if (node.kind !== kind) {
      if (kind) y += NODE.gap;
      kind = node.kind;
      headings.push({ text: node.kind === 'template' ? 'Template' : KINDS[kind].plural, x: NODE.column, y: y + 14 });
      y += NODE.heading;
    }
    Object.assign(node, { x: NODE.column, y });
    y += NODE.height + NODE.gap;
  }
  const above = (tool) => {
    const users = links.filter((l) => l.to === tool).map((l) => l.from.y ?? 0);
    return users.reduce((sum, v) => sum + v, 0) / Math.max(users.length, 1);
  };
  const order = new Map(tools.map((tool) => [tool, above(tool)]));
  tools.sort((a, b) => order.get(a) - order.get(b));
  let bottom = NODE.margin;
  if (tools.length) {
    headings.push({ text: 'Tools', x: 2 * NODE.column, y: bottom + 14 });
    bottom += NODE.heading;
  }
  for (const tool of tools) {
    Object.assign(tool, { x: 2 * NODE.column, y: bottom });
    bottom += NODE.height + NODE.gap;
  }
  const height = Math.max(y, bottom, NODE.heading + NODE.height + 2 * NODE.margin);
  headings.unshift({ text: 'Skill', x: NODE.margin, y: NODE.margin + 14 });
  Object.assign(skill, { x: NODE.margin, y: NODE.margin + NODE.heading });
  return { headings, height, width: (tools.length ? 2 : middle.length ? 1 : 0) * NODE.column + NODE.width + NODE.margin };
}

function Graph({ of }) {
  const list = nodes(of);
  const links = edges(list);
  const { headings, width, height } = place(list, links);
  return html`<div class="card graph-card">
    <div class="graph-wrap" tabindex="0" role="region" aria-label="Graph of the package">
      <svg class="graph" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="group" aria-label=${`${plural(list.length, 'record')} and ${plural(links.length, 'link')}`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" /></marker></defs>
        ${headings.map((t) => html`<text class="graph-heading" x=${t.x} y=${t.y}>${t.text}</text>`)}
        ${links.map((l) => html`<path class=${l.rule ? 'edge rule' : 'edge'} marker-end="url(#arrow)" d=${curve(l.from, l.to)} />`)}
        ${list.map((n) => html`<${Node} key=${n.kind + n.id} node=${n} />`)}
      </svg>
    </div>
    <p class="legend small"><span class="key tenant"></span> tenant <span class="key"></span> global <span class="line"></span> link by id <span class="line rule"></span> by a rule</p>
  </div>`;
}

function curve(from, to) {
  const [x1, y1, x2, y2] = [from.x + NODE.width, from.y + NODE.height / 2, to.x - 2, to.y + NODE.height / 2];
  const bend = Math.min(90, (x2 - x1) / 2);
  return `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

const short = (text) => (text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text);

function Node({ node: { kind, id, record, via, scope, x, y } }) {
  const owner = record.tenant_id || 'global';
  return html`<a class=${`node ${scope}`} href=${link(['catalog', kind, id], { scope: scope === 'global' && tenant() ? 'global' : '' })}>
    <title>${id}${record.description || record.purpose ? `: ${record.purpose || record.description}` : ''}</title>
    <rect x=${x} y=${y} width=${NODE.width} height=${NODE.height} rx="7" /><rect class="stripe" x=${x} y=${y + 8} width="4" height=${NODE.height - 16} rx="2" />
    <text class="node-id" x=${x + 14} y=${y + 22}>${short(id)}</text><text class="node-via" x=${x + 14} y=${y + 40}>${short(`${owner} · ${via}`)}</text></a>`;
}

// Missing lists the records that the package lacks.
function Missing({ list }) {
  return list && html`<section class="missing"><h2>Missing</h2>
    <ul class="plain">${list.map((m) => html`<li key=${m.kind + m.id}><span class="muted">${KINDS[m.kind].name}</span> <${RecordLink} kind=${m.kind} id=${m.id} /> <code>${m.via}</code></li>`)}</ul></section>`;
}

function Parts({ of }) {
  const list = nodes(of);
  return html`<section class="parts"><h2>Parts</h2><div class="table-wrap" tabindex="0" role="region" aria-label="Parts of the package"><table class="stack">
    <thead><tr><th>Record</th><th>Kind</th><th>Description</th><th>Scope</th><th>Selected by</th></tr></thead>
    <tbody>${list.map((n) => html`<tr key=${n.kind + n.id}><td><${RecordLink} kind=${n.kind} id=${n.id} scope=${n.scope === 'global' && tenant() ? 'global' : ''} /></td><td class="short">${KINDS[n.kind].name}</td>
      <td class="text">${n.record.purpose || n.record.description}</td><td><${Scope} tenant=${n.record.tenant_id} /></td><td><code>${n.via}</code></td></tr>`)}</tbody></table></div></section>`;
}
