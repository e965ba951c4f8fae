# `__init_subclass__`, class decorators and a metaclass keep a registry.
registry = {}

class Handler:
    def __init_subclass__(cls, /, kind, **more):
        super().__init_subclass__(**more)
        registry[kind] = cls

    def handle(self, event):
        return f"{type(self).__name__} took {event['kind']}"

class Login(Handler, kind="login"): ...
class Purchase(Handler, kind="purchase"):
    def handle(self, event):
        return super().handle(event).upper()

class Counted(type):
    def __call__(cls, *args, **kwargs):
        cls.made = getattr(cls, "made", 0) + 1
        return super().__call__(*args, **kwargs)

class Thing(metaclass=Counted): ...

rows = tools.database.query(sql="select kind from events order by id limit 4")["rows"]
for (kind,) in rows:
    handler = registry.get(kind)
    print(handler().handle({"kind": kind}) if handler else f"nobody takes {kind}")
Thing(), Thing()
print(Thing.made, sorted(registry))
