"""Reads estates as others do: peer.py KIND FILE. For each line of its input it
does the work once and prints how many milliseconds that took and how many
groups there are. The work is a group-by of product_versions by product: of the
text (KIND polars, duckdb) or of what was read before (polars-cached,
duckdb-cached). Only that one array is asked for, which is the least work."""

import io
import sys
import time

kind, path = sys.argv[1:]
if kind.startswith("polars"):
    import polars as pl

    text = open(path, "rb").read()

    def read(fields):
        schema = {"product_versions": pl.List(pl.Struct(dict.fromkeys(fields, pl.String)))}
        frame = pl.read_json(io.BytesIO(text), schema=schema)
        return frame.select(pl.col("product_versions").explode()).unnest("product_versions")

    if kind == "polars":
        work = lambda: read(["product"]).group_by("product").len().height
    else:
        table = read(["product", "version", "date"])
        work = lambda: table.group_by("product").len().height
else:
    import duckdb

    db = duckdb.connect()
    source = """(SELECT unnest(product_versions) AS r FROM read_json(?, maximum_object_size = 33554432,
        columns = {product_versions: 'STRUCT(product VARCHAR, version VARCHAR, date VARCHAR)[]'}))"""
    if kind == "duckdb":
        query, given = f"SELECT r.product, count(*) FROM {source} GROUP BY 1", [path]
    else:
        db.execute(f"CREATE TABLE versions AS SELECT r.* FROM {source}", [path])
        query, given = "SELECT product, count(*) FROM versions GROUP BY 1", []
    work = lambda: len(db.execute(query, given).fetchall())

print("ready", flush=True)
for _ in sys.stdin:
    began = time.perf_counter()
    groups = work()
    print((time.perf_counter() - began) * 1000, groups, flush=True)
