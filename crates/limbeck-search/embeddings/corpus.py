"""The texts that `make.py` learns from: one line on what an operation, a command or an option does.

They are the first sentences of the documentation of the operations of Google's and Amazon's APIs and of the commands
and options of command line tools, and names of operations in words. Nothing of them is shipped.
"""

import gzip
import hashlib
import html
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import botocore
import googleapiclient

# Made by `npm pack` in the directory that `make.py` is run in.
COMMANDS = Path("withfig-autocomplete-2.692.3.tgz")
# Sentences of each source; half as many names.
GOOGLE, AMAZON, COMMAND_LINES = 6000, 6000, 12_000
SENTENCE_WORDS = range(3, 23)
NAME_WORDS = range(2, 7)


def texts() -> list[str]:
    """All of them, shuffled by their hashes."""
    chosen = set()
    for source, most in ((google(), GOOGLE), (amazon(), AMAZON), (command_lines(), COMMAND_LINES)):
        sentences, names = set(), set()
        for name, text in source:
            sentence = first_sentence(text)
            if len(sentence.split()) in SENTENCE_WORDS and sentence.isascii():
                sentences.add(sentence)
            if len(name.split()) in NAME_WORDS:
                names.add(name)
        chosen.update(sorted(sentences, key=shuffled)[:most])
        chosen.update(sorted(names, key=shuffled)[: most // 2])
    return sorted(chosen, key=shuffled)


def shuffled(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def google() -> Iterator[tuple[str, str]]:
    def methods(resource: dict, called: str) -> Iterator[tuple[str, str]]:
        for name, method in resource.get("methods", {}).items():
            yield f"{parted(name)} {parted(called)}", method.get("description", "")
        for name, inner in resource.get("resources", {}).items():
            yield from methods(inner, name)

    documents = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    for path in sorted(documents.glob("*.json")):
        api = json.loads(path.read_text())
        # The list of the documents lies among them.
        if "name" not in api:
            continue
        yield api.get("title", ""), api.get("description", "")
        yield from methods(api, api["name"])


def amazon() -> Iterator[tuple[str, str]]:
    for service in sorted((Path(botocore.__file__).parent / "data").iterdir()):
        versions = sorted(service.glob("*/service-2.json.gz"))
        if versions:
            operations = json.loads(gzip.decompress(versions[-1].read_bytes()))["operations"]
            for name, operation in operations.items():
                yield parted(name), operation.get("documentation", "")


def command_lines() -> Iterator[tuple[str, str]]:
    with tarfile.open(COMMANDS) as package:
        for member in package:
            if member.name.endswith(".js"):
                script = package.extractfile(member).read().decode(errors="ignore")
                for said in re.finditer(r'description:"((?:[^"\\]|\\.)*)"', script):
                    yield "", re.sub(r"\\(.)", r"\1", said[1])


def first_sentence(text: str) -> str:
    text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    text = re.sub(r"`|\*\*|\[([^\]]*)\]\([^)]*\)", lambda link: link[1] or "", text)
    text = re.sub(r"\s+", " ", text).strip()
    sentence = re.match(r"(.{12,}?[.!?])(\s|$)", text)
    return sentence[1] if sentence else text


def parted(name: str) -> str:
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    name = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", name).strip().lower()


def stop_words(tokens: Path) -> set[str]:
    """The words that search leaves out, read from its source."""
    listed = re.search(r"STOP_WORDS[^=]*= \[(.*?)\];", tokens.read_text(), re.DOTALL)
    return set(re.findall(r'"(.+?)"', listed[1]))


def words(text: str) -> list[str]:
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    text = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", text)
    return [word.lower() for word in re.findall(r"[A-Za-z0-9]+", text)]


def pieces(word: str, places: dict[str, int]) -> list[int]:
    """Numbers of the pieces of a word, always the longest that fits; none when search would not spell it either."""
    found, at = [], 0
    while at < len(word) <= 32:
        inside = "##" if at else ""
        ends = (end for end in range(len(word), at, -1) if inside + word[at:end] in places)
        end = next(ends, None)
        if end is None:
            return []
        found.append(places[inside + word[at:end]])
        at = end
    return found if len(found) == 1 or 2 * len(found) <= len(word) else []
