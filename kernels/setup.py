"""Builds the extension with torch's tools. No flag names this machine: the instruction set is chosen at run time."""

import sys
from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = Path(__file__).parent
SOURCES = sorted(str(path.relative_to(HERE)) for path in (HERE / "csrc").glob("*.cpp"))
HEADERS = sorted(
    str(path.relative_to(HERE)) for pattern in ("*.hpp", "*.inl") for path in (HERE / "csrc").glob(pattern)
)
# ISO mode would forbid fused multiply-adds. -fopenmp is for torch's parallel_for, whose library torch brings along:
# linking another one would give two teams of threads.
FLAGS = ["-O3", "-ffp-contract=fast", "-fno-math-errno", "-Wno-psabi", "-g0"]

setup(
    ext_modules=[
        CppExtension(
            "gtea_kernels._core",
            SOURCES,
            depends=HEADERS,
            extra_compile_args=FLAGS + (["-fopenmp"] if sys.platform == "linux" else []),
        )
    ],
    # Ninja would be one more thing to have.
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
