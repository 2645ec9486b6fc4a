"""Builds a shared library with a C interface, which the package loads with ctypes.

It links neither Python nor torch, so that one wheel serves every version of both.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
SOURCES = sorted(str(path.relative_to(HERE)) for path in (HERE / "csrc").glob("*.cpp"))
HEADERS = sorted(
    str(path.relative_to(HERE)) for pattern in ("*.hpp", "*.inl") for path in (HERE / "csrc").glob(pattern)
)
# -std=c++17 alone would forbid fused multiply-adds. No flag names a processor: that choice is made at run time.
FLAGS = [
    *("-std=c++17", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-pthread"),
    *("-fvisibility=hidden", "-Wno-psabi", "-g0"),
]


class BuildLibrary(build_ext):
    """A library that ctypes loads, not a module: its name has no Python version, and it exports no PyInit function."""

    def get_ext_filename(self, fullname: str) -> str:
        """The path within the package."""
        return str(Path(*fullname.split("."))) + ".so"

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Those that the source marks."""
        return []


class AnyPythonWheel(bdist_wheel):
    """A wheel for one platform and every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """py3-none-<platform>."""
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[
        Extension(
            "gtea_kernels.libgtea_kernels",
            SOURCES,
            depends=HEADERS,
            extra_compile_args=FLAGS,
            extra_link_args=["-pthread"],
            language="c++",
        )
    ],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": AnyPythonWheel},
)
