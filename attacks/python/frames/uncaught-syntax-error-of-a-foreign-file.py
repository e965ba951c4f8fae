# attack: raises a SyntaxError that names a file of the host, whose line the traceback would show
# property: S02
# input: {"file": "{{canary_file}}"}
# expect: error exception
raise SyntaxError("forged", (input["file"], 1, 1, None, 1, 5))
