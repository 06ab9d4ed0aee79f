"""Fuzzes the text of boosted trees: somebody else's model folder must not crash, hang or run code.

    python benchmarks/fuzz/tree_texts.py 10000               # writes results/tree_texts.json
    python benchmarks/fuzz/tree_texts.py 1000 --unchecked    # LightGBM alone, for comparison

Each text is a true model with a few changes, half of them with its sizes put right again so that
deeper checks are reached. It is read, and predicts and explains forty rows, in a process of its own
that may take 10 s of processor time and 1 GB more than it began with. Text number i is a function
of i.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.priors.trees import Boosting, Trees, fit_trees

RESULTS = Path(__file__).parents[1] / "results" / "tree_texts.json"
SECONDS, GROWTH = 10, 1 << 30
ODD = [
    *("0", "1", "-1", "-2", "2", "3", "7", "31", "32", "255", "256", "1023", "65536"),
    *("2147483647", "2147483648", "-2147483648", "4294967295", "4294967296", "9" * 20, "1" * 4000),
    *("1e308", "-1e308", "1e30", "1e999", "1e-400", "nan", "-nan", "inf", "-inf", "1.5"),
    *("0x10", "1_0", "+1", "01", "--1", "\u0663", "%", "$(id)", "../x"),
    *("", " ", "\t", "\0", "\n", "\r", "="),
]
KEYS = ("num_class", "num_tree_per_iteration", "max_feature_idx", "num_leaves", "num_cat")


def seeds() -> list[Trees]:
    """Two classes and three, gaps, shallow and deep, one without a split."""
    found = []
    for classes, leaves, n in ((2, 7, 300), (3, 4, 400), (2, 31, 600), (3, 7, 12)):
        rng = np.random.default_rng(leaves)
        X = rng.normal(size=(n, 4)).astype(np.float32)
        X[:, 3] = rng.integers(0, 70, n)
        labels = (X[:, 3] % classes).astype(np.int64)
        X[rng.random(X.shape) < 0.1] = np.nan
        worlds = Worlds.of(labels, classes, np.arange(n), np.arange(0), num_folds=2)
        how = Boosting(rounds=3, check=3, leaves=leaves, seed=leaves)
        found.append(fit_trees(X, worlds, how)[0])
    return found


def mutated(rng: random.Random, text: str) -> str:
    """One to three changes; sizes put right again in half of the cases."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice((_word, _word, _word, _swap, _line, _key, _byte, _cut, _block))(rng, text)
    return resized(text) if rng.random() < 0.5 else text


def resized(text: str) -> str:
    """The text with `tree_sizes` as they are."""
    starts = [m.start() for m in re.finditer(r"^Tree=", text, re.MULTILINE)]
    end = text.find("end of trees")
    if not starts or end < starts[-1]:
        return text
    sizes = [b - a for a, b in zip(starts, [*starts[1:], end], strict=True)]
    line = "tree_sizes=" + " ".join(map(str, sizes))
    return re.sub(r"^tree_sizes=.*$", lambda _: line, text, count=1, flags=re.MULTILINE)


def _word(rng: random.Random, text: str) -> str:
    """Another number (or none, or two) somewhere."""
    spans = [m.span() for m in re.finditer(r"(?<=[= :])-?\d[^\s:\]]*", text)]
    if not spans:
        return text
    a, b = rng.choice(spans)
    new = rng.choice([*ODD, text[slice(*rng.choice(spans))], f"{text[a:b]} {text[a:b]}"])
    return text[:a] + new + text[b:]


def _swap(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    key = lines[i].partition("=")[0]
    alike = [k for k, line in enumerate(lines) if line.startswith(f"{key}=")] or [j]
    j = rng.choice([j, rng.choice(alike)])
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _line(rng: random.Random, text: str) -> str:
    """A line less, or one twice."""
    lines = text.split("\n")
    i = rng.randrange(len(lines))
    return "\n".join(lines[:i] + rng.choice(([], [lines[i]] * 2, [lines[i]] * 50)) + lines[i + 1 :])


def _key(rng: random.Random, text: str) -> str:
    """Another value of something that sizes follow from."""
    spans = [m.span(1) for m in re.finditer(rf"^{rng.choice(KEYS)}=(.*)$", text, re.MULTILINE)]
    if not spans:
        return text
    a, b = rng.choice(spans)
    return text[:a] + rng.choice(ODD) + text[b:]


def _byte(rng: random.Random, text: str) -> str:
    i = rng.randrange(max(len(text), 1))
    return text[:i] + chr(rng.choice((rng.randrange(128), rng.randrange(0x2100)))) + text[i + 1 :]


def _cut(rng: random.Random, text: str) -> str:
    a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return rng.choice((text[:a], text[:a] + text[b:], text[a:]))


def _block(rng: random.Random, text: str) -> str:
    """A tree many times, in place of another, or none."""
    head, *blocks = re.split(r"^(?=Tree=)", text, flags=re.MULTILINE)
    if not blocks:
        return text
    i, j = rng.randrange(len(blocks)), rng.randrange(len(blocks))
    blocks[i : i + 1] = rng.choice(([], [blocks[j]], [blocks[j]] * 300))
    return head + "".join(blocks)


def outcome(i: int, models: list[Trees], *, checked: bool = True) -> str:
    """What became of text number i, in a process of its own."""
    child = os.fork()
    if not child:
        os._exit(_read(i, models, checked))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hang" if name in ("SIGXCPU", "SIGALRM", "SIGKILL") else f"crash {name}"
    return ("accepted", "refused", "wrong sums", "another error", "memory")[os.WEXITSTATUS(status)]


def _read(i: int, models: list[Trees], checked: bool) -> int:
    _limit()
    rng = random.Random(i)
    model = rng.choice(models)
    text = mutated(rng, model.text)
    X = np.random.default_rng(0).normal(size=(40, model.num_columns)) * 20
    X[::7] = np.nan
    try:
        if checked:
            trees = Trees(text, model.present, model.num_classes, model.num_columns)
        else:
            trees = Trees("", model.present, model.num_classes, model.num_columns)
            object.__setattr__(trees, "text", text)
        gap = np.abs(trees.contributions(X).sum(axis=2) - trees.logits(X))
        scale = max(1.0, float(np.abs(trees.logits(X)).max()))
        return 0 if np.isfinite(gap).all() and gap.max() <= 1e-4 * scale else 2
    except ValueError:
        return 1
    except MemoryError:
        return 4
    except Exception:
        return 3


def _limit() -> None:
    null = os.open(os.devnull, os.O_WRONLY)  # LightGBM writes its own complaints
    os.dup2(null, 1)
    os.dup2(null, 2)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    signal.alarm(6 * SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", type=int)
    parser.add_argument("--unchecked", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    models = seeds()
    for model in models:
        model.logits(np.zeros((1, model.num_columns)))  # imports happen here
    found: Counter[str] = Counter()
    for i in range(given.texts):
        answer = outcome(i, models, checked=not given.unchecked)
        found[answer] += 1
        if answer not in ("accepted", "refused") and not given.unchecked:
            print(i, answer, flush=True)
    name = "LightGBM alone" if given.unchecked else "checked first"
    lines = json.loads(given.results.read_text()) if given.results.exists() else {}
    lines[name] = {
        "command": f"python benchmarks/fuzz/tree_texts.py {' '.join(sys.argv[1:])}",
        "texts": given.texts,
        **dict(sorted(found.items())),
    }
    given.results.write_text(json.dumps(lines, indent=2) + "\n")
    print(json.dumps(lines[name]))


if __name__ == "__main__":
    main()
