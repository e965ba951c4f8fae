# Every kind of result and the value it becomes.
import json
print(repr(tools.shapes.plain_text()), repr(tools.shapes.number_text()), tools.shapes.nothing())
print(json.loads(tools.shapes.json_list())[1]["name"], tools.shapes.typed_text()["items"], repr(tools.shapes.many_texts()))
caption, picture = tools.shapes.picture()
print(caption, picture["bytes"], picture["mimeType"], tools.weather.get_alerts(city="Paris"))
for value in (None, 0, "", [], {"a": [1, {"b": None}]}, "☕", 1.5, True):
    assert tools.shapes.echo(value=value)["value"] == value
print("echoed")
