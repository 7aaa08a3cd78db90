"""Every failure from the field is in SCENARIOS.md, with tests that exist."""

import ast
import os
import re
import unittest

TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
ROWS = 40


def rows(text):
    """Number -> the tests named."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\| (\d+) \| [^|]+ \| ([^|]+) \|$", line)
        if match:
            found[int(match.group(1))] = re.findall(r"`([^`]+)`", match.group(2))
    return found


def exists(name):
    file, _, test = name.partition(" ")
    python = os.path.join(TESTS, file + ".py")
    if os.path.exists(python):
        with open(python, encoding="utf-8") as source:
            tree = ast.parse(source.read())
        return any(
            isinstance(method, ast.FunctionDef) and f"{case.name}.{method.name}" == test
            for case in tree.body if isinstance(case, ast.ClassDef) for method in case.body
        )  # fmt: skip
    with open(os.path.join(TESTS, file + ".c"), encoding="utf-8") as source:
        return re.search(rf"^static void {re.escape(test)}\(void \*\*state\)", source.read(), re.M) is not None


class Scenarios(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(TESTS, "SCENARIOS.md"), encoding="utf-8") as file:
            self.rows = rows(file.read())

    def test_every_row(self):
        self.assertEqual(sorted(self.rows), list(range(1, ROWS + 1)))
        self.assertEqual([number for number, tests in self.rows.items() if not tests], [])

    def test_every_test_exists(self):
        missing = [name for tests in self.rows.values() for name in tests if not exists(name)]
        self.assertEqual(missing, [])

    def test_the_check(self):
        self.assertFalse(exists("live/test_field Field.test_that_nobody_wrote"))
        self.assertFalse(exists("unit/test_queue test_that_nobody_wrote"))
        self.assertEqual(rows("| 7 | nothing | `a b` `c d` |\n| 8 | no test | none |"), {7: ["a b", "c d"], 8: []})


if __name__ == "__main__":
    unittest.main()
