"""Trains the table from texts and their teacher vectors.

    distil.py CORPUS.jsonl VECTORS.npy OUT

The vocabulary is the teacher's and the most frequent words that it splits, such as
"vms". Unused tokens of the teacher make room for the first of them.

The vector of a text is the sum of the table's rows of its tokens. Training makes
the similarities within a batch of texts those of the teacher (a softmax over
each text's cosines to all others), so the lengths of the rows become the weights
of the tokens. OUT receives model.safetensors and tokenizer.json in the format of
Model2Vec: 256 dimensions, 8-bit integers with a weight per row.
"""

import collections
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from teacher import embed, files

EPOCHS, BATCH, WINDOW = 6, 1024, 128
TEMPERATURE = 0.1
COSINE = 15  # weight of the cosine to the teacher's vector in the loss
RATE = 0.07  # learning rate, of the mean length of a row
DIMENSIONS, WHITENING = 256, 0.3
RARE = 15  # texts that a further word is in, at least
SMOOTHING = 1e-3  # of token frequencies, for the initial weights


def main(corpus, vectors, out):
    rng = np.random.default_rng(1)
    texts = [json.loads(line) for line in open(corpus, encoding="utf-8")]
    target = np.load(vectors)
    if len(texts) != len(target):
        raise SystemExit(f"{len(texts)} texts and {len(target)} vectors")
    tokenizer = extended(files()[1], texts)
    unknown = tokenizer.token_to_id("[UNK]")
    ids = [[i for i in e.ids[:WINDOW] if i != unknown] for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    kept = [i for i, tokens in enumerate(ids) if tokens]
    ids, target = [ids[i] for i in kept], target[kept]
    target -= target.mean(axis=0)
    target /= np.linalg.norm(target, axis=1, keepdims=True)

    table = initial(tokenizer, ids)
    train(table, ids, target, rng)
    table = compress(table, ids)
    write(table, tokenizer, pathlib.Path(out))


def extended(original, texts):
    """Returns the tokenizer with further words."""
    tokenizer = Tokenizer.from_str(original)
    counts = collections.Counter()
    for text in texts:
        words = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))
        counts.update({word for word, _ in words})
    file = json.loads(original)
    vocabulary = file["model"]["vocab"]
    free = sorted(i for token, i in vocabulary.items() if token.startswith("[unused"))
    file["model"]["vocab"] = vocabulary = {t: i for t, i in vocabulary.items() if not t.startswith("[unused")}
    file["truncation"] = file["padding"] = None
    split = [w for w in counts if counts[w] >= RARE and w.isascii() and w.isalnum() and not w[0].isdigit() and w not in vocabulary]
    for word in sorted(split, key=lambda w: (-counts[w], w)):
        vocabulary[word] = free.pop(0) if free else max(vocabulary.values()) + 1
    return Tokenizer.from_str(json.dumps(file))


def initial(tokenizer, ids):
    """Returns the teacher's vectors of single tokens, weighted by smooth inverse frequency (SIF)."""
    size = tokenizer.get_vocab_size()
    single = embed([tokenizer.id_to_token(i).removeprefix("##") for i in range(size)])
    single -= single.mean(axis=0)
    counts = np.bincount(np.concatenate(ids), minlength=size)
    weights = SMOOTHING / (SMOOTHING + counts / counts.sum())
    return (single * weights[:, None]).astype(np.float32)


def train(table, ids, target, rng):
    """Trains the table in place with Adam that updates only rows in use."""
    rate = RATE * np.linalg.norm(table, axis=1).mean() / np.sqrt(table.shape[1])
    first, second = np.zeros_like(table), np.zeros(table.shape, np.float32)
    steps = EPOCHS * (len(ids) // BATCH)
    for step in range(steps):
        if step % (len(ids) // BATCH) == 0:
            order = rng.permutation(len(ids))
        at = step % (len(ids) // BATCH) * BATCH
        batch = order[at : at + BATCH]
        tokens = np.concatenate([ids[i] for i in batch])
        lengths = np.array([len(ids[i]) for i in batch])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        loss, gradient = similarity(np.add.reduceat(table[tokens], starts), target[batch])
        by_token = np.argsort(tokens, kind="stable")
        rows, starts = np.unique(tokens[by_token], return_index=True)
        gradient = np.add.reduceat(np.repeat(gradient, lengths, axis=0)[by_token], starts)
        first[rows] = 0.9 * first[rows] + 0.1 * gradient
        second[rows] = 0.999 * second[rows] + 0.001 * gradient**2
        update = first[rows] / (1 - 0.9 ** (step + 1)) / (np.sqrt(second[rows] / (1 - 0.999 ** (step + 1))) + 1e-8)
        table[rows] -= rate * (1 - step / steps) * update
        if step % 50 == 0:
            print(f"step {step} of {steps}: loss {loss:.4f}", file=sys.stderr, flush=True)


def similarity(sums, target):
    """Returns the loss of a batch, and its gradient by the sums of the rows."""
    lengths = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    student = sums / lengths
    want, got = softmax(target @ target.T), softmax(student @ student.T)
    loss = (want * (np.log(want + 1e-9) - np.log(got + 1e-9))).sum() / len(sums)
    along = (student * target).sum(axis=1, keepdims=True)
    by_cosine = (got - want) / TEMPERATURE
    gradient = (by_cosine + by_cosine.T) @ student - COSINE * target
    gradient -= (gradient * student).sum(axis=1, keepdims=True) * student
    return loss + COSINE * (1 - along).mean(), gradient / lengths / len(sums)


def softmax(cosines):
    logits = cosines / TEMPERATURE
    np.fill_diagonal(logits, -1e9)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def compress(table, ids):
    """Projects the table on the main axes of the texts, mildly whitened."""
    sample = np.stack([table[i].mean(axis=0) for i in ids[:: max(1, len(ids) // 50000)]])
    sample /= np.linalg.norm(sample, axis=1, keepdims=True) + 1e-9
    values, axes = np.linalg.eigh(sample.T @ sample / len(sample))
    values, axes = values[::-1][:DIMENSIONS], axes[:, ::-1][:, :DIMENSIONS]
    return (table @ axes) * (values / values[0]) ** -WHITENING


def write(table, tokenizer, out):
    scales = np.abs(table).max(axis=1) / 127
    rounded = np.round(table / scales[:, None]).astype(np.int8)
    out.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": rounded, "weights": scales.astype(np.float32)}, out / "model.safetensors")
    (out / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
