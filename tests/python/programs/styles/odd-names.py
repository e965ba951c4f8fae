# Servers and tools whose names are no identifiers or are keywords.
first = tools["legacy-api"]["Get-Weird.name"](id=5)
second = tools["legacy-api"]["import"]({"from": "x", "class": "y"})
third = tools["legacy-api"]["get items"]()
fourth = tools["time-series"]["list-metrics"]()
fifth = tools.time_series.query_range(metric="cpu", minutes=2)
print(first["weird"], second["class"], third["items"], fourth["metrics"], len(fifth["points"]))
