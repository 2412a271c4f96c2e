import torch

from tracer_hooks_models.encoder._weights import load_model, pack, unpack


def test_packing_keeps_every_row_to_within_half_a_step_of_its_scale() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(64, 128) * torch.logspace(-3, 3, 64)[:, None]
    packed = pack({"matrix": matrix, "zeros": torch.zeros(64, 128)})
    once = unpack(packed)
    assert packed["matrix"].dtype == torch.int8
    assert ((once["matrix"] - matrix).abs() <= matrix.abs().amax(1, keepdim=True) / 127 * 0.6).all()
    assert not once["zeros"].any()
    assert torch.equal(unpack(pack(once))["matrix"], once["matrix"]), "packed again it is the same"
    small = {"vector": torch.tensor([0.5, -2.0]), "count": torch.arange(3), "empty": torch.zeros(0)}
    kept = unpack(pack(small))
    assert all(torch.equal(kept[name], value) for name, value in small.items())


def test_a_saved_model_gives_nearly_the_same_logits(trained, labeled, base) -> None:
    from tracer_hooks_models.encoder._texts import StepTokenizer, read
    from tracer_hooks_models.encoder._weights import save_model

    model, _ = load_model(trained[0])
    reading = read(labeled(1).trajectory, StepTokenizer(base), model.head.config.features)
    with torch.inference_mode():
        before = model([reading]).agents
    save_model(model, base / "tokenizer.json", trained[0].parent / "copy")
    again, _ = load_model(trained[0].parent / "copy")
    with torch.inference_mode():
        assert torch.allclose(again([reading]).agents, before, atol=0.02)
