"""The arithmetic of memory and time agrees with hand-made sums, with autograd, and with the example files."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "configs"


@pytest.fixture(scope="module")
def load() -> Iterator[Any]:
    """Import a module that lies beside the command."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def arithmetic(load: Any) -> Any:
    return load("_train_arithmetic")


@pytest.fixture(scope="module")
def planning(load: Any) -> Any:
    return load("train_plan")


def test_parameters_are_those_that_are_published(planning: Any) -> None:
    assert planning.QWEN3["qwen3-8b"].parameters == 8_190_735_360
    assert planning.QWEN3["qwen3-4b"].parameters == 4_022_468_096


@pytest.fixture
def small(arithmetic: Any) -> Any:
    return arithmetic.Shape(layers=2, width=8, inner=16, heads=2, kv_heads=1, head_width=4, vocabulary=100, tied=False)


def test_the_parts_are_what_they_come_to_by_hand(arithmetic: Any, small: Any) -> None:
    assert small.linear == 2 * (8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16)
    assert small.parameters == small.linear + 2 * 16 + 8 + 2 * 800
    assert small.adapter(1) == 2 * (16 + 2 * 12 + 16 + 3 * 24)
    whole = arithmetic.training_memory(small, arithmetic.Run(tokens=10))
    assert whole["weights"] == whole["gradients"] == 4 * small.parameters
    assert whole["optimiser"] == 8 * small.parameters
    adapter = arithmetic.training_memory(small, arithmetic.Run(tokens=10, lora_rank=1))
    assert adapter["weights"] == 2 * small.parameters + 4 * small.adapter(1)
    assert adapter["gradients"] == 4 * small.adapter(1)
    assert arithmetic.cache_per_token(small) == 2 * 2 * 4 * 2
    shards = arithmetic.training_memory(small, arithmetic.Run(tokens=10, devices=8))
    assert shards["optimiser"] == whole["optimiser"] / 8


def test_operations_are_six_for_each_weight_four_with_an_adapter_and_a_third_more_with_checkpointing(
    arithmetic: Any, planning: Any
) -> None:
    shape = planning.QWEN3["qwen3-8b"]

    def per_weight(**options: Any) -> float:
        run = arithmetic.Run(tokens=64, reply_tokens=1, **options)
        return float(arithmetic.training_flops(shape, run)) / 64 / shape.linear

    assert per_weight() == pytest.approx(6, rel=0.01)
    assert per_weight(lora_rank=8) == pytest.approx(4, rel=0.01)
    assert per_weight(checkpointing=True) == pytest.approx(8, rel=0.01)


def test_checkpointing_sharding_and_fewer_replies_save_memory(arithmetic: Any, planning: Any) -> None:
    shape = planning.QWEN3["qwen3-8b"]

    def total(**options: Any) -> float:
        return float(sum(arithmetic.training_memory(shape, arithmetic.Run(tokens=8192, **options)).values()))

    assert total(checkpointing=True) < 0.7 * total()
    assert total(checkpointing=True, devices=8) < 0.3 * total(checkpointing=True)
    assert total(lora_rank=16, checkpointing=True) < 0.2 * total(checkpointing=True)
    run = arithmetic.Run(tokens=8192, lora_rank=16, checkpointing=True)
    eight, sixty_four = (sum(arithmetic.rollout_memory(shape, run, at_once=n).values()) for n in (8, 64))
    assert eight < 40e9 < 80e9 < sixty_four


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
@pytest.mark.parametrize("rank", [0, 8])
def test_what_is_kept_for_a_token_is_what_autograd_keeps(arithmetic: Any, tmp_path: Path, kind: str, rank: int) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")
    tokens, kept = 320, []
    for layers in (1, 2):
        config = getattr(transformers, f"{kind}Config")(
            vocab_size=512, hidden_size=256, intermediate_size=704, num_hidden_layers=layers, num_attention_heads=8,
            num_key_value_heads=2, head_dim=32, max_position_embeddings=1024,
        )  # fmt: skip
        dtype = torch.bfloat16 if rank else torch.float32
        model = whole = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
        if rank:
            lora = peft.LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")
            whole = peft.get_peft_model(model, lora)
        own = {one.untyped_storage().data_ptr() for one in whole.parameters()}
        seen: dict[int, Any] = {}

        def keep(one: Any, own: set[int] = own, seen: dict[int, Any] = seen) -> Any:
            is_activation = tokens in one.shape
            if is_activation and one.untyped_storage().data_ptr() not in own:
                seen[one.untyped_storage().data_ptr()] = one
            return one

        ids = torch.zeros((1, tokens), dtype=torch.long)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one), torch.autocast("cpu", torch.bfloat16):
            model.model(input_ids=ids, use_cache=False)
        kept.append(sum(one.untyped_storage().nbytes() for one in seen.values()))
    config.save_pretrained(tmp_path)
    shape = arithmetic.Shape.read(tmp_path)
    assert arithmetic.kept_per_token(shape, lora_rank=rank) == pytest.approx((kept[1] - kept[0]) / tokens, rel=0.01)


def test_a_shape_is_read_from_its_folder(arithmetic: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2,
                "vocab_size": 100, "tie_word_embeddings": True, "model_type": "llama",
            }
        )
    )  # fmt: skip
    shape = arithmetic.Shape.read(tmp_path)
    assert (shape.kv_heads, shape.head_width, shape.tied, shape.query_norm) == (2, 4, True, False)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("judge-*gb.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("shape", ["qwen3-8b", "qwen3-4b"])
def test_every_example_fits_the_machine_in_its_name(planning: Any, path: Path, shape: str) -> None:
    config = tomllib.loads(path.read_text())
    machine = planning.MACHINES[path.stem.rpartition("-")[2].removesuffix("gb")]
    found = planning.plan(planning.QWEN3[shape], config, machine, rows=400)
    assert found.fits, f"needs {found.needed / 1e9:.1f} GB"
    assert found.hours > 0


def test_a_whole_model_of_8b_does_not_fit_one_gpu_of_80_gb(planning: Any) -> None:
    config = {"context_tokens": 8192, "gradient_checkpointing": True}
    assert not planning.plan(planning.QWEN3["qwen3-8b"], config, planning.MACHINES["1x80"], rows=1).fits
