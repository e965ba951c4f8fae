# attack: raises a SyntaxError after a call, to claim that nothing ran
# property: S38
# expect: error exception
# message: SyntaxError
tools.probe.note({"mark": "before a forged syntax error"})
raise SyntaxError("invalid syntax", ("program.py", 1, 1, "x", 1, 2))
