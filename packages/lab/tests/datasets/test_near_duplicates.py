import random

from tracer_hooks.datasets import near_duplicates

from ._labelled_sets import sentence


def changed(text: str, rng: random.Random) -> str:
    words = text.split()
    words[rng.randrange(len(words))] = "other"
    return " ".join(words)


def test_texts_with_one_word_changed_are_found() -> None:
    rng = random.Random(3)
    different = [" ".join(sentence(rng) for _ in range(6)) for _ in range(60)]
    texts = different + [changed(text, rng) for text in different[:20]]
    assert near_duplicates(texts, similarity=0.8) == [(k, 60 + k) for k in range(20)]


def test_copies_are_found_whatever_their_case_and_signs() -> None:
    texts = ["One two, three four.", "unrelated words in here", "one two three FOUR"]
    assert near_duplicates(texts, similarity=1.0) == [(0, 2)]
    assert near_duplicates(["yes", "yes", "", ""], similarity=0.8) == [], "short texts have nothing to compare"
