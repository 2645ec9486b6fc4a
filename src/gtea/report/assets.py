"""The templates, the one style sheet and the scripts of all pages, and the policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

_FOLDER = resources.files("gtea.report") / "templates"
_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render(template: str, content: dict[str, Any], data: dict[str, Any]) -> str:
    """A whole page: no request leaves it, and nothing but our own style and script runs in it."""
    return _page(template, content, data, "page.js", file_policy())


def render_live(template: str, content: dict[str, Any]) -> str:
    """A page of the service: it asks the service that it is from, and nobody else."""
    return _page(template, content, {}, "live.js", live_policy())


def render_still(template: str, content: dict[str, Any]) -> str:
    """A whole page without a script: one that shows figures and has nothing to operate."""
    style = _asset("page.css")
    return (
        _environment().get_template(template).render(**content, policy=content_policy(style), style=Markup(style))  # noqa: S704 (our own file)
    )


def render_part(template: str, content: dict[str, Any]) -> str:
    """A part of a page, to be put into it."""
    return _environment().get_template(template).render(**content)


def content_policy(style: str, script: str | None = None, *, asks: bool = False) -> str:
    """A Content-Security-Policy that lets exactly this style and this script, or none, in.

    Args:
        asks: Whether the page may send forms and requests to where it is from.
    """
    scripts = "" if script is None else f"script-src {_digest(script)}; "
    target = "'self'" if asks else "'none'"
    requests = "connect-src 'self'; " if asks else ""
    styles = f"style-src {_digest(style)}"
    return f"default-src 'none'; {scripts}{styles}; {requests}base-uri 'none'; form-action {target}"


def file_policy() -> str:
    """The policy of a page that is a file, or could be one."""
    return content_policy(_asset("page.css"), _script("page.js"))


def live_policy() -> str:
    """The policy of a page that asks the service."""
    return content_policy(_asset("page.css"), _script("live.js"), asks=True)


def page_data(content: dict[str, Any]) -> Markup:
    """JSON that can stand in a page: no text in it can end the element or begin another."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate can't be written as UTF-8.
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return Markup(text.translate(_ESCAPED))  # noqa: S704 (escaped here)


def _page(template: str, content: dict[str, Any], data: dict[str, Any], script: str, policy: str) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            **content,
            policy=policy,
            style=Markup(_asset("page.css")),  # noqa: S704 (our own file)
            script=Markup(_script(script)),  # noqa: S704 (our own file)
            data=page_data(data),
        )
    )


def _script(name: str) -> str:
    return f"{_asset('theme.js')}\n{_asset(name)}"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("gtea.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
