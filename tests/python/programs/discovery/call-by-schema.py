# Builds arguments from the schema of a tool.
tool = describe("weather", "get_forecast")
samples = {"string": "Nairobi", "integer": 2}
args = {name: samples[spec["type"]] for name, spec in tool["inputSchema"]["properties"].items()}
forecast = tools["weather"]["get_forecast"](args)
print(args, [d["high"] for d in forecast["days"]])
