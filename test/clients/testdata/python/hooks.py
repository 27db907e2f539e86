"""Hooks of Schemathesis: newline-delimited JSON, which it does not know."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return json.dumps(value).encode() + b"\n"


@schemathesis.deserializer("application/x-ndjson")
def first_line(ctx, response):
    """Returns the first line: the schema is that of one line."""
    text = response.content.strip()
    return json.loads(text.splitlines()[0]) if text else {}
