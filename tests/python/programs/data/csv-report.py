# Reads CSV with quotes and missing cells, writes another.
import csv
import io

text = tools.filesystem.read_file(path="/data/sales.csv")
rows = list(csv.DictReader(io.StringIO(text)))
by_region = {}
for row in rows:
    units = int(row["units"] or 0)
    by_region.setdefault(row["region"], [0, 0.0])
    by_region[row["region"]][0] += units
    by_region[row["region"]][1] += units * float(row["price"])

out = io.StringIO()
writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
writer.writerow(["region", "units", "revenue"])
for region, (units, revenue) in sorted(by_region.items()):
    writer.writerow([region, units, round(revenue, 2)])
print(out.getvalue(), end="")
print(rows[2]["product"], len(rows))
