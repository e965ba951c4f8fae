"""Records `limbeck demo` and writes it as an animated SVG, which the README shows.

    python3 packaging/demo/record.py [--check] [LIMBECK]

runs the executable (target/debug/limbeck without an argument) in an empty home and writes docs/images/demo.svg. With
`--check` it writes nothing and compares the picture with a fresh run: every line has to be the same but for its numbers,
because times differ from run to run. No library is needed.
"""

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs/images/demo.svg"

COLUMNS = 102
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.0, 17, 16
# Seconds from one line to the next, and how long the last picture stays.
LINE_S, LAST_S = 0.09, 8.0

# What a reader of the README sees of the output: the program's first lines, its value, its calls, the tokens.
PROGRAM_LINES = 13


def run(limbeck: Path) -> list[str]:
    """The lines of a real run, without those of the program that the picture leaves out."""
    with tempfile.TemporaryDirectory() as home:
        ran = subprocess.run(
            [limbeck, "demo"], env={"HOME": home, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
        )
    lines = ran.stdout.splitlines()
    shown: list[str] = []
    for line in lines:
        number = re.match(r" *(\d+) \|", line)
        if number and int(number[1]) > PROGRAM_LINES:
            if shown[-1] != "    | …":
                shown.append("    | …")
            continue
        shown.append(line)
    end = next(at for at, line in enumerate(shown) if "times fewer tokens" in line)
    return ["$ limbeck demo", "", *shown[: end + 1]]


def kind(line: str) -> str:
    """The class of a line, which decides its color."""
    if line.startswith("$"):
        return "command"
    if re.match(r" *\d* *\|", line):
        return "comment" if re.match(r" *\d+ \| //", line) else "program"
    if "times fewer" in line:
        return "result"
    return "heading" if line and not line.startswith(" ") else "text"


def picture(lines: list[str]) -> str:
    """The SVG: each line appears at its time, and after the last one all begins again. Without animation it shows everything."""
    height = MARGIN * 2 + LINE_HEIGHT * len(lines)
    width = int(MARGIN * 2 + CHARACTER_WIDTH * COLUMNS)
    whole_s = LINE_S * len(lines) + LAST_S
    rows = []
    for at, line in enumerate(lines):
        if not line:
            continue
        y = MARGIN + LINE_HEIGHT * (at + 1) - 4
        begins = 100 * LINE_S * at / whole_s
        animation = f'style="animation:l{at} {whole_s:.1f}s infinite"'
        rows.append((at, begins, f'<text xml:space="preserve" class="{kind(line)}" x="{MARGIN}" y="{y}" {animation}>{escape(line)}</text>'))
    frames = "\n".join(
        f"@keyframes l{at}{{0%,{begins:.2f}%{{opacity:0}}{begins + 0.01:.2f}%,100%{{opacity:1}}}}" for at, begins, _ in rows if begins > 0
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title">
<title id="title">limbeck demo: a program calls two tools ten times, and only its table goes back to the model</title>
<style>
rect{{fill:#10151c}}
text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d3df}}
.command{{fill:#7ee0a2;font-weight:bold}}
.heading{{fill:#8fb8ff}}
.comment{{fill:#7b8794}}
.program{{fill:#e6d3a3}}
.result{{fill:#7ee0a2;font-weight:bold}}
{frames}
@media (prefers-reduced-motion:reduce){{text{{animation:none!important}}}}
</style>
<rect width="100%" height="100%" rx="8"/>
{chr(10).join(row for _, _, row in rows)}
</svg>
"""


def structure(svg: str) -> list[str]:
    """Texts of a picture without what differs from run to run: numbers, and the blanks before them."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return [re.sub(r" *[\d.,]+", " N", text) for text in texts]


def main(arguments: list[str]) -> int:
    """Writes the picture, or compares it."""
    is_check = "--check" in arguments
    named = [argument for argument in arguments if argument != "--check"]
    limbeck = Path(named[0]) if named else ROOT / "target/debug/limbeck"
    fresh = picture(run(limbeck))
    if not is_check:
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        PICTURE.write_text(fresh)
        return 0
    if structure(fresh) == structure(PICTURE.read_text()):
        return 0
    print(f"{PICTURE} is not what `limbeck demo` prints: run python3 packaging/demo/record.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
