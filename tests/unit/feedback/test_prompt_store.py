import threading

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.feedback import InMemoryPromptStore, PromptStore, prompt_diff


@pytest.fixture
def store():
    return InMemoryPromptStore()


def test_versions_count_up_for_each_agent(store):
    assert store.current("a") is None
    assert store.versions("a") == ()
    store.save("a", "one")
    store.save("a", "two", note="rewrite")
    store.save("b", "other")
    assert [(one.version, one.text, one.note) for one in store.versions("a")] == [(1, "one", ""), (2, "two", "rewrite")]
    assert store.current("b").version == 1


def test_the_same_text_again_is_no_new_version(store):
    first = store.save("a", "one")
    assert store.save("a", "one") == first
    store.save("a", "two")
    assert store.save("a", "one").version == 3


def test_rollback_is_a_new_version(store):
    store.save("a", "one")
    store.save("a", "two")
    back = store.rollback("a", 1)
    assert (back.version, back.text, back.note) == (3, "one", "rollback to version 1")
    assert store.current("a") == back


def test_diff(store):
    store.save("a", "You add.\nBe brief.")
    store.save("a", "You add.\nCheck twice.")
    assert store.diff("a", 1, 2).splitlines() == [
        "--- a v1",
        "+++ a v2",
        "@@ -1,2 +1,2 @@",
        " You add.",
        "-Be brief.",
        "+Check twice.",
    ]


@pytest.mark.parametrize("version", [0, 2, -1])
def test_a_version_that_is_not_there(store, version):
    store.save("a", "one")
    with pytest.raises(StoreError, match=r"'a', expected one of: 1"):
        store.rollback("a", version)
    with pytest.raises(StoreError, match="none"):
        store.diff("nobody", version, 1)


def test_the_diff_of_equal_prompts_is_empty():
    assert prompt_diff("x", "x") == ""
    assert "+y" in prompt_diff("", "y")


def test_threads_do_not_lose_versions(store):
    threads = [
        threading.Thread(target=lambda name=name: [store.save("a", f"{name}-{index}") for index in range(50)])
        for name in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.version for one in store.versions("a")] == list(range(1, 401))


def test_it_is_a_prompt_store(store):
    assert isinstance(store, PromptStore)
