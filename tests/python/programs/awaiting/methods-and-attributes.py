# Awaits in methods, properties of results, and calls kept on objects.
import asyncio

class Dashboard:
    def __init__(self):
        self.pending = {"pages": tools.wiki.list_pages(), "deals": tools.crm.list_deals(stage="won")}

    async def load(self):
        for name, call in self.pending.items():
            setattr(self, name, await call)
        return self

    async def __aenter__(self):
        return await self.load()

    async def __aexit__(self, *exc):
        self.pending.clear()

async with Dashboard() as board:
    print(len(board.pages["pages"]), [d["id"] for d in board.deals["deals"]])
print(board.pending)
