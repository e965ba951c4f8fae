# attack: replaces every part of json before a call, so that something else is sent than was checked
# property: S44
# expect: value [{"text": "{\"honest\":1}"}, "{\"honest\":2}"]
import json
import json.decoder
import json.encoder
import json.scanner

forged = '{"forged":1}'
for module in [json, json.encoder, json.decoder, json.scanner]:
    for name in list(vars(module)):
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type):
            setattr(module, name, lambda *args, **kwargs: forged)
for name in ["encode", "iterencode", "default"]:
    setattr(json.JSONEncoder, name, lambda *args, **kwargs: forged)
for name in ["decode", "raw_decode"]:
    setattr(json.JSONDecoder, name, lambda *args, **kwargs: (forged, 1))
return [tools.probe.echo({"honest": 1}), tools.probe.echo({"honest": 2}).text]
