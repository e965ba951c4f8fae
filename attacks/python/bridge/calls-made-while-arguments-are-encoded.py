# attack: calls tools out of the middle of encoding the arguments of another call
# property: S54
# expect: value []
import json


class Inner(dict):
    def items(self):
        tools.probe.echo({"inner": 1})
        return super().items()

    def __iter__(self):
        tools.probe.echo({"inner": 2})
        return super().__iter__()


class Other:
    def __iter__(self):
        yield tools.probe.echo({"inner": 3}).text

    def __repr__(self):
        return tools.probe.echo({"inner": 4}).text


strange = []
for n, value in enumerate([Inner(a=1), [Inner(a=1)], Other(), [Other(), Inner()]]):
    try:
        text = tools.probe.echo({"outer": n, "v": value}).text
        if json.loads(text)["outer"] != n:
            strange.append(text)
    except (TypeError, ValueError, RuntimeError):
        pass
    if tools.probe.echo({"after": n}).text != f'{{"after":{n}}}':
        strange.append(f"after {n}")
return strange
