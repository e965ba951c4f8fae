# A text table with columns as wide as they have to be.
def table(rows, columns):
    cells = [[str(column) for column in columns]] + [["" if row.get(c) is None else str(row[c]) for c in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for at, line in enumerate(cells):
        print(" | ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if at == 0:
            print("-+-".join("-" * width for width in widths))

table(tools.github.list_repos(owner="acme")["repos"], ["name", "language", "stars", "license"])
