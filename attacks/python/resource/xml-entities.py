# attack: XML whose entities multiply a billion times
# property: S23
# timeout_ms: 2000
# expect: error exception|memory_limit|timeout
import xml.etree.ElementTree

levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
text = f'<!DOCTYPE x [<!ENTITY e0 "{"x" * 100}">{levels}]><x>&e9;</x>'
xml.etree.ElementTree.fromstring(text)
