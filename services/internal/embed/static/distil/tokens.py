"""Writes texts with their tokens by the Python package tokenizers, for the test.

    tokens.py FOLDER COUNT | gzip -9n > ../testdata/tokens.jsonl.gz

FOLDER has the tokenizer.json. The texts are random characters of many scripts, with words between them.
"""

import json
import random
import sys

from tokenizers import Tokenizer

SCRIPTS = [
    (0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x482), (0x5D0, 0x5EA), (0x620, 0x64A), (0x905, 0x939),
    (0xE01, 0xE30), (0x1100, 0x1112), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20A0, 0x20BD), (0x2100, 0x2BFF),
    (0x3000, 0x30FF), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFF01, 0xFF5E), (0x1F300, 0x1F64F),
    (0x20000, 0x2A6D6), (0x00, 0x1F), (0x300, 0x36F), (0xE000, 0xE010),
]
WORDS = """the virtual machines café naïve Straße İstanbul ﬁle ½ C++ don't isn’t e-mail well-known 10.0.0.0/8 v1.26.8 $5.99 a_b
Zürich résumé ångström 東京 北京大学 한국어 привет γειά σου Ελλάς שלום مرحبا नमस्ते ไทย 🚀 👩‍💻 x²  [x] <b> "quoted" “typographic” — … ™
storage.volume_capacity listVLANs antidisestablishmentarianism {} | ~ ` ^ \u00ad \u200b \ufeff \u3000 \u0085 \ufffd""".split(" ")


def text():
    scripts = random.sample(SCRIPTS, random.randint(1, 4)) + [(0x61, 0x7A)] * 2
    parts = []
    for _ in range(random.randint(1, 15)):
        if random.random() < 0.4:
            parts.append(random.choice(WORDS))
        else:
            parts.append("".join(chr(random.randint(*random.choice(scripts))) for _ in range(random.randint(1, 8))))
    return random.choice(["", " ", " "]).join(parts)


random.seed(1)
tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
unknown = tokenizer.token_to_id("[UNK]")
for t in ["", " ", "x" * 100, "x" * 101, "é" * 100 + " a"] + [text() for _ in range(int(sys.argv[2]))]:
    ids = [i for i in tokenizer.encode(t, add_special_tokens=False).ids if i != unknown]
    print(json.dumps({"text": t, "tokens": ids}))
