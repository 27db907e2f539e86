// The form to register or to edit a record, from the JSON Schema of its kind.
import { useEffect, useRef, useState } from './hooks.js';
import { call, can, schemas, session, tenantsOf } from './api.js';
import { link, route, tenant } from './router.js';
import { editable, LINKS, recordPath, reopen } from './record.js';
import { acknowledge, Field, html, KINDS, labelOf, Loading, Page, plural, Problem, useRequest } from './ui.js';

const LONG = ['purpose', 'description', 'instructions', 'body'];
// The fields in the order of work; others follow.
const ORDER = ['display_name', 'purpose', 'description', 'domain', 'instructions', 'body', 'variables', 'example_queries', 'capabilities', 'provider', 'tool_class', 'skill_ids', 'tool_ids',
  'context_builder_ids', 'guardrail_ids', 'template_id', 'resources', 'agent_card', 'labels', 'status', 'version'];
const MAX_FILE = 1 << 20; // bytes of a resource
const STATUS = ['active', 'draft', 'deprecated', 'retired'];

// position is the place of a field in the form.
const position = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

// type is how a field is edited: ids, files, switch, text, lines, pairs or json.
function type(name, schema) {
  if (name === 'resources') return 'files';
  if (schema.type === 'array' && LINKS[name]) return 'ids';
  if (schema.type === 'boolean') return 'switch';
  if (schema.type === 'array' && schema.items?.type === 'string') return 'lines';
  if (schema.type === 'object' && schema.additionalProperties?.type === 'string') return 'pairs';
  if (schema.type === 'string') return 'text';
  return 'json';
}

// encode returns what the form shows for a value, a text but for files and switches, and decode the value of that;
// undefined: none.
function encode(how, value) {
  if (how === 'files') return value || [];
  if (how === 'switch') return value ?? false;
  if (value === undefined) return '';
  switch (how) {
    case 'lines': case 'ids': return Array.isArray(value) ? value.join('\n') : String(value);
    case 'pairs': return Object.entries(value).map(([n, v]) => `${n}=${v}`).join('\n');
    case 'json': return JSON.stringify(value, null, 2);
    default: return String(value);
  }
}

function decode(how, text) {
  if (how === 'files') return text.length ? text : undefined;
  if (how === 'switch') return text || undefined;
  if (text.trim() === '') return undefined;
  switch (how) {
    case 'lines': case 'ids': return text.split('\n').map((line) => line.trim()).filter(Boolean);
    case 'pairs': return Object.fromEntries(text.split('\n').filter((l) => l.trim()).map((line) => {
      const [name, value] = line.split(/=(.*)/s);
      if (value === undefined) throw new Error(`want name=value in each line, got "${line}"`);
      return [name.trim(), value.trim()];
    }));
    case 'json': return JSON.parse(text);
    default: return text;
  }
}

// check returns the error of a value, by the limits of its schema; undefined if it is valid.
function check(schema, value) {
  if (value === undefined) return undefined;
  if (typeof value === 'string') {
    if (schema.maxLength && [...value].length > schema.maxLength) return `want at most ${schema.maxLength} characters, got ${[...value].length}`;
    if (schema.pattern && !new RegExp(schema.pattern, 'u').test(value)) return `"${value}" does not have the expected form`;
  }
  if (Array.isArray(value)) {
    if (schema.maxItems && value.length > schema.maxItems) return `want at most ${schema.maxItems}, got ${value.length}`;
    for (const item of value) {
      const wrong = schema.items?.type === 'string' ? check(schema.items, item) : undefined;
      if (wrong) return wrong;
    }
  } else if (schema.additionalProperties && typeof value === 'object') {
    if (schema.maxProperties && Object.keys(value).length > schema.maxProperties) return `want at most ${schema.maxProperties}`;
    for (const [name, v] of Object.entries(value)) {
      const wrong = check(schema.propertyNames || {}, name) || check(schema.additionalProperties, v);
      if (wrong) return wrong;
    }
  }
  return undefined;
}

export function RecordForm({ kind, id, copy }) {
  const scope = route.get().params.get('scope') || '';
  const revision = route.get().params.get('revision') || '';
  const { data, error } = useRequest(async (signal) => {
    const all = await schemas();
    const schema = all[KINDS[kind]?.schema];
    if (!schema) throw new Error(`There is no kind of records "${kind}".`);
    const source = id || copy;
    const found = source ? await call('GET', recordPath(kind, source), { query: { tenant_id: tenant(), scope }, signal }) : { data: {} };
    const earlier = revision && (await call('GET', recordPath(kind, id), { query: { tenant_id: tenant(), scope, revision }, signal })).data;
    return { schema, record: earlier || found.data, etag: id ? found.etag : '' };
  }, [kind, id, copy]);
  const title = id ? `Edit ${id}` : `Register a ${KINDS[kind]?.name.toLowerCase() || kind}`;
  const refused = data && (id ? !editable(data.record) : !can('register'));
  return html`<${Page} title=${title}>
    <${Problem} error=${error} />
    ${!data && !error && html`<${Loading} />`}
    ${refused && html`<div class="notice warn">Your credential does not permit this.</div>`}
    ${data && !refused && html`<${Form} kind=${kind} id=${id} copied=${Boolean(copy)} ...${data} />`}
  </${Page}>`;
}

function Form({ kind, id, copied, schema, record, etag }) {
  const idField = `${kind}_id`;
  const names = Object.keys(schema.properties).filter((n) => n !== 'tenant_id' && n !== idField).sort((a, b) => position(a) - position(b));
  const how = Object.fromEntries(names.map((n) => [n, type(n, schema.properties[n])]));
  const others = Object.fromEntries(Object.entries(record).filter(([n]) => n !== 'tenant_id' && n !== idField && !names.includes(n)));
  const first = { [idField]: record[idField] || '', other: Object.keys(others).length ? JSON.stringify(others, null, 2) : '' };
  for (const n of names) first[n] = encode(how[n], record[n]);
  const [values, setValues] = useState(first);
  const [strict, setStrict] = useState(false);
  const [message, setMessage] = useState('');
  const [wrong, setWrong] = useState({});
  const [failure, setFailure] = useState();
  const [stored, setStored] = useState();
  const [busy, setBusy] = useState(false);
  const summary = useRef();
  const fixed = tenantsOf(session.get().caller);
  const owner = id ? record.tenant_id || '' : tenant();
  useEffect(() => { if (failure || Object.keys(wrong).length) summary.current?.focus(); }, [failure, wrong]);

  const put = (name) => (value) => setValues((before) => ({ ...before, [name]: value }));
  const set = (name) => (e) => put(name)(e.target.value);

  // read returns the record of the form, with the problems of its fields.
  const read = () => {
    const problems = {};
    const next = {};
    const take = (name, f) => { try { f(); } catch (e) { problems[name] = e.message; } };
    take('other', () => {
      const extra = decode('json', values.other);
      if (extra !== undefined && (extra === null || typeof extra !== 'object' || Array.isArray(extra))) throw new Error('want a JSON object');
      Object.assign(next, extra);
    });
    for (const n of names) {
      take(n, () => {
        const value = decode(how[n], values[n]);
        if (value !== undefined) next[n] = value;
        const problem = check(schema.properties[n], value);
        if (problem) problems[n] = problem;
      });
    }
    const given = values[idField].trim();
    problems[idField] = given === '' ? 'required' : check(schema.properties[idField], given);
    if (!problems[idField]) delete problems[idField];
    next[idField] = given;
    if (owner) next.tenant_id = owner;
    return { next, problems };
  };

  const submit = async (event) => {
    event.preventDefault();
    const { next, problems } = read();
    setStored(undefined);
    setFailure(undefined);
    setWrong(problems);
    if (Object.keys(problems).length) return;
    setBusy(true);
    try {
      const { data } = await call('PUT', recordPath(kind, next[idField]), {
        query: { tenant_id: owner, strict: strict || undefined }, body: next,
        headers: { ...(id ? { 'If-Match': etag } : { 'If-None-Match': '*' }), ...(message.trim() && { 'Cairn-Message': latin1(message.trim()) }) },
      });
      acknowledge('Saved');
      if (data.warnings?.length || data.indexed === false) setStored({ ...data, record: next });
      else reopen(kind, next[idField], next);
    } catch (e) {
      const { byField, rest } = assign(e.errors || [], [...names, idField]);
      setWrong(byField);
      setFailure(Object.assign(e, { errors: rest }));
    }
    setBusy(false);
  };

  if (stored) return html`<${Stored} kind=${kind} stored=${stored} />`;
  const inputs = (list) => list.map((n) => html`<${Input} key=${n} name=${n} how=${how[n]} schema=${schema.properties[n]} value=${values[n]} error=${wrong[n]} put=${put(n)} />`);
  const advanced = names.filter((n) => !ORDER.includes(n));
  const needed = values.other !== '' || wrong.other || advanced.some((n) => wrong[n] || record[n] !== undefined);
  return html`<form class="record" noValidate onSubmit=${submit}>
    <div ref=${summary} class="slot" tabindex="-1">
      ${Object.keys(wrong).length > 0 && !failure && html`<div class="notice bad" role="alert">${plural(Object.keys(wrong).length, 'field is', 'fields are')} not valid.</div>`}
      ${failure?.status === 412 ? html`<div class="notice bad" role="alert">${id ? 'Another writer has changed this record since it was opened. Open it again to see the current one.' :
        'A record with this id exists already in this scope.'} <a href=${link(['catalog', kind, values[idField]])}>Show it</a></div>` : html`<${Problem} error=${failure} />`}
    </div>
    <p class=${tenant() && !owner ? 'notice warn' : 'muted'}>${owner ? html`For the tenant <strong>${owner}</strong>.` : tenant() ? 'For the global scope: every tenant sees the change.' : 'For the global scope.'} ${!id && !fixed && 'Select another one under Tenant.'} ${copied && 'Copied: change the id or the tenant.'}</p>
    <${Field} label=${html`Id <span class="muted">required</span>`} hint=${schema.properties[idField].description} error=${wrong[idField]}>
      <input id=${`field-${idField}`} required readonly=${Boolean(id)} spellcheck=${false} maxlength="256" value=${values[idField]} onInput=${set(idField)} /></${Field}>
    ${inputs(names.filter((n) => ORDER.includes(n)))}
    <details class="wide" open=${Boolean(needed)}><summary>Advanced fields</summary><div class="record">${inputs(advanced)}
      <${Field} wide label="Other fields" hint="A JSON object. Fields that Cairn does not interpret are stored unchanged." error=${wrong.other}>
        <textarea id="field-other" class="code" rows="3" spellcheck=${false} value=${values.other} onInput=${set('other')}></textarea></${Field}></div></details>
    <${Field} wide label="Message" hint="why the record changes, for its history and the audit log"><input id="message" maxlength="1024" value=${message} onInput=${(e) => setMessage(e.target.value)} /></${Field}>
    <div class="buttons wide">
      <label class="check"><input type="checkbox" checked=${strict} onChange=${(e) => setStrict(e.target.checked)} /> Reject warnings: misspelt fields and references to absent records</label>
      <div class="actions"><a class="button" href=${id ? link(['catalog', kind, id]) : link(['catalog', kind])}>Cancel</a><button class="primary" disabled=${busy}>${id ? 'Save' : 'Register'}</button></div>
    </div>
  </form>`;
}

// latin1 returns a header value whose characters are the bytes of the text in UTF-8, as fetch sends them.
const latin1 = (text) => String.fromCharCode(...new TextEncoder().encode(text));

// assign divides the errors of the API among the fields of the form.
function assign(errors, names) {
  const byField = {};
  const rest = [];
  for (const e of errors) {
    const name = names.find((n) => e.field === `record.${n}` || e.field.startsWith(`record.${n}.`) || e.field.startsWith(`record.${n}[`) || e.field === n);
    if (!name) {
      rest.push(e);
      continue;
    }
    const below = e.field.replace(`record.${name}`, '');
    byField[name] = [byField[name], below && below !== e.field ? `${below.replace(/^\./, '')}: ${e.message}` : e.message].filter(Boolean).join('; ');
  }
  return { byField, rest };
}

function Input({ name, how, schema, value, error, put }) {
  const id = `field-${name}`;
  const hints = { lines: 'one per line', pairs: 'name=value, one per line', json: 'JSON', ids: 'type to search' };
  const hint = [schema.description, hints[how]].filter(Boolean).join('; ');
  const label = labelOf(name);
  const onInput = (e) => put(e.target.value);
  if (how === 'switch') {
    return html`<${Field} label=${label} hint=${hint} error=${error}><input id=${id} type="checkbox" role="switch" checked=${value} onChange=${(e) => put(e.target.checked)} /></${Field}>`;
  }
  if (how === 'files') return html`<${Field} wide label=${label} hint=${hint} error=${error}><${Files} id=${id} value=${value} put=${put} /></${Field}>`;
  if (how === 'ids') return html`<${Field} label=${label} hint=${hint} error=${error}><${Ids} id=${id} kind=${LINKS[name]} value=${value} put=${put} /></${Field}>`;
  if (name === 'status') {
    const choices = STATUS.includes(value) || value === '' ? STATUS : [...STATUS, value];
    return html`<${Field} label=${label} hint=${hint} error=${error}><select id=${id} value=${value} onChange=${onInput}><option value="">active by default</option>${choices.map((s) => html`<option value=${s}>${s}</option>`)}</select></${Field}>`;
  }
  const long = how !== 'text' || LONG.includes(name);
  if (LINKS[name]) return html`<${Field} label=${label} hint=${hint} error=${error}><${IdInput} id=${id} kind=${LINKS[name]} value=${value} onInput=${onInput} /></${Field}>`;
  if (!long) return html`<${Field} label=${label} hint=${hint} error=${error}><input id=${id} value=${value} onInput=${onInput} /></${Field}>`;
  const text = name === 'instructions' || name === 'body';
  const rows = text ? 10 : how === 'text' ? 2 : Math.min(6, Math.max(2, value.split('\n').length));
  return html`<${Field} wide=${text || how === 'json'} label=${label} hint=${hint} error=${error}>
    <textarea id=${id} rows=${rows} class=${how === 'text' ? '' : 'code'} spellcheck=${how === 'text'} value=${value} onInput=${onInput}></textarea></${Field}>`;
}

// IdInput is an input for the id of a record, with the registered ids that begin as its text does.
function IdInput({ kind, id, value, ...attributes }) {
  const [prefix, setPrefix] = useState();
  const { data } = useRequest(async (signal) => {
    if (prefix === undefined) return [];
    return (await call('GET', `/records/${kind}`, { query: { tenant_id: tenant(), prefix, limit: 20 }, signal })).data.records;
  }, [kind, prefix]);
  const search = (e) => {
    attributes.onInput?.(e);
    setPrefix(e.target.value.trim());
  };
  return html`<input ...${attributes} id=${id} list=${`${id}-list`} spellcheck=${false} autocomplete="off" maxlength="256" value=${value} onInput=${search} onFocus=${(e) => setPrefix(e.target.value.trim())} />
    <datalist id=${`${id}-list`}>${data?.map((r) => html`<option value=${r[`${kind}_id`]}>${r.display_name || r.purpose || r.description}</option>`)}</datalist>`;
}

// Ids edits a list of ids, one per line of value.
function Ids({ id, kind, value, put, ...attributes }) {
  const [text, setText] = useState('');
  const list = value.split('\n').filter(Boolean);
  const add = (e) => {
    const given = e.target.value.trim();
    if (given && !list.includes(given)) put([...list, given].join('\n'));
    setText('');
  };
  const keys = (e) => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    add(e);
  };
  return html`<div class="ids">${list.length > 0 && html`<ul class="badges plain">${list.map((one) => html`<li key=${one} class="badge"><code>${one}</code> <button type="button" class="link" aria-label=${`Remove ${one}`} onClick=${() => put(list.filter((x) => x !== one).join('\n'))}>×</button></li>`)}</ul>`}
    <${IdInput} ...${attributes} id=${id} kind=${kind} value=${text} onInput=${(e) => setText(e.target.value)} onChange=${add} onKeyDown=${keys} /></div>`;
}

// Files edits the resources of a record.
function Files({ id, value, put, ...attributes }) {
  const [problem, setProblem] = useState('');
  const add = async (e) => {
    const chosen = [...e.target.files];
    const large = chosen.find((f) => f.size > MAX_FILE);
    setProblem(large ? `${large.name} is larger than 1 MiB.` : '');
    if (large) return;
    const read = await Promise.all(chosen.map(readFile));
    put([...value.filter((r) => !read.some((one) => one.path === r.path)), ...read]);
  };
  return html`<div class="ids">${value.length > 0 && html`<ul class="plain">${value.map((r) => html`<li key=${r.path}><code>${r.path}</code> ${r.size !== undefined && html`<span class="muted">${plural(r.size, 'byte')}</span>`} <button type="button" class="link" onClick=${() => put(value.filter((one) => one !== r))}>Remove<span class="hidden"> ${r.path}</span></button></li>`)}</ul>`}
    <input ...${attributes} id=${id} type="file" multiple onChange=${add} />${problem && html`<p class="error" role="alert">${problem}</p>`}</div>`;
}

// readFile returns a file as a resource: text, or Base64 if it is not UTF-8.
async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return { path: file.name, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { path: file.name, data: btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join('')) };
  }
}

function Stored({ kind, stored }) {
  return html`<div class="notice good" role="status"><p><strong>Stored.</strong> ${stored.indexed === false && 'It becomes searchable as soon as the index is available.'}</p>
    ${stored.warnings?.length > 0 && html`<p>With ${plural(stored.warnings.length, 'warning')}:</p><ul>${stored.warnings.map((w) => html`<li><code>${w.field}</code> ${w.message}</li>`)}</ul>`}
    <div class="actions"><a class="button" href=${link(['catalog', kind, stored.id, 'edit'])}>Edit</a><button class="primary" onClick=${() => reopen(kind, stored.id, stored.record)}>Show the record</button></div></div>`;
}
