# Records to nested dataclasses by their annotations, and back to JSON.
import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import date
from enum import Enum
from typing import get_args, get_origin, get_type_hints

class Stage(Enum):
    LEAD = "lead"
    QUALIFIED = "qualified"
    PROPOSAL = "proposal"
    WON = "won"
    LOST = "lost"

@dataclass
class Deal:
    id: str
    amount: float
    stage: Stage
    close_date: date

@dataclass
class Pipeline:
    owner: str
    deals: list[Deal] = field(default_factory=list)

def load(kind, value):
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{f.name: load(hints[f.name], value[f.name]) for f in fields(kind) if f.name in value})
    if get_origin(kind) is list:
        return [load(get_args(kind)[0], item) for item in value]
    if kind is date:
        return date.fromisoformat(value)
    return kind(value)

pipeline = load(Pipeline, {"owner": "ada", **tools.crm.list_deals(owner="ada")})
print(pipeline.deals[0], len(pipeline.deals), min(d.close_date for d in pipeline.deals))
print(json.dumps(asdict(pipeline.deals[1]), default=lambda o: o.value if isinstance(o, Enum) else str(o)))
