# ast and tokenize over Python source of a repository.
import ast
import io
import tokenize

source = tools.github.get_file_contents(owner="a", repo="b", path="src/app.py")
tree = ast.parse(source)
print([(type(n).__name__, n.name, n.lineno) for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))])
comments = [(t.start[0], t.string) for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type == tokenize.COMMENT]
print(comments, ast.literal_eval("{'a': [1, (2, None)]}"), ast.unparse(ast.parse("x=1+2*3")))
try:
    ast.literal_eval("__import__('os')")
except ValueError:
    print("not a literal")
