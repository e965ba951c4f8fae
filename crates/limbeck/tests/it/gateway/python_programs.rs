//! Random Python programs with the same features as those of `programs`: time, randomness, parallel calls, races,
//! errors, printing.

use proptest::prelude::*;

/// Source of a random program. It calls `t.echo`, `t.slow` and `t.fail`, and its value is their results.
pub(crate) fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(statement(), 1..12).prop_map(|statements| {
        format!(
            "import asyncio, random, secrets, time, uuid
started = time.time()
seen = []
def elapsed():
    return round((time.time() - started) * 1e6)
async def later(ms, value):
    await asyncio.sleep(ms / 1000)
    return value
async def field(call, name):
    return (await call)[name]
async def code_of(call):
    try:
        await call
    except ToolError as error:
        return error.code
async def of(value):
    return value
{}
{{'seen': seen, 'n': len(seen), 'at': elapsed()}}",
            statements.join("\n")
        )
    })
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        expression().prop_map(|e| format!("seen.append(await {e})")),
        prop::collection::vec(expression(), 1..5)
            .prop_map(|es| format!("seen.extend(await asyncio.gather({}))", es.join(", "))),
        prop::collection::vec(expression(), 2..4).prop_map(|es| format!(
            "done, rest = await asyncio.wait([asyncio.ensure_future(e) for e in ({})], return_when=asyncio.FIRST_COMPLETED)
seen.append([len(done), len(rest)])
for task in rest: task.cancel()",
            es.join(", ")
        )),
        prop::collection::vec(expression(), 1..4).prop_map(|es| format!(
            "seen.append([type(r).__name__ for r in await asyncio.gather({}, tools.t.fail(), return_exceptions=True)])",
            es.join(", ")
        )),
        (0..4u32).prop_map(|n| format!(
            "try:
    await tools.t.fail(n={n})
except ToolError as e:
    seen.extend([e.code, e.message])"
        )),
        (1..4u32, expression())
            .prop_map(|(n, e)| format!("for i in range({n}): print('round', i, await {e}, elapsed())")),
        (0..4u32, 1..4u32).prop_map(|(ms, n)| format!(
            "try:
    async with asyncio.timeout({ms} / 1000): seen.append((await tools.t.slow(ms={n}))['ms'])
except TimeoutError:
    seen.append('late')"
        )),
        (1..3u32).prop_map(|n| format!(
            "await store.set('k{n}', len(seen))\nseen.append(await store.get('k{n}'))"
        )),
        (1..4u32).prop_map(|n| format!("time.sleep({n} / 1000)\nseen.append(sorted({{random.randrange(99) for _ in range({n})}}))")),
        Just("seen.append([hash(('a', 1)), list({'x', 'y', 'z', str(len(seen))})])".to_owned()),
    ]
}

/// Expression that can be awaited.
fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("of(random.random())".to_owned()),
        Just("of(elapsed())".to_owned()),
        Just("of(str(uuid.uuid4()))".to_owned()),
        Just("of(secrets.token_hex(3))".to_owned()),
        (0..100u32).prop_map(|n| format!("field(tools.t.echo(n={n}), 'n')")),
        (0..6u32).prop_map(|ms| format!("field(tools.t.slow(ms={ms}), 'ms')")),
        (0..6u32, 0..9u32).prop_map(|(ms, n)| format!("later({ms}, {n})")),
        Just("code_of(tools.t.fail())".to_owned()),
    ]
}
