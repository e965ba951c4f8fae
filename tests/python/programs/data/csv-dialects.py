# Semicolons, decimal commas, sniffing, and writing with a custom dialect.
import csv
import io
from decimal import Decimal

text = tools.shop.export_csv()
dialect = csv.Sniffer().sniff(text.splitlines()[0], delimiters=";,|")
rows = list(csv.reader(io.StringIO(text, newline=""), dialect))
total = sum(Decimal(qty) * Decimal(price.replace(",", ".")) for _, _, qty, price in rows[1:])
print(dialect.delimiter, rows[0], total)
out = io.StringIO()
csv.DictWriter(out, ["a", "b"], extrasaction="ignore", restval="-", delimiter="\t").writerows([{"a": 'x "y"', "c": 1}, {"a": "new\nline", "b": None}])
repr(out.getvalue())
