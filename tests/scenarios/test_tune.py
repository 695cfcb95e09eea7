"""Tuning for a site: its lessons, a real training of a tiny model, card, curve and table."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tests.providers.conftest import build_model, build_tokenizer
from webmcp_agent.browser.tools import PageTool
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.training_values import TrainingOptions
from webmcp_agent.scenarios.curriculum import Example
from webmcp_agent.scenarios.exam import ExamResult, Score
from webmcp_agent.scenarios.learning_curve import curve_svg, smoothed
from webmcp_agent.scenarios.lessons_site import in_words
from webmcp_agent.scenarios.tune import (
    TuneSettings,
    score_table,
    site_conversations,
    tools_from_json,
    tune_curriculum,
    tune_site,
    write_card,
)

TOOLS = [
    PageTool(
        "set_size",
        "Change the size.",
        {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["small", "large"]}},
            "required": ["size"],
        },
    ),
    PageTool(
        "add-topping",
        "Put a topping on it",
        {
            "type": "object",
            "properties": {
                "topping": {"type": "string", "description": "What to add, e.g. olives"},
                "amount": {"type": "integer", "minimum": 1, "maximum": 5},
                "double": {"type": "boolean"},
            },
            "required": ["topping"],
        },
    ),
    PageTool("reset", "", None),
]


def calls(examples: list[Example]) -> list[tuple[str, str]]:
    return [example.call for example in examples if example.call is not None]


def test_lessons_for_a_site_call_its_tools_with_values_that_its_schemas_allow() -> None:
    made = [*site_conversations(TOOLS, "Maker", "1", 60)]
    called = [call for examples in made for call in calls(examples)]
    assert {name for name, _ in called} == {tool.name for tool in TOOLS}
    for name, text in called:
        args = json.loads(text)
        if name == "set_size":
            assert args["size"] in {"small", "large"}
        if "amount" in args:
            assert 1 <= args["amount"] <= 5
        if name == "reset":
            assert args == {}
    assert made == [*site_conversations(TOOLS, "Maker", "1", 60)]
    assert made != [*site_conversations(TOOLS, "Maker", "2", 60)]


@pytest.mark.parametrize(
    ("choice", "name", "said"),
    [
        ("sauce-layer", "layer", "sauce"),
        ("sauce-layer", "", "sauce layer"),
        ("PRICE_ASC", "sort", "price asc"),
        ("🌽", "topping", "ear of maize"),
        ("layer", "layer", "layer"),
        ("大", "size", "大"),
        ("", "size", ""),
    ],
)
def test_a_choice_is_said_in_words(choice: str, name: str, said: str) -> None:
    assert in_words(choice, name) == said


def test_tools_are_read_from_a_list_and_from_a_contract() -> None:
    listed: list[JsonValue] = [
        {"name": "a", "description": "A.", "input_schema": {"type": "object"}}
    ]
    tool = PageTool("a", "A.", {"type": "object"})
    assert tools_from_json(listed) == [tool]
    assert tools_from_json({"tools": listed}) == [tool]
    with pytest.raises(ValueError, match="no list of tools"):
        tools_from_json({"name": "a"})
    with pytest.raises(ValueError, match="without a name"):
        tools_from_json([{"description": "A."}])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = build_tokenizer()
    build_model(len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def assert_mean_of(mean: Path, adapters: list[Path]) -> None:
    torch: Any = import_module("torch")
    load: Any = import_module("safetensors.torch").load_file
    found = load(str(mean / "adapter_model.safetensors"))
    each = [load(str(adapter / "adapter_model.safetensors")) for adapter in adapters]
    assert all(one.keys() == found.keys() for one in each)
    for name, weight in found.items():
        between = torch.stack([one[name].float() for one in each]).mean(0)
        assert torch.allclose(between, weight.float(), rtol=0.01), name


QUICK = TrainingOptions(rank=2, pack_tokens=9000, validate_every=1000)


@pytest.mark.model
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_the_curriculum_trains_an_adapter_with_a_curve(tiny: Path, tmp_path: Path) -> None:
    settings = TuneSettings(tmp_path, examples=30, held_out=2, options=QUICK)
    result = tune_curriculum(tiny, settings)
    assert result.finished
    assert (tmp_path / "stage-1" / "adapter_model.safetensors").exists()
    weights = tmp_path / "adapter_model.safetensors"
    first, again = weights.read_bytes(), tune_curriculum(tiny, settings)
    assert (again, weights.read_bytes()) == (result, first)
    assert_mean_of(tmp_path, [tmp_path / f"stage-{number}" for number in (7, 8, 8, 8, 9, 9)])
    assert {path.name for path in tmp_path.iterdir()} >= {
        "adapter_config.json",
        "adapter_model.safetensors",
        "chat_template.jinja",
        "curve.svg",
        "training.json",
    }
    kept = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))
    assert kept["losses"] == result.losses
    config = json.loads((tmp_path / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    write_card(tmp_path, "a shop", result, "| a | b |\n")
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "# Adapter for a shop" in card
    assert f"{result.steps} steps" in card


@pytest.mark.model
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_tuning_stops_at_once_and_leaves_a_checkpoint(tiny: Path, tmp_path: Path) -> None:
    controller = AbortController()
    controller.abort()
    settings = TuneSettings(tmp_path, examples=8, held_out=1, options=QUICK)
    result = tune_curriculum(tiny, settings, signal=controller.signal)
    assert (result.finished, result.steps) == (False, 0)
    assert (tmp_path / "stage-1" / "checkpoint.safetensors").exists()


def test_a_site_without_tools_cannot_be_tuned_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tools"):
        tune_site(tmp_path, [], "Nothing", TuneSettings(tmp_path))


def test_scores_stand_in_one_table() -> None:
    first = ExamResult(kinds={"call": Score(8, 10), "answer": Score(3, 4)}, seconds=[1.0, 2.0, 9.0])
    second = ExamResult(kinds={"call": Score(1, 10)}, seconds=[0.5])
    assert score_table([("tuned", first), ("base", second)]) == (
        "| steps exact | tuned | base |\n"
        "|---|---|---|\n"
        "| answer | 3 of 4 | – |\n"
        "| call | 8 of 10 | 1 of 10 |\n"
        "| all | 11 of 14 (79%) | 1 of 10 (10%) |\n"
        "| median time of a step | 2.0 s | 0.5 s |\n"
    )


def test_a_curve_is_a_picture_even_of_nothing() -> None:
    picture = curve_svg([2.0, 1.0, 0.5], [(3, 0.7)], "Loss <now>")
    assert picture.startswith("<svg")
    assert picture.rstrip().endswith("</svg>")
    assert "Loss &lt;now&gt;" in picture
    assert picture.count("<polyline") == 3
    assert curve_svg([]).count("<polyline") == 0
    assert smoothed([1.0, 1.0, 1.0]) == pytest.approx([1.0, 1.0, 1.0])
