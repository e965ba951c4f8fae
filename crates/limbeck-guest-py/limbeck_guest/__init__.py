"""What a program finds around it: tools, results, an event loop, and words for what goes wrong.

The package is imported once, when the component is built, and its state is stored with the memory of
the interpreter. An instance then serves one program: `main.run` is called once.

- `host` is the only door; `calls` numbers what goes through it and keeps the answers.
- `source` reads a program, `rewrite` and `unawaited` change its tree, `main` runs it.
- `tools`, `catalog`, `models`, `compat_names` and `compat_runtime` are what a program calls; `loop` lets it wait.
- `values` and `jsontext` turn its values into JSON; `report`, `hints` and `refusals` say what went wrong.

Two rules hold in every module. The same answers in the same order give the same behaviour: nothing
reads a clock or a random number but through the interpreter, whose clock and random bytes are the
host's. And what a program replaces in the standard library or in `builtins` is its own: functions that
a report depends on are taken when a module is imported (`seal` gives programs copies).
"""
