# `asyncio.run` gives what `main` returned, in an expression.
import asyncio
import json

async def main() -> dict:
    deals = (await tools.crm.list_deals(owner="grace"))["deals"]
    by_stage: dict[str, float] = {}
    for deal in deals:
        by_stage[deal["stage"]] = by_stage.get(deal["stage"], 0) + deal["amount"]
    return by_stage

summary = asyncio.run(main())
print(json.dumps(summary, indent=2, sort_keys=True))
