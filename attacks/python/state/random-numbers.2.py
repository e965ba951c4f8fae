# attack: compares its random draws with those of the program before
# property: S12
# expect: value [10, 0]
import email.utils
import os
import random
import secrets
import tempfile
import uuid

draws = [
    random.random(), random.Random().random(), random.SystemRandom().random(), random.getrandbits(64), os.urandom(8).hex(),
    secrets.token_hex(8), str(uuid.uuid4()), str(uuid.uuid1()), next(tempfile._get_candidate_names()), email.utils.make_msgid(),
]
before = store.get("python random")
return [len(before), len([draw for draw in draws if draw in before])]
