# textwrap: fill, indent, dedent, shorten.
import textwrap

issue = tools.github.get_issue(owner="a", repo="b", number=9)
body = (issue["body"] + " " + issue["title"] + ". ") * 3
print(textwrap.fill(body, width=50, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(body, width=60, placeholder=" …"))
print(textwrap.indent("a\n\nb", "> ", lambda line: True))
print(textwrap.dedent("""\
    first
      second
    third"""))
