//! Random TypeScript programs with everything that a replay must repeat: time, randomness, parallel calls, races,
//! errors, printing.

use proptest::prelude::*;

/// Source of a random program. It calls `t.echo`, `t.slow` and `t.fail`, and returns their results.
pub(crate) fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(statement(), 1..12).prop_map(|statements| {
        format!(
            "const seen: unknown[] = [];\n{}\nreturn {{ seen, n: seen.length, at: Date.now() - started }};",
            statements.join("\n")
        )
    })
    .prop_map(|body| format!("const started = Date.now();\n{body}"))
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        expression().prop_map(|e| format!("seen.push(await {e});")),
        prop::collection::vec(expression(), 1..5)
            .prop_map(|es| format!("seen.push(...await Promise.all([{}]));", es.join(", "))),
        prop::collection::vec(expression(), 2..4)
            .prop_map(|es| format!("seen.push(await Promise.race([{}]));", es.join(", "))),
        prop::collection::vec(expression(), 1..4).prop_map(|es| format!(
            "seen.push((await Promise.allSettled([{}, tools.t.fail({{}})])).map(r => r.status));",
            es.join(", ")
        )),
        (0..4u32).prop_map(|n| format!(
            "try {{ await tools.t.fail({{ n: {n} }}); }} catch (e: any) {{ seen.push(e.code, e.message); }}"
        )),
        (1..4u32, expression()).prop_map(|(n, e)| format!(
            "for (let i = 0; i < {n}; i++) {{ console.log('round', i, await {e}, Date.now() - started); }}"
        )),
        (0..3u32).prop_map(|n| format!(
            "setTimeout(() => {{ console.error('late', {n}, Math.random()); }}, {n});"
        )),
        (1..3u32).prop_map(|n| format!(
            "await store.set('k{n}', seen.length); seen.push(await store.get('k{n}'));"
        )),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Math.random()".to_owned()),
        Just("(Date.now() - started)".to_owned()),
        Just("crypto.randomUUID()".to_owned()),
        (0..100u32).prop_map(|n| format!("tools.t.echo({{ n: {n} }}).then((r: any) => r.n)")),
        (0..6u32).prop_map(|ms| format!("tools.t.slow({{ ms: {ms} }}).then((r: any) => r.ms)")),
        (0..6u32, 0..9u32).prop_map(|(ms, n)| format!(
            "new Promise(resolve => setTimeout(() => resolve({n}), {ms}))"
        )),
        Just("tools.t.fail({}).catch((e: any) => e.code)".to_owned()),
    ]
}
