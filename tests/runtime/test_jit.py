from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from gtea.runtime.jit import jit, only_ours

SOURCE = "from gtea.runtime.jit import jit\n\n\n@jit\ndef double(x):\n    return 2 * x\n"


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module with a compiled function from a folder; the user's cache is a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))

    def load(name: str) -> Any:
        path = tmp_path / name / "compiled.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SOURCE)
        spec = importlib.util.spec_from_file_location("compiled", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return load


def test_a_function_is_compiled_even_if_there_is_nowhere_to_keep_it() -> None:
    scope: dict[str, Any] = {}
    exec(compile("def double(x):\n    return 2 * x", "<nowhere>", "exec"), scope)
    assert jit(scope["double"])(21) == 42


def test_the_cache_is_beside_the_source_if_only_we_can_write_there(imported: Any, tmp_path: Path) -> None:
    double = imported("plain")
    assert double(21) == 42
    assert Path(double.stats.cache_path) == tmp_path / "plain" / "__pycache__"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_pickle_that_others_could_plant_is_never_read(imported: Any, tmp_path: Path, mode: int) -> None:
    """Beside a source that others may write to, and in a NUMBA_CACHE_DIR that is shared."""
    shared = tmp_path / "shared" / "__pycache__"
    shared.mkdir(parents=True)
    shared.chmod(mode)
    double = imported("shared")
    assert double(21) == 42
    assert Path(double.stats.cache_path).is_relative_to(tmp_path / "home" / "gtea-numba")
    assert (tmp_path / "home" / "gtea-numba").stat().st_mode & 0o777 == 0o700
    assert list(shared.glob("*.nb*")) == []


def test_numbas_own_setting_is_kept_but_not_followed_to_a_shared_folder(
    imported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "everybody"
    shared.mkdir()
    shared.chmod(0o777)
    settings: Any = numba.config
    monkeypatch.setattr(settings, "CACHE_DIR", str(shared))
    assert Path(imported("plain").stats.cache_path).is_relative_to(tmp_path / "home")
    assert str(shared) == settings.CACHE_DIR


def test_without_any_safe_folder_there_is_no_cache(imported: Any, tmp_path: Path) -> None:
    (tmp_path / "plain" / "__pycache__").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    for folder in (tmp_path / "plain" / "__pycache__", tmp_path / "home"):
        folder.chmod(0o777)
    double = imported("plain")
    assert double(21) == 42
    assert double.stats.cache_path is None
    assert list(tmp_path.rglob("*.nb*")) == []


def test_a_folder_is_only_ours_if_nobody_can_replace_it(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    check = only_ours.__wrapped__
    assert not check(str(tmp_path / "missing"))
    assert check(str(inner))
    (tmp_path / "a").chmod(0o1777)
    assert check(str(inner))
    (tmp_path / "a").chmod(0o777)
    assert not check(str(inner))
    (tmp_path / "link").symlink_to(inner)
    assert not check(str(tmp_path / "link"))
    (tmp_path / "a").chmod(0o755)
    assert check(str(tmp_path / "link"))
    if os.geteuid() == 0:
        os.chown(inner, 12345, -1)
        assert not check(str(inner))
