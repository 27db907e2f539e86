// The events of an analysis: reading the stream, and what they add up to.

// read yields the server-sent events of a response: {id, type, data}.
export async function* read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  let event = { id: '', type: '', data: [] };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += value;
      const lines = buffer.split('\n');
      buffer = lines.pop();
      for (const line of lines.map((l) => l.replace(/\r$/, ''))) {
        if (line === '') {
          if (event.data.length) yield { id: event.id, type: event.type, data: JSON.parse(event.data.join('\n')) };
          event = { id: '', type: '', data: [] };
          continue;
        }
        const [name, text] = line.split(/: ?(.*)/s);
        if (name === 'id') event.id = text;
        else if (name === 'event') event.type = text;
        else if (name === 'data') event.data.push(text ?? '');
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// The progress of a run without events.
export const nothing = { last: '', text: '', calls: [], figures: undefined, suggestions: [], usage: undefined, direct: undefined, error: undefined, done: false };

// add returns the progress after an event.
export function add(progress, { id, type, data }) {
  const next = { ...progress, last: id || progress.last };
  switch (type) {
    case 'text_delta': next.text += data.text; break;
    case 'tool_use': next.calls = [...next.calls, { id: data.tool_call_id, name: data.name, input: data.input }]; break;
    case 'tool_result': next.calls = next.calls.map((c) => (c.id === data.tool_call_id ? { ...c, result: data.result } : c)); break;
    case 'direct_response': next.direct = data; break;
    case 'provenance': next.figures = data.figures; break;
    case 'suggestions': next.suggestions = data.questions; break;
    case 'usage': next.usage = data; break;
    case 'error': next.error = { title: 'The analysis has failed', code: data.code, message: data.message }; break;
    case 'done': next.done = true; break;
    default: // a type of a newer version
  }
  return next;
}
