# attack: compiles sources that are deep, long and of many names, again and again
# property: S31
# timeout_ms: 2000
# expect: error timeout|memory_limit|stack_limit
import ast

sources = [
    "(" * 5_000, "-" * 100_000 + "1", "lambda:" * 5_000 + "0", "x" + ".x" * 100_000, "1" + "+1" * 100_000, "[" * 150 + "]" * 150,
    "\n".join(f"v{n} = {n}" for n in range(20_000)), "f'" + "{x}" * 20_000 + "'", "if x:\n pass\n" + "elif x:\n pass\n" * 10_000,
    "".join(" " * n + "if x:\n" for n in range(200)) + " " * 200 + "pass", "x = " * 20_000 + "1", "@x\n" * 20_000 + "def f(): pass", "9" * 4_000,
]
while True:
    for source in sources:
        for f in [lambda: compile(source, "x", "exec"), lambda: ast.dump(ast.parse(source)), lambda: ast.unparse(ast.parse(source))]:
            try:
                f()
            except (SyntaxError, RecursionError, MemoryError, ValueError):
                pass
