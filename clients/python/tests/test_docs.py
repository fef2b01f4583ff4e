"""Examples in docstrings and in the README do what they say. Needs `npm run build` and Node."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import unittest
from typing import Any

import smg.rl._errors
import smg.rl._models
from tests.support import ROOT, gateway, mock_engine

README = (ROOT / "clients" / "python" / "README.md").read_text(encoding="utf-8")


class Versions(unittest.TestCase):
    def test_the_package_says_what_its_metadata_say(self) -> None:
        metadata = (ROOT / "clients" / "python" / "pyproject.toml").read_text(encoding="utf-8")
        self.assertIn(f'\nversion = "{smg.__version__}"\n', metadata)


class Docstrings(unittest.TestCase):
    def test_examples(self) -> None:
        for module in (smg.rl._errors, smg.rl._models):
            result = doctest.testmod(module, verbose=False)  # whatever `-v` means to unittest
            self.assertEqual(result.failed, 0)
            self.assertGreater(result.attempted, 0)


class Readme(unittest.TestCase):
    def start(self) -> tuple[str, list[str]]:
        engines = [mock_engine("--kind", "sglang") for _ in range(2)]
        for program, _ in engines:
            self.addCleanup(program.kill)
        urls = sorted(url for _, url in engines)
        program, url = gateway(urls, "--enable-rl")
        self.addCleanup(program.kill)
        return url, urls

    def test_five_minutes(self) -> None:
        url, urls = self.start()
        names = {"http://127.0.0.1:30000": url, "http://127.0.0.1:31001": urls[0], "http://127.0.0.1:31002": urls[1]}
        blocks = re.findall(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), README.count("```python"))
        self.assertGreater(len(blocks), 4)
        variables: dict[str, Any] = {}
        for code, said in blocks:
            for name, actual in names.items():
                code, said = code.replace(name, actual), said.replace(name, actual)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, "README.md", "exec"), variables)
            self.assertEqual(sorted(output.getvalue().splitlines()), sorted(said.splitlines()), code)

    def test_the_module_docstring(self) -> None:
        url, _ = self.start()
        text = smg.rl.__doc__ or ""
        code = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    ") or not line)
        code = code.replace("http://127.0.0.1:30000", url)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, "smg.rl", "exec"), {})
        self.assertEqual(output.getvalue().count("sglang ready active None"), 2)


if __name__ == "__main__":
    unittest.main()
