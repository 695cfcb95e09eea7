"""What the folders export: each `__all__` is true, whole and in order."""

from types import FunctionType, ModuleType

import pytest

from webmcp_agent import agent, browser, providers
from webmcp_agent.agent import loop, options, ranking, schema, tool_calls, validation
from webmcp_agent.providers import base, detection

FOLDERS = (agent, browser, providers)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_every_exported_name_is_there_and_every_public_name_exported(folder: ModuleType) -> None:
    public = {
        name
        for name, value in vars(folder).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(folder.__all__) == public


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_exported_names_stand_in_order_and_once(folder: ModuleType) -> None:
    """Constants, then types, then functions, each by name."""
    assert list(folder.__all__) == sorted(
        set(folder.__all__), key=lambda name: (not name.isupper(), name[0].islower(), name)
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_everything_exported_is_ours_and_says_what_it_is(folder: ModuleType) -> None:
    for name in folder.__all__:
        value = getattr(folder, name)
        if isinstance(value, type | FunctionType):
            assert value.__module__.startswith("webmcp_agent.")
            assert value.__doc__


def test_the_loop_and_its_options_are_exported() -> None:
    """A-006."""
    assert agent.run_local_agent is loop.run_local_agent
    assert agent.LocalLoopOptions is options.LocalLoopOptions


def test_the_types_of_the_contract_come_from_one_import() -> None:
    """B-004."""
    for name in (
        "CallFormat",
        "ChatTurn",
        "CompactTool",
        "GenerateRequest",
        "GenerateResult",
        "LocalProvider",
        "ProviderAvailability",
    ):
        assert getattr(agent, name) is getattr(providers, name) is getattr(base, name)


def test_the_pure_functions_are_exported() -> None:
    """A-046."""
    assert agent.rank_tools is ranking.rank_tools
    assert agent.compact_schema is schema.compact_schema
    assert agent.parse_tool_calls is tool_calls.parse_tool_calls
    assert agent.write_call is tool_calls.write_call
    assert agent.validate_args is validation.validate_args


def test_engines_are_built_and_found_through_the_providers() -> None:
    """B-006."""
    assert providers.create_transformers_provider is detection.create_transformers_provider
    assert providers.detect_local_providers is detection.detect_local_providers
