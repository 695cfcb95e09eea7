"""Training an adapter for a tiny random model: it learns, it stops, it goes on, peft loads it."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import ChatTurn, CompactTool, PromptParts
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.packing import pack
from webmcp_agent.providers.trainer import Trainer
from webmcp_agent.providers.training import CHECKPOINT, rate_at, train
from webmcp_agent.providers.training_values import Conversation, Plan, Progress, TrainingOptions

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]

OPTIONS = TrainingOptions(
    rank=4, learning_rate=0.02, pack_tokens=600, epochs=12, checkpoint_every=2, validate_every=1000
)
SYSTEM = "You are the assistant on this web page. You act with the page's tools."
TOOLS = (CompactTool("open_product", "Open a product.", {"type": "object", "properties": {}}),)


@pytest.fixture(scope="module")
def template() -> str:
    path = Path(__file__).parents[2] / "providers" / "default_adapter" / "chat_template.jinja"
    return path.read_text(encoding="utf-8")


def conversations() -> list[Conversation]:
    asked = [("mug", "It costs 8."), ("tent", "It costs 229."), ("pen", "No."), ("bag", "Yes.")]
    return [
        Conversation(PromptParts(SYSTEM, (ChatTurn("user", f"{word}?"),), TOOLS), reply)
        for word, reply in asked
    ]


def adapter_of(folder: Path) -> dict[str, Any]:
    load: Any = import_module("safetensors.torch").load_file
    return load(folder / "adapter_model.safetensors")


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(bool((left[k] == right[k]).all()) for k in left)


def test_it_learns_the_replies_and_peft_loads_what_it_saved(
    tiny_model: Path, tmp_path: Path, template: str
) -> None:
    plans: list[Plan] = []
    seen: list[Progress] = []
    result = train(
        tiny_model,
        conversations(),
        tmp_path,
        template=template,
        options=OPTIONS,
        held_out=conversations(),
        on_plan=plans.append,
        on_progress=seen.append,
    )
    assert result.finished
    assert result.losses[-1] < 0.5 < 2 < result.losses[0]
    assert result.validations[-1].exact == 1.0
    assert [p.step for p in seen] == list(range(1, result.steps + 1))
    assert plans[0].steps == result.steps
    assert plans[0].tokens == result.computed_tokens
    assert plans[0].seconds > 0
    assert not (tmp_path / CHECKPOINT).exists()
    config = json.loads((tmp_path / "adapter_config.json").read_text(encoding="utf-8"))
    assert (config["r"], config["peft_type"]) == (4, "LORA")
    assert (tmp_path / "chat_template.jinja").read_text(encoding="utf-8") == template
    base = import_module("transformers").AutoModelForCausalLM.from_pretrained(tiny_model)
    tuned = import_module("peft").PeftModel.from_pretrained(base, tmp_path)
    assert same(
        import_module("peft").get_peft_model_state_dict(tuned),
        {key: value.float() for key, value in adapter_of(tmp_path).items()},
    )


def test_stop_keeps_a_checkpoint_and_the_end_is_the_same_as_without_it(
    tiny_model: Path, tmp_path: Path, template: str
) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    train(tiny_model, conversations(), whole, template=template, options=OPTIONS)
    controller = AbortController()

    def stop_at_five(progress: Progress) -> None:
        if progress.step == 5:
            controller.abort()

    first = train(
        tiny_model,
        conversations(),
        halves,
        template=template,
        options=OPTIONS,
        on_progress=stop_at_five,
        signal=controller.signal,
    )
    assert (first.finished, first.steps) == (False, 5)
    assert (halves / CHECKPOINT).exists()
    assert not (halves / "adapter_model.safetensors").exists()
    rest: list[int] = []
    second = train(
        tiny_model,
        conversations(),
        halves,
        template=template,
        options=OPTIONS,
        on_progress=lambda p: rest.append(p.step),
    )
    assert second.finished
    assert rest[0] == 6
    assert second.losses[:5] == first.losses
    assert same(adapter_of(whole), adapter_of(halves))


def test_a_checkpoint_of_another_recipe_is_not_gone_on_from(
    tiny_model: Path, tmp_path: Path, template: str
) -> None:
    controller = AbortController()
    controller.abort()
    train(
        tiny_model, conversations(), tmp_path, template=template, options=OPTIONS,
        signal=controller.signal,
    )  # fmt: skip
    assert (tmp_path / CHECKPOINT).exists()
    steps: list[int] = []
    train(
        tiny_model,
        conversations()[:2],
        tmp_path,
        template=template,
        options=OPTIONS,
        on_progress=lambda p: steps.append(p.step),
    )
    assert steps[0] == 1


def test_a_training_can_begin_with_an_adapter_and_refuses_one_of_another_rank(
    tiny_model: Path, tmp_path: Path, template: str
) -> None:
    start = tmp_path / "start"
    learnt = train(tiny_model, conversations(), start, template=template, options=OPTIONS)
    again = TrainingOptions(rank=4, learning_rate=0.001, pack_tokens=600)
    out = tmp_path / "out"
    further = train(tiny_model, conversations(), out, template=template, options=again, start=start)
    # The saved adapter is rounded to bfloat16, so its loss is near, not equal.
    assert further.losses[0] < learnt.losses[0] / 2
    with pytest.raises(ModelUnavailable, match="another rank"):
        train(
            tiny_model, conversations(), out, template=template,
            options=TrainingOptions(rank=8), start=start,
        )  # fmt: skip


def test_a_pack_gives_the_logits_of_each_example_alone(tiny_model: Path, template: str) -> None:
    torch: Any = import_module("torch")
    trainer = Trainer(tiny_model, OPTIONS)
    trainer.model.float()
    for weight in trainer.weights:
        torch.nn.init.normal_(weight.data, std=0.1)
    examples = trainer.encode(conversations(), template)
    together = trainer.logits(pack(examples)).detach()
    alone = torch.cat([trainer.logits(pack([each])) for each in examples]).detach()
    assert float((together - alone).abs().max()) < 1e-4
    plain = trainer.model
    plain.base_model.model.set_attn_implementation("eager")
    ids = torch.tensor([examples[0].computed])
    logits = plain(input_ids=ids, use_cache=False).logits[0].detach()
    first = pack(examples[:1])
    assert float((logits[first.predicting] - alone[: len(first.targets)]).abs().max()) < 1e-4


def texts(trainer: Trainer, one: Conversation, template: str) -> Sequence[str]:
    [example] = trainer.encode([one], template)
    return [trainer.tokenizer.decode(example.ids[a:b]) for a, b in example.replies]


def test_earlier_replies_of_a_conversation_are_learnt_with_their_end(
    tiny_model: Path, template: str
) -> None:
    trainer = Trainer(tiny_model, OPTIONS)
    turns = (
        ChatTurn("user", "mug?"),
        ChatTurn("assistant", "It costs 8."),
        ChatTurn("user", "tent?"),
        ChatTurn("assistant", "wrong"),
        ChatTurn("user", "no, tent"),
    )
    one = Conversation(PromptParts(SYSTEM, turns, TOOLS), "It costs 229.", learnt=(1,))
    assert texts(trainer, one, template) == ["It costs 8.<|im_end|>", "It costs 229.<|im_end|>"]


def test_the_rate_rises_stays_and_falls() -> None:
    options = TrainingOptions(learning_rate=1.0, warmup=0.1, falling=0.3, lowest_rate=0.1)
    rates = [rate_at(step, 100, options) for step in range(100)]
    assert rates[0] == 0.1
    assert rates[9:70] == [1.0] * 61
    assert sorted(rates[70:], reverse=True) == rates[70:]
    assert 0.1 <= rates[-1] < 0.11
